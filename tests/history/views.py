"""A view holds the rows of every public table: those, byte for byte, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from streams.view_store.view import View
from streams.views.keys import key
from tests.e2e.outputs import latest
from tests.history.anomalies import Anomaly, Violation
from tests.history.sources import Source
from topology.apc import (
    APC_COORDINATION,
    APC_LINEAGE,
    APC_PACKET_STATES,
    APC_PRIORS,
    APC_THROTTLING,
)
from topology.asap import ASAP_SNAPSHOTS, ASAP_TASKS
from topology.declarations import Topic
from topology.keys import split
from topology.saop import SAOP_TASKS
from topology.sap import SAP_CACHE, SAP_HEURISTICS, SAP_KNOWLEDGE, SAP_LEARNING, SAP_TASK_STATES
from topology.summit import SUMMIT_AGENTS, SUMMIT_RUNS

Place = Callable[[Sequence[str]], bytes | None]
"""Where a view keeps a row, given the parts of its key; None for a row that lies elsewhere."""


def _named(name: str) -> Place:
    return lambda parts: key(name, *parts)


def _versioned(name: str) -> Place:
    return lambda parts: key(name, parts[0], int(parts[1]))


def _throttle(parts: Sequence[str]) -> bytes:
    session, run, generation, protocol, swarm = parts
    return key("throttle", session, run, int(generation), protocol, swarm)


def _of_length(name: str, length: int) -> Place:
    return lambda parts: key(name, *parts) if len(parts) == length else None


PLACES: Sequence[tuple[Topic, str, Place]] = (
    (APC_PACKET_STATES, "state", _named("state")),
    (APC_COORDINATION, "coordination", _named("coordination")),
    (APC_THROTTLING, "throttle", _throttle),
    (APC_LINEAGE, "protocol", _named("protocol")),
    (APC_PRIORS, "prior", _named("prior")),
    (SAOP_TASKS, "task", _named("task")),
    (SAP_TASK_STATES, "sap task", _named("sap task")),
    (SAP_CACHE, "sap cache", _versioned("sap cache")),
    (SAP_LEARNING, "sap learning", _named("sap learning")),
    (SAP_KNOWLEDGE, "sap knowledge", _named("sap knowledge")),
    (SAP_HEURISTICS, "sap heuristics", _versioned("sap heuristics")),
    (ASAP_TASKS, "asap task", _named("asap task")),
    (ASAP_SNAPSHOTS, "asap snapshot", _versioned("asap snapshot")),
    (SUMMIT_RUNS, "summit run", _named("summit run")),
    (SUMMIT_AGENTS, "summit agent", _of_length("summit agent", 1)),
    (SUMMIT_AGENTS, "summit version", _of_length("summit version", 2)),
)
"""By table: what its rows' keys in a view begin with, and the whole key."""


def check(source: Source, view: View) -> Iterator[Violation]:
    """view: read to the end."""
    for topic, name, place in PLACES:
        expected: dict[bytes, bytes] = {}
        for (_, row_key), row in latest(source.records(topic)).items():
            at = place(split(row_key.decode()))
            if at is not None:
                expected[at] = row
        stored = dict(view.scan(key(name)))
        for at in expected.keys() | stored.keys():
            if expected.get(at) != stored.get(at):
                detail = f"{topic.name}: {_how(expected.get(at), stored.get(at))}"
                yield Violation(Anomaly.VIEW, repr(at), detail)


def _how(expected: bytes | None, stored: bytes | None) -> str:
    if stored is None:
        return "a row that the view lacks"
    return "a row that only the view has" if expected is None else "the view has it otherwise"
