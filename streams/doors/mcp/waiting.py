"""Waits for what becomes of a thing, and tells the client how it gets on meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import NamedTuple

from streams.api.long_work import LongWork, WorkState
from streams.api.things import Gate, Ids, OutcomeQuery
from streams.doors.mcp.door import Door, Report
from streams.doors.mcp.results import Json
from streams.errors import ViewNotReady
from streams.gateway.await_row import await_row
from streams.protocols.queries import QUERIES
from streams.routes.thing_kinds import KINDS
from topology.lineage import kind_of

OUTCOMES: Mapping[str, OutcomeQuery] = {
    kind: query for side in QUERIES for kind, query in side.outcomes.items()
}
"""How the outcome of a thing is read, by the kinds of things that have one."""
LONG_WORK: Mapping[str, LongWork] = {
    kind: work for side in QUERIES for kind, work in side.long_work.items()
}
"""How it is shown where such a thing stands."""
_REPORT_EVERY_S = 0.5


class Deadline:
    """The moment at which a call has waited long enough.  seconds: from now."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    def left_s(self) -> float:
        return max(0.0, self._at - time.monotonic())


class Awaited(NamedTuple):
    """A thing that has an outcome."""

    node: str
    ids: Ids
    outcome: OutcomeQuery
    work: LongWork

    def gate(self, door: Door) -> Gate | None:
        """Return what holds its outcome back after the end, None if nothing does."""
        gate = self.outcome.gate
        return gate if gate is not None and gate.is_on(door.settings) else None

    def find_outcome(self, door: Door) -> Json | None:
        """Return its outcome, None before its end, or behind a gate.  Raises ViewNotReady."""
        gate = self.gate(door)
        with door.gateway.view.reader() as view:
            outcome = self.outcome.read(view, self.ids)
            return outcome if outcome is None or gate is None else gate.read(view, self.ids)

    def find_standing(self, door: Door) -> WorkState | None:
        """Return where it stands, None if there is no such thing.  Raises ViewNotReady."""
        with door.gateway.view.reader() as view:
            return self.work.read(view, self.ids)


def find_awaited(door: Door, node: str | None) -> Awaited | None:
    """Return the thing of a node, None if such things have no outcome.  Raises ViewNotReady."""
    kind = "" if node is None else kind_of(node)
    if node is None or kind not in LONG_WORK:
        return None
    with door.gateway.view.reader() as view:
        (ids,) = KINDS[kind].find(view, node.removeprefix(f"{kind}:"), None)
    return Awaited(node, ids, OUTCOMES[kind], LONG_WORK[kind])


async def await_outcome(
    door: Door, awaited: Awaited | None, seconds: float, report: Report | None = None
) -> Json | None:
    """Return the outcome of a thing, None if it has none in time, or if its kind has none.

    report: is told of each change meanwhile.
    """
    if awaited is None:
        return None
    query, ids, gate = awaited.outcome, awaited.ids, awaited.gate(door)
    deadline = Deadline(seconds)
    async with _reporting(door, awaited, report):
        row = query.row(ids)
        outcome = await await_row(door.gateway, row, lambda view: query.read(view, ids), seconds)
        if outcome is None or gate is None:
            return outcome
        row, left_s = gate.row(ids), deadline.left_s()
        return await await_row(door.gateway, row, lambda view: gate.read(view, ids), left_s)


async def each_state(door: Door, awaited: Awaited) -> AsyncGenerator[WorkState, None]:
    """Yield where a thing stands now, and whenever that changes; without end.

    Raises ViewNotReady.
    """
    row, last = awaited.work.row(awaited.ids), None
    while True:
        with door.gateway.view.awaiting(row) as written:
            standing = awaited.find_standing(door)
            if standing is not None and standing != last:
                yield standing
                last = standing
            await asyncio.wrap_future(written)


def message_of(standing: WorkState) -> str:
    """Return a state, with what its agent says of it."""
    return standing.state if not standing.message else f"{standing.state}: {standing.message}"


@asynccontextmanager
async def _reporting(door: Door, awaited: Awaited, report: Report | None) -> AsyncIterator[None]:
    """Report each change of a thing, until the block is left."""
    if report is None:
        yield
        return
    task = asyncio.create_task(_report_changes(door, awaited, report))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, ViewNotReady):
            await task


async def _report_changes(door: Door, awaited: Awaited, report: Report) -> None:
    count = 0
    async with aclosing(each_state(door, awaited)) as standings:
        async for standing in standings:
            count += 1
            await report(count, message_of(standing))
            await asyncio.sleep(_REPORT_EVERY_S)
