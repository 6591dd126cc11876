"""The processors of a worker: pure functions that judge records and keep state machines."""

from __future__ import annotations

from streams.engine.processor import Processor
from streams.processors.apc import ApcProcessor
from streams.processors.apc_lineage import ApcLineageProcessor
from streams.processors.rtes import RtesProcessor


def all_processors() -> list[Processor]:
    """One new instance of each, for one task."""
    return [ApcProcessor(), ApcLineageProcessor(), RtesProcessor()]
