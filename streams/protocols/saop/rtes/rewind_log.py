"""Every rewind command leaves one fact, and so does every lapse (spec 2.3, 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from schemas import uuid5_url
from schemas.rules import Rule
from schemas.saop import rewind_hash, rules
from streams.engine.processor import AvroValue, Message, Work
from streams.engine.records import position
from streams.protocols.saop.rtes.inbound import traceparent_of
from topology.machines.saop_rewind import RewindEvent, RewindState
from topology.saop import SAOP_REWIND_LOG

_UNTARGETED = {
    "target_task_id": None,
    "git_hash": None,
    "cut_sequence": None,
    "first_sequence": None,
    "last_sequence": None,
}


class Command:
    """A rewind command, read once.  value: SaopRewind.  at: record time (ms)."""

    __slots__ = ("at", "cause", "digest", "phase", "session_id", "traceparent", "value")

    def __init__(self, message: Message) -> None:
        self.value: AvroValue = message.value
        self.session_id: str = message.value["session_id"]
        self.phase: str = message.value["phase"]
        self.at = message.record.timestamp
        self.cause = position(message.record)
        self.digest = rewind_hash(message.value)
        self.traceparent = traceparent_of(message)


class Outcome(NamedTuple):
    """What became of a command.  moved: with sequences, once they moved.  events: how many."""

    verdict: str
    rule: Rule
    moved: Sequence[AvroValue] = ()
    unchanged: Sequence[str] = ()
    events: int = 0


def send(command: Command, outcome: Outcome, row: AvroValue | None, work: Work) -> None:
    """The verdict on a command.  row: where its rewind stands, None if it does not."""
    fault = None
    if outcome.verdict == "rejected":
        fault = "service" if outcome.rule is rules.OUTPUT_TOO_LARGE else "sender"
    fact = {
        "rewind_id": command.value["rewind_id"],
        "session_id": command.session_id,
        "phase": command.phase,
        "verdict": outcome.verdict,
        "rule": outcome.rule.code,
        "fault": fault,
        **_standing(row),
        "moved": outcome.moved,
        "unchanged": outcome.unchanged,
        "requested_by": command.value["requested_by"],
        "at": command.at,
        "cause": command.cause,
    }
    _write(fact, outcome.events, command.traceparent, work)


def send_lapse(row: AvroValue, now_ms: int, work: Work) -> None:
    """A prepared rewind has lapsed."""
    parent = row["traceparent"]
    fact = {
        "rewind_id": row["rewind_id"],
        "session_id": row["session_id"],
        "phase": RewindEvent.LAPSE,
        "verdict": "accepted",
        "rule": rules.LAPSED.code,
        "fault": None,
        **_standing(row),
        "moved": [],
        "unchanged": [],
        "requested_by": row["requested_by"],
        "at": now_ms,
        "cause": row["cause"],
    }
    _write(fact, 1, None if parent is None else parent.encode("latin-1"), work)


def _standing(row: AvroValue | None) -> dict[str, Any]:
    if row is None:
        return {"state": RewindState.NONE, **_UNTARGETED}
    return {"state": row["state"], **{name: row[name] for name in _UNTARGETED}}


def _write(fact: AvroValue, number: int, traceparent: bytes | None, work: Work) -> None:
    """number: of this output among those of the fact's cause."""
    work.send(
        SAOP_REWIND_LOG,
        fact["session_id"],
        fact,
        id=uuid5_url(f"headrace:{fact['cause']}/{number}"),
        at=fact["at"],
        cause=fact["cause"],
        traceparent=traceparent,
    )
