"""Faults that are put into a sound history, and what the checker has to call each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from streams.engine.records import Record
from streams.engine.rows import store_key
from tests.history.anomalies import Anomaly
from tests.history.spoiling import Change, changed, without
from topology.apc import APC_EVENTS, APC_INBOX, APC_PACKET_STATES, APC_PACKETS
from topology.core import CHANGELOG, INPUT_POSITIONS
from topology.declarations import Topic
from topology.otel import OTEL_EVENTS
from topology.saop import (
    RTES_EVENTS,
    SAOP_ESCALATIONS,
    SAOP_REWIND_LOG,
    SAOP_TASK_SIGNALS,
    SAOP_VERDICTS,
)


def _twice(records: list[Record]) -> list[Record]:
    return [*records, records[-1]]


def _position_again(records: list[Record]) -> list[Record]:
    """The first position that a task wrote of its packets, once more in the end."""
    key = store_key(INPUT_POSITIONS.name, APC_PACKETS.name)
    return [*records, next(one for one in records if one.key == key)]


def _accepted(fact: Any) -> bool:
    return bool(fact["verdict"] == "accepted" and len(fact["transitions"]) > 2)


def _astray(fact: Any) -> None:
    fact["transitions"][1]["to_state"] = "RETRACTED"


def _first(event: Any) -> bool:
    """Of a session that goes on."""
    return bool(event["sequence"] == 1 and event["session_id"].startswith("session-"))


def _linked(event: Any) -> bool:
    return bool(event["payload"][0].endswith("SandboxPulse") and event["task_id"] is not None)


def _committed(event: Any) -> bool:
    """As done, not as turned back."""
    return bool(event["payload"][1].get("git_hash") and event["rewind_id"] is None)


def _commit(event: Any) -> None:
    event["payload"][1]["git_hash"] = "0" * 40


def _of_other_protocol(event: Any) -> bool:
    return bool(event["profile"] == "apc")


def _vocabulary(event: Any) -> None:
    event["profile"] = "open"


def _escalates(escalation: Any) -> bool:
    return "escalated" in escalation["flags"]


def _failures(signal: Any) -> bool:
    return bool(signal["kind"] == "failures")


def _stuck(task: int, detector: str) -> Callable[[Any], bool]:
    return lambda escalation: (
        (escalation["task_id"], escalation["detector"]) == (f"stuck-{task}", detector)
    )


def _steeper(signal: Any) -> None:
    signal["confidences"][-1] -= 0.01


def _raised(event: Any) -> bool:
    return bool(event["payload"][0] == "headrace.rtes.EscalationRaised")


def _other_detector(event: Any) -> None:
    event["payload"][1]["detector"] = "gaze"


def _rewound(thought: Any) -> bool:
    return thought["rewind_id"] is not None


def _applied(fact: Any) -> bool:
    return bool(fact["rule"] == "rewind_applied")


def _elsewhere(event: Any) -> None:
    event["payload"][1]["to_state"] = "FAILED"


def _all(*_: Any) -> bool:
    return True


def _out_of_phase(fact: Any) -> bool:
    return bool(fact["rule"] == "phase_type")


def _blamed(fact: Any) -> None:
    fact["rule"] = "drift_check_failed"


def _version(row: Any) -> None:
    row["version"] += 1


def _last_changed(records: list[Record]) -> list[Record]:
    return changed(_all, APC_PACKET_STATES, _version)(records[::-1])[::-1]


def _conflicts(fact: Any) -> bool:
    return bool(fact["rule"] == "span_conflict")


def _same(fact: Any) -> None:
    fact.update(verdict="duplicate", rule="span_duplicate")


def _of_a_span(event: Any) -> bool:
    return bool(event["origin"] == "otel")


FAULTS: Sequence[tuple[str, Topic, Change, frozenset[Anomaly]]] = (
    (
        "an acknowledged command is gone",
        APC_PACKETS,
        without(lambda value: value is not None, APC_PACKETS),
        frozenset({Anomaly.NOT_KEPT, Anomaly.WITHOUT_COMMAND}),
    ),
    (
        "an acknowledged command is another",
        APC_PACKETS,
        changed(
            lambda value: value is not None,
            APC_PACKETS,
            lambda packet: packet.update(confidence=0.123),
        ),
        frozenset({Anomaly.NOT_KEPT}),
    ),
    (
        "a verdict is gone",
        SAOP_VERDICTS,
        without(_all, SAOP_VERDICTS),
        frozenset({Anomaly.UNANSWERED}),
    ),
    ("a verdict is there twice", SAOP_VERDICTS, _twice, frozenset({Anomaly.ANSWERED_TWICE})),
    (
        "a fact leaves the machine",
        APC_EVENTS,
        changed(_accepted, APC_EVENTS, _astray),
        frozenset({Anomaly.ILLEGAL_STEP}),
    ),
    (
        "a sequence has a gap",
        RTES_EVENTS,
        without(_first, RTES_EVENTS),
        frozenset({Anomaly.SEQUENCE, Anomaly.UNANSWERED}),
    ),
    (
        "an event is linked to no task",
        RTES_EVENTS,
        changed(_linked, RTES_EVENTS, lambda event: event.update(task_id=None)),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "a rewind moves a task elsewhere than it says",
        RTES_EVENTS,
        changed(_rewound, RTES_EVENTS, _elsewhere),
        frozenset({Anomaly.OUTPUT, Anomaly.ILLEGAL_STEP}),
    ),
    (
        "a rewind that is applied moves nothing",
        SAOP_REWIND_LOG,
        changed(_applied, SAOP_REWIND_LOG, lambda fact: fact["moved"].clear()),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "a rewind names other numbers",
        SAOP_REWIND_LOG,
        changed(_applied, SAOP_REWIND_LOG, lambda fact: fact.update(last_sequence=0)),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "the signal of a rewind is gone",
        SAOP_TASK_SIGNALS,
        without(_rewound, SAOP_TASK_SIGNALS),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "a commit is another",
        RTES_EVENTS,
        changed(_committed, RTES_EVENTS, _commit),
        frozenset({Anomaly.TABLE}),
    ),
    (
        "the task of another protocol is told in other words",
        RTES_EVENTS,
        changed(_of_other_protocol, RTES_EVENTS, _vocabulary),
        frozenset({Anomaly.TABLE}),
    ),
    (
        "a prepared rewind waits for ever",
        SAOP_REWIND_LOG,
        without(lambda fact: fact["phase"] == "lapse", SAOP_REWIND_LOG),
        frozenset({Anomaly.TABLE}),
    ),
    (
        "a failure has no flag",
        RTES_EVENTS,
        changed(_escalates, RTES_EVENTS, lambda event: event.update(flags=[])),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "the signal of failures is another",
        SAOP_TASK_SIGNALS,
        changed(_failures, SAOP_TASK_SIGNALS, lambda signal: signal.update(failures=6)),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "the signal of failures is gone",
        SAOP_TASK_SIGNALS,
        without(_failures, SAOP_TASK_SIGNALS),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "the signal of a begun task is gone",
        SAOP_TASK_SIGNALS,
        without(lambda signal: signal["kind"] == "begun", SAOP_TASK_SIGNALS),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "the event of an escalation is another",
        RTES_EVENTS,
        changed(_raised, RTES_EVENTS, _other_detector),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "an escalation of failures is gone",
        SAOP_ESCALATIONS,
        without(lambda escalation: escalation["detector"] == "failures", SAOP_ESCALATIONS),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "an escalation of confidence is gone",
        SAOP_ESCALATIONS,
        without(_stuck(0, "confidence"), SAOP_ESCALATIONS),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "an escalation of repetition is gone",
        SAOP_ESCALATIONS,
        without(_stuck(0, "repetition"), SAOP_ESCALATIONS),
        frozenset({Anomaly.OUTPUT}),
    ),
    (
        "an escalation amid rewinds has other figures",
        SAOP_ESCALATIONS,
        changed(_stuck(1, "confidence"), SAOP_ESCALATIONS, _steeper),
        frozenset({Anomaly.OUTPUT}),
    ),
    ("an escalation is there twice", SAOP_ESCALATIONS, _twice, frozenset({Anomaly.OUTPUT})),
    (
        "a span that is another counts as sent twice",
        OTEL_EVENTS,
        changed(_conflicts, OTEL_EVENTS, _same),
        frozenset({Anomaly.VERDICT}),
    ),
    (
        "an event of a span is that of another",
        RTES_EVENTS,
        changed(_of_a_span, RTES_EVENTS, lambda event: event.update(event_id="0" * 36)),
        frozenset({Anomaly.OUTPUT}),
    ),
    ("a position moves back", CHANGELOG, _position_again, frozenset({Anomaly.POSITION_BACK})),
    ("a delivery is gone", APC_INBOX, without(_all, APC_INBOX), frozenset({Anomaly.OUTPUT})),
    (
        "a verdict does not follow",
        APC_EVENTS,
        changed(_out_of_phase, APC_EVENTS, _blamed),
        frozenset({Anomaly.VERDICT}),
    ),
    (
        "a row is another",
        APC_PACKET_STATES,
        _last_changed,
        frozenset({Anomaly.TABLE, Anomaly.STORE, Anomaly.VIEW}),
    ),
)
