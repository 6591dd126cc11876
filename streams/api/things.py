"""One thing of any protocol, as `GET /v1/things/{node}` shows it: its state, and how it got there.

A thing is named by its node of the lineage graph.  Each protocol reads the things of its kinds;
the host adds the links, pages the steps, and writes the JSON form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from schemas.formats import iso_ms
from streams.api.route import Call
from streams.errors import NotFound
from streams.replay.as_of.overlay import Rows
from streams.replay.as_of.point import cause_position
from streams.replay.as_of.query import AsOfQuery
from streams.views.reads import ReadOnlyStore
from topology.declarations import Topic

T = TypeVar("T")
Json = dict[str, Any]
Ids = Mapping[str, str]
"""The ids of a thing, by the names that the paths of its protocol's routes have."""


class ThingAgent(NamedTuple):
    """An agent that has to do with a thing.  role: its part in it, such as `sender`."""

    id: str
    role: str


class Step(NamedTuple):
    """The changes that one record, or one timer, made to a thing.

    at: ms since the epoch.  event: of the thing's machine; the last one if there were several.
    before, after: its states, `from` and `to` in the JSON form.
    cause: position of the record that was decided; None for a timer.
    fact: position of the fact, where the view knows it.
    """

    at: int
    event: str | None
    before: str | None
    after: str | None
    verdict: str | None = None
    rule: str | None = None
    message: str | None = None
    cause: str | None = None
    fact: str | None = None
    principal: str | None = None


class Check(NamedTuple):
    """A check of a decision.  holds: None if it was not made.  value, bound: what it compared."""

    name: str
    holds: bool | None
    value: str | None = None
    bound: str | None = None


class ThingVerdict(NamedTuple):
    """A verdict about a thing, with all figures that its fact has.  at: ms since the epoch."""

    at: int
    verdict: str
    rule: str | None
    message: str | None
    fault: str | None
    figures: Json
    errors: Sequence[Json]
    checks: Sequence[Check]
    cause: str | None
    fact: str | None
    principal: str | None = None


class Link(NamedTuple):
    """An edge of the lineage graph.  direction: `out` to what it came of, `in` from what came."""

    relation: str
    direction: str
    node: str


@dataclass(frozen=True, kw_only=True)
class Thing:
    """A thing at one moment.

    node: its name in the lineage graph.  title: a few words.
    terminal: the state is an end.  machine: the name of its state machine, if it has one.
    trace: the id of its trace; None to take it from the lineage graph.
    started_at, ended_at, due_at: ms since the epoch.
    api: the path of the protocol's own route.  details: makes the response of that route.
    steps: in log order; the last one leads to the state.  verdicts: makes them, in log order.
    facts: the topic of facts whose positions the rows of the view do not tell, if there is one.
    replies: the topics whose records answer the thing.
    """

    node: str
    title: str
    state: str | None
    terminal: bool
    machine: str | None
    api: str
    details: Callable[[], Any]
    steps: Sequence[Step]
    verdicts: Callable[[], Sequence[ThingVerdict]] = tuple
    facts: Topic | None = None
    replies: Sequence[Topic] = ()
    agents: Sequence[ThingAgent] = ()
    session_id: str | None = None
    trace: str | None = None
    started_at: int | None = None
    ended_at: int | None = None
    due_at: int | None = None


@dataclass(frozen=True)
class ThingQuery:
    """The functions that read the things of one kind of nodes.

    find: takes the view, the name within the node, and the session that was asked for, if any;
    returns the ids of each thing of that name, several only where sessions share it.
    read: takes the call with these ids.  Raises NotFound.
    past: as of `Query`; None if the thing's own route has no `as_of`.
    row: returns the key of the view's row that each change of the thing writes.  rows: where there
    is no such row, returns beginnings of keys; each change writes a row whose key begins so.
    """

    read: Callable[[Call], Thing]
    find: Callable[[ReadOnlyStore, str, str | None], Sequence[Ids]]
    past: Callable[[AsOfQuery], Rows] | None = field(default=None)
    row: Callable[[Ids], bytes] | None = None
    rows: Callable[[Ids], Sequence[bytes]] | None = None


class Gate(NamedTuple):
    """Describe what holds an outcome back after the end of its thing.

    is_on: takes the settings.  row: the key of the row that is written when it opens.  read: the
    outcome, None before.
    """

    is_on: Callable[[Any], bool]
    row: Callable[[Ids], bytes]
    read: Callable[[ReadOnlyStore, Ids], Json | None]


class OutcomeQuery(NamedTuple):
    """The outcome of things of one kind, for those who wait for it.

    row: the key of the view's row that is written with the end.  read: None before the end.
    success: the state of a thing that ended well.  gate: None where nothing holds it back.
    """

    row: Callable[[Ids], bytes]
    read: Callable[[ReadOnlyStore, Ids], Json | None]
    success: str
    gate: Gate | None = None


def iso_or_none(ms: int | None) -> str | None:
    return None if ms is None else iso_ms(ms)


def unknown_node(node: str) -> NotFound:
    return NotFound(f"nothing is known of {node}", "node_unknown")


def cause_or_none(cause: str) -> str | None:
    """Return the position of the record that a fact was decided on; None for a timer's."""
    return None if cause_position(cause) is None else cause


def steps_since_made(
    facts: Iterable[T],
    state_after: Callable[[T, str | None], str | None],
    step: Callable[[T, str | None, str | None], Step],
) -> Iterator[Step]:
    """Yield a step for each fact from the one on that made the thing.

    state_after: takes a fact and the state before it; None before the thing was made.
    step: takes a fact, and the states before and after it.
    """
    state: str | None = None
    for fact in facts:
        after = state_after(fact, state)
        if after is not None:
            yield step(fact, state, after)
        state = after


def merge_by_cause(steps: Iterable[Step]) -> list[Step]:
    """Return the steps with neighbours of one cause merged, for they were made together.

    A step that was decided on the fact of the one before it belongs to that one too.
    """
    merged: list[Step] = []
    for step in steps:
        last = merged[-1] if merged else None
        if last is None or step.cause is None or step.cause not in (last.cause, last.fact):
            merged.append(step)
        else:
            merged[-1] = _merge(last, step)
    return merged


def _merge(first: Step, second: Step) -> Step:
    """Return one step for two: the states of both, and the verdict of the first that has one."""
    ruling = first if first.verdict is not None or second.verdict is None else second
    return first._replace(
        event=second.event if second.event is not None else first.event,
        after=second.after,
        verdict=ruling.verdict,
        rule=ruling.rule,
        message=ruling.message or second.message or first.message,
        fact=first.fact or second.fact,
        principal=first.principal or second.principal,
    )


def last_change(steps: Sequence[Step]) -> int:
    """Return when the state changed last; ms since the epoch."""
    return next((each.at for each in reversed(steps) if each.before != each.after), steps[-1].at)
