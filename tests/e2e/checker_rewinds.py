"""What the facts of rewinds promise: the events of what moved, and the signals on them, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tests.e2e.findings import differences
from tests.e2e.history import Source, values_of
from tests.e2e.outputs import Json
from topology.saop import RTES_EVENTS, SAOP_REWIND_LOG, SAOP_TASK_SIGNALS

Moved = tuple[str, str, int, str, str, str]
"""Session, rewind, sequence; task, the state that it left and the one that it entered."""


def check(source: Source) -> list[str]:
    facts = values_of(source, SAOP_REWIND_LOG)
    events = [one for one in values_of(source, RTES_EVENTS) if one["rewind_id"] is not None]
    signals = [one for one in values_of(source, SAOP_TASK_SIGNALS) if one["kind"] == "rewound"]
    expected_events = Counter(each for fact in facts for each in _promised(fact))
    there = Counter(_of_event(event) for event in events)
    heard = Counter((s["session_id"], s["task_id"], s["first_sequence"]) for s in signals)
    expected_signals = Counter(
        (session, task, number) for session, _, number, task, _, _ in there.elements()
    )
    return [
        *differences("event", there, expected_events),
        *differences("signal", heard, expected_signals),
        *_in_a_row(facts),
    ]


def _promised(fact: Json) -> Iterator[Moved]:
    """Moves with a sequence have happened; those without one are planned."""
    for each in fact["moved"]:
        if each["sequence"] is not None:
            place = fact["session_id"], fact["rewind_id"].lower(), each["sequence"]
            yield *place, each["task_id"], each["from_state"], each["to_state"]


def _of_event(event: Json) -> Moved:
    payload = event["payload"]
    place = event["session_id"], event["rewind_id"].lower(), event["sequence"]
    return *place, payload["task_id"], payload["from_state"], payload["to_state"]


def _in_a_row(facts: Sequence[Json]) -> Iterator[str]:
    """A rewind that is applied moves something, under numbers that follow each other."""
    for fact in facts:
        numbers = [each["sequence"] for each in fact["moved"] if each["sequence"] is not None]
        if fact["rule"] == "rewind_applied" and not numbers:
            yield f"rewind {fact['rewind_id']} moved nothing"
        if numbers and numbers != list(range(fact["first_sequence"], fact["last_sequence"] + 1)):
            yield f"rewind {fact['rewind_id']} moved {numbers}"
