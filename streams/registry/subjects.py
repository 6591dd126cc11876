"""The catalogue in the form of a schema registry: subjects with numbered versions.

A topic's values have the subject `<topic>-value` (TopicNameStrategy); those of the shared
changelog, which holds several records, `<topic>-<record>` (TopicRecordNameStrategy).  Keys are
plain UTF-8 text without framing, so they have no subjects; neither have dead letters, which are
bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from schemas import CATALOGUE, SchemaEntry
from topology import tables, topics
from topology.core import CHANGELOG


class Subject(NamedTuple):
    """A subject and its versions, counted from 1."""

    name: str
    record: str
    entries: tuple[SchemaEntry, ...]


def subjects(prefix: str = "") -> Mapping[str, Subject]:
    """Return the subjects by name, sorted.  prefix: the prefix of topic names."""
    records = {f"{prefix}{t.name}-value": t.record for t in topics.EVERY if t.record is not None}
    inner = {table.record for table in tables.ALL if table.topic is None}
    records |= {f"{prefix}{CHANGELOG.name}-{record}": record for record in inner}
    return {
        name: Subject(name, records[name], tuple(CATALOGUE.versions(records[name])))
        for name in sorted(records)
    }
