"""Histories of lookups for Hypothesis."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.unit.protocols.sap.cache.model import LEASE_MS, MOST_WAITERS, SCAN, WAIT_MS
from tests.unit.protocols.sap.cache.support import Cache, task_id

NAMES = "ABCDEF"
BY_ID = {task_id(name): name for name in NAMES}
SETTINGS = {
    "SAP_FLIGHT_WAIT_S": WAIT_MS // 1000,
    "SAP_FLIGHT_LEASE_S": LEASE_MS // 1000,
    "SAP_FLIGHT_MAX_WAITERS": MOST_WAITERS,
    "SAP_CACHE_SCAN": SCAN,
}


class Op(NamedTuple):
    """One step of a history.  after: ms since the step before."""

    kind: str
    task: str
    after: int
    mode: str
    max_age: int | None
    deadline_in: int | None
    strict: bool


OPS = st.builds(
    Op,
    st.sampled_from(("read", "read", "read", "store", "release", "tick")),
    st.sampled_from(NAMES),
    st.sampled_from((0, 1, 400, 999, 1000, 4000, 29_999, 30_000, 31_000, 100_000)),
    st.sampled_from(("prefer", "prefer", "prefer", "only")),
    st.sampled_from((None, 0, 1, 30)),
    st.sampled_from((None, None, -1, 0, 1, 5000, 60_000)),
    st.booleans(),
)
LOOKUPS = st.lists(OPS.filter(lambda op: op.kind != "tick"), max_size=25)


def do(cache: Cache, op: Op, at: int) -> Any:
    """The verdicts of one step."""
    if op.kind == "read":
        return cache.read(
            op.task,
            at,
            mode=op.mode,
            maxAgeSec=op.max_age,
            deadlineAt=None if op.deadline_in is None else max(0, at + op.deadline_in),
            mustAlign=op.strict,
            context={"constraints": ["cite sources"]} if op.strict else {},
        )
    if op.kind == "store":
        return cache.store(op.task, at, cited=op.strict)
    return cache.release(op.task, at) if op.kind == "release" else []
