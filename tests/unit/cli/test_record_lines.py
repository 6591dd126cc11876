"""A record as a line: examples, the records of scenarios, hostile texts in every record."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.api.lines import Line, Sign
from streams.cli.line_text import MAX_TEXT, clock_time, joined, line_text
from streams.cli.record_lines import LINES, record_line
from streams.engine.records import LogRecord
from streams.play.scenario import play
from streams.settings import Settings
from tests.unit.cli.hostile_values import HOSTILE, hostile_values
from tests.unit.schemas import examples
from topology import topics

SCENARIOS = Path(__file__).parents[3] / "scenarios"
EXAMPLES = {
    "apc": ["apc.packets"],
    "rtes": ["rtes.raw"],
    "saop": ["saop.turns"],
    "saop/rewinds": ["saop.rewinds"],
    "saop/controls": ["saop.controls"],
    "sap/tasks": ["sap.tasks", "sap.inbox"],
    "sap/results": ["sap.results", "sap.outcomes"],
    "sap/signals": ["sap.signals"],
    "asap": ["asap.envelopes", "asap.inbox"],
    "asap/manifests": ["asap.manifests"],
    "summit/manifests": ["summit.manifests"],
    "summit/calls": ["summit.calls", "summit.inbox"],
    "summit/replies": ["summit.replies"],
}


def text_of(topic: str, value: Any) -> str:
    """Return what `tail` prints of a record, behind time and place."""
    return line_text(LINES[topic](value))


def is_inert(text: str) -> bool:
    """Return whether a text neither controls the terminal nor has a further line."""
    return re.search("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", text) is None


def played(paths: Iterable[Path]) -> Iterator[tuple[str, Any]]:
    """Yield topic and value of the records that scenarios write."""
    for path in paths:
        for output in play(path.read_text().splitlines(), Settings(partitions=1)):
            if output.get("topic") in LINES and output["value"] is not None:
                yield output["topic"], output["value"]


@pytest.mark.parametrize("folder", EXAMPLES)
def test_examples(folder: str) -> None:
    for example in examples.valid(folder).values():
        for topic in EXAMPLES[folder]:
            text = text_of(topic, example)
            assert text.strip()
            assert is_inert(text)


def check_line(topic: str, value: Any) -> None:
    """Check that a verdict and its rule stand in the line of a record."""
    text = text_of(topic, value)
    assert text.strip()
    assert "None" not in text
    rule, verdict = value.get("rule"), value.get("verdict")
    if rule and rule not in ("accepted", "duplicate") and topic != "rtes.events":
        assert rule in text, (topic, text)
    if verdict and topic != "sap.verdicts":
        assert {"rejected": "refused"}.get(verdict, verdict) in text, (topic, text)


def test_records_of_some_scenarios() -> None:
    paths = [SCENARIOS / f"{name}.jsonl" for name in ("refusals", "rtes-refusals", "saop-stream")]
    for topic, value in played(paths):
        check_line(topic, value)


@pytest.mark.slow
def test_records_of_all_scenarios() -> None:
    topics_seen = set()
    for topic, value in played(sorted(SCENARIOS.glob("*.jsonl"))):
        topics_seen.add(topic)
        check_line(topic, value)
    assert len(topics_seen) > 25


@pytest.mark.parametrize("topic", sorted(LINES))
def test_hostile_texts_stay_one_line(topic: str) -> None:
    record = topics.BY_NAME[topic].record
    assert record is not None
    texts = [text_of(topic, value) for value in hostile_values(record)]
    assert [text for text in texts if not is_inert(text)] == []
    assert any("[red]a[/red]" in text for text in texts)


def test_a_long_text_is_cut() -> None:
    payload = {"type": "SANDBOX_PULSE", "line": "x" * (1 << 20), "masked": False}
    text = text_of("rtes.raw", {"event_id": "e", "session_id": "s", "payload": payload})
    assert len(text) < MAX_TEXT + 100
    assert text.endswith(f"… ({(1 << 20) + 2 - MAX_TEXT:,} more characters)")


def rtes(sequence: int, **payload: Any) -> tuple[str, str]:
    """Return place and text of a recorded event."""
    value = {
        "session_id": "sess-9",
        "sequence": sequence,
        "payload": payload,
        "task_id": None,
        "flags": payload.pop("flags", []),
        "masked_arguments": payload.pop("masked_arguments", 0),
    }
    line = LINES["rtes.events"](value)
    return line.place, line_text(line)


def test_lines_of_rtes() -> None:
    thought = {"type": "THOUGHT_STREAM", "agent_id": "architect", "turn_index": 3}
    call = {"call_id": "call-7", "tool": "shell"}
    states = {"from_state": "IN_PROGRESS", "to_state": "TESTING", "git_hash": "9f1c2ab"}
    assert rtes(41, **thought, chunk="I should read.", is_final=True) == (
        "sess-9 #41",
        "architect, turn 3  ┃ I should read.",
    )
    arguments = {"cmd": "pytest -x"}
    assert rtes(42, type="TOOL_LIFECYCLE_INVOKED", **call, arguments=arguments) == (
        "sess-9 #42",
        'call-7   ▶ shell {"cmd":"pytest -x"}',
    )
    assert rtes(
        43, type="TOOL_LIFECYCLE_COMPLETED", **call, status="failure", duration_ms=2400
    ) == (
        "sess-9 #43",
        "call-7   ✖ shell failure, 2.4 s",
    )
    assert rtes(44, type="SANDBOX_PULSE", line="export TOKEN=[REDACTED]", masked=True) == (
        "sess-9 #44",
        "sandbox  │ export TOKEN=[REDACTED]  (masked)",
    )
    assert rtes(45, type="TASK_TRANSITION", task_id="task-7", **states) == (
        "sess-9 #45",
        "task-7   ◆ IN_PROGRESS → TESTING, 9f1c2ab",
    )
    assert rtes(46, type="SANDBOX_PULSE", line="x", flags=["escalated"])[1] == (
        "sandbox  │ x  (escalated)"
    )


def test_a_refused_transition_names_its_task_and_states() -> None:
    payload = {"task_id": "task-7", "from_state": "PENDING", "to_state": "COMPLETED"}
    value: dict[str, Any] = {
        "verdict": "rejected",
        "rule": "illegal_transition",
        "type": "TASK_TRANSITION",
        "session_id": "sess-9",
        "event_id": "0b0f4a68-3a52-4a2d-9b0a-000000000001",
        "figures": {},
        "errors": [],
        "first_sequence": None,
    }
    line = text_of("rtes.rejections", value | {"event": {"payload": payload}})
    assert line.startswith("task-7 PENDING → COMPLETED  session sess-9  ✖")
    for event in (None, "x", {}, {"payload": 1}, {"payload": payload | {"to_state": 7}}):
        line = text_of("rtes.rejections", value | {"event": event})
        assert line.startswith("TASK_TRANSITION  session sess-9, 0b0f4a68  ✖")


def decision(**members: Any) -> str:
    value = {"kind": "decay", "protocol_id": "prompt-cascade", "decay": None, "arbitration": None}
    return line_text(LINES["apc.decisions"](value | members))


def test_lines_of_decisions() -> None:
    decay = {
        "blocked": True,
        "reasons": ["effectiveness_below_threshold"],
        "transfer_count": 16,
        "effectiveness_score": 0.3412,
        "score_threshold": 0.35,
        "drift_used": 0.1,
        "drift_threshold": 0.4,
    }
    assert decision(decay=decay) == (
        "prompt-cascade  decayed      effectiveness_below_threshold: 0.341 < 0.35; 16 transfers"
    )
    assert decision(decay=decay | {"blocked": False, "reasons": []}) == (
        "prompt-cascade  recovered    effectiveness 0.341; 16 transfers"
    )
    arbitration = {
        "arbitration_id": "arb-7",
        "selected_count": 1,
        "candidate_count": 5,
        "top_k": 1,
        "selected_packet_ids": ["3f0a1b2c-0000-4000-8000-000000000001"],
        "blocked": [{"reason": "protocol_decay_blocked"}],
    }
    assert decision(arbitration=arbitration) == (
        "arb-7    selected 1 of 5 (top_k 1): 3f0a1b2c; blocked 1: protocol_decay_blocked"
    )


def record(topic: str, value: bytes | None = b"v", **more: Any) -> LogRecord:
    return LogRecord(topic, 0, 4, 1_000, b"key", value, **more)


@pytest.mark.parametrize("value", [HOSTILE, None, {"raw_base64": "AG5v"}, [HOSTILE]])
def test_a_record_that_cannot_be_decoded_is_shown_as_it_is(value: Any) -> None:
    line = record_line(topics.BY_NAME["rtes.events"], record("rtes.events"), value)
    text = line_text(line)
    assert text
    assert is_inert(text)


def test_a_tombstone_names_its_key() -> None:
    line = record_line(topics.BY_NAME["sap.cache"], record("sap.cache", None), None)
    assert line_text(line) == "key      removed"


def test_a_dead_letter_says_what_it_was_and_why_it_is_one() -> None:
    headers = [
        ("kafka_dlt-original-topic", b"apc.packets"),
        ("kafka_dlt-original-partition", (0).to_bytes(4, "big")),
        ("kafka_dlt-original-offset", (17).to_bytes(8, "big")),
        ("kafka_dlt-exception-fqcn", b"decide_failed"),
        ("kafka_dlt-exception-message", b"It broke."),
    ]
    topic = topics.BY_NAME["apc.packets.dlq"]
    line = record_line(topic, record(topic.name, headers=headers), {"raw_base64": "AA=="})
    assert line_text(line) == "apc.packets/0/17  ✖ dead letter  decide_failed: It broke."


def test_lines_of_one_stream_are_joined() -> None:
    stream = ("s", "", "developer", "0")
    lines = [
        Line(who="d", sign=Sign.THOUGHT, text=text, place=f"s #{n}", stream=stream)
        for n, text in enumerate(("I ", "see."), 41)
    ]
    assert joined(lines[:1]) == lines[0]
    assert (joined(lines).place, joined(lines).text) == ("s #41–42", "I see.")


@given(st.integers(0, 4_000_000_000_000))
def test_times_of_day(ms: int) -> None:
    text = clock_time(ms)
    hours, minutes, seconds = text.split(":")
    of_day_ms = (int(hours) * 60 + int(minutes)) * 60_000 + int(seconds.replace(".", ""))
    assert of_day_ms == ms % 86_400_000
