"""What a run must have left of sessions, their agents and the throttling of their transfers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from schemas import uuid5_url
from tests.e2e.findings import differences, repeated
from tests.e2e.history import History
from tests.e2e.outputs import Json
from tests.unit.protocols.apc.processor import fold_sessions
from topology.machine import step
from topology.machines import apc_inter, apc_intra


def _target(note: Json) -> str | None:
    if note["machine"] == "inter":
        return step(apc_inter.MACHINE, note["from_state"], note["event"])
    return step(apc_intra.MACHINE, note["from_state"], note["event"])


def coordination_folds(history: History) -> Iterator[str]:
    """Coordination rows are what the facts add up to, session by session."""
    rows: dict[str, Json] = {}
    sessions: dict[str, list[Json]] = defaultdict(list)
    for _, fact in history.facts:
        sessions[fact["session_id"]].append(fact)
    for session, facts in sessions.items():
        try:
            rows |= fold_sessions.coordination_rows(facts)
        except (AssertionError, IndexError):
            yield f"the notes of session {session} do not follow from each other"
    yield from differences("coordination row", history.sessions, rows)


def notes_legal(history: History) -> Iterator[str]:
    """Every note says what its machine makes of the event; only guards keep an edge shut."""
    for _, fact in history.facts:
        for note in fact["coordination"]:
            target = _target(note)
            transitions = {
                "applied": (True, target),
                "guard_failed": (False, None) if target else None,
                "no_edge": None if target else (False, None),
                "unknown_event": None if target else (False, None),
            }
            if transitions[note["why"]] != (note["applied"], note["to_state"]):
                yield f"the note of {note['event']} in {fact['event_id']} is no step"


def throttles_fold(history: History) -> Iterator[str]:
    """Throttle rows are what the facts add up to."""
    expected = fold_sessions.throttle_rows(fact for _, fact in history.facts)
    yield from differences("throttle row", history.throttles, expected)


def moves_reported(history: History) -> Iterator[str]:
    """RTES has each session's beginning and each of its moves, once and in their order."""
    expected: dict[str, list[Json]] = defaultdict(list)
    for _, fact in history.facts:
        for n, (before, after) in enumerate(_moves(fact, fact["session_id"] in expected)):
            expected[fact["session_id"]].append(
                {
                    "event_id": uuid5_url(f"headrace:apc:{fact['cause']}/{n}"),
                    "task_id": fact["session_id"],
                    "from_state": before,
                    "to_state": after,
                    "timestamp": fact["at"],
                }
            )
    moves_by_session: dict[str, list[Json]] = defaultdict(list)
    for one in history.observed:
        if one["origin"] == "apc":
            members = ("task_id", "from_state", "to_state", "timestamp")
            step = {name: one["payload"][name] for name in members}
            moves_by_session[one["session_id"]].append({"event_id": one["event_id"], **step})
    every = [one["event_id"] for moves in moves_by_session.values() for one in moves]
    yield from repeated("move", every)
    yield from differences("moves of session", moves_by_session, expected)


def _moves(fact: Json, begun: bool) -> Iterator[tuple[str, str]]:
    if not begun and fold_sessions.lived(fact):
        yield "none", "SESSION_OPEN"
    for note in fact["coordination"]:
        if note["applied"] and note["machine"] == "inter":
            yield note["from_state"], note["to_state"]


CHECKS = (coordination_folds, notes_legal, throttles_fold, moves_reported)
