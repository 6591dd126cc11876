"""All tables.  A public table is its own changelog; the others share one."""

from __future__ import annotations

from topology.core import ENGINE_TABLES
from topology.declarations import Table, TopicKind
from topology.protocols import DECLARED

ALL: tuple[Table, ...] = (*(table for each in DECLARED for table in each.tables), *ENGINE_TABLES)
BY_NAME = {table.name: table for table in ALL}

GIVEN: tuple[Table, ...] = tuple(
    table for table in ALL if table.topic is not None and table.topic.kind is TopicKind.COMMAND
)
"""What clients write; every other table that the engine does not keep belongs to one processor."""
