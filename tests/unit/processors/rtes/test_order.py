"""Sequences have no holes and rows do not depend on what else arrives."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from streams.engine.processor import AvroValue
from streams.processors.rtes.transitions import evolve
from tests.unit.processors.rtes.support import START_MS, Bench, pulse, transition
from topology.keys import split
from topology.tables import RTES_SESSIONS, SAOP_TASK_STATES
from topology.topics import RTES_EVENTS

STATES = ["PENDING", "IN_PROGRESS", "PAUSED", "FAILED", "COMPLETED", "odd", "Running"]
SESSIONS = ["s1", "s/2%", ""]

Story = list[AvroValue]


@st.composite
def events(draw: st.DrawFn, session: str, base: int) -> Story:
    """What a session sends: mostly a walk of two tasks, with faults and pulses in between."""
    story: Story = []
    here = {"t1": "PENDING", "apc:t1": "PENDING", "t/1": "odd"}
    for n in range(draw(st.integers(0, 25))):
        task = draw(st.sampled_from(sorted(here)))
        target = draw(st.sampled_from(STATES))
        slip = draw(st.integers(0, 5)) == 0
        source = draw(st.sampled_from(STATES)) if slip else here[task]
        git = draw(st.sampled_from([None, "", "5c0ffee", "abc1234"]))
        origin = "apc" if draw(st.integers(0, 7)) == 0 else None
        more: dict[str, Any] = {"task": task, "git": git, "origin": origin, "session_id": session}
        story.append(transition(base + n, source, target, **more))
        here[task] = target
        if draw(st.integers(0, 9)) == 0:
            story.append(pulse(base + 500 + n, session_id=session))
    return story


@st.composite
def stories(draw: st.DrawFn) -> dict[str, Story]:
    return {session: draw(events(session, 1000 * n)) for n, session in enumerate(SESSIONS)}


@st.composite
def interleavings(draw: st.DrawFn, told: dict[str, Story]) -> Story:
    """The stories told at once, each in its own order, events sent again at any later place."""
    rest = {session: list(story) for session, story in told.items() if story}
    line: Story = []
    while rest:
        session = draw(st.sampled_from(sorted(rest)))
        line.append(rest[session].pop(0))
        if not rest[session]:
            del rest[session]
        if draw(st.integers(0, 3)) == 0:
            line.append(line[draw(st.integers(0, len(line) - 1))])
    return line


def recorded_by_session(bench: Bench) -> dict[str, list[AvroValue]]:
    found: dict[str, list[AvroValue]] = defaultdict(list)
    for sent in bench.sent:
        if sent.topic is RTES_EVENTS:
            found[sent.value["session_id"]].append(sent.value)
    return found


def run(line: Story, cuts: list[int]) -> Bench:
    bench = Bench()
    messages = [bench.event(event) for event in line]
    places = sorted({0, len(messages), *(cut % (len(messages) + 1) for cut in cuts)})
    for start, end in pairwise(places):
        bench.judge_all(messages[start:end])
    return bench


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_interleaving_and_duplication_gives_gapless_sequences(data: st.DataObject) -> None:
    told = data.draw(stories())
    line = data.draw(interleavings(told))
    bench = run(line, data.draw(st.lists(st.integers(0, 200), max_size=6)))
    for session, found in recorded_by_session(bench).items():
        assert [record["sequence"] for record in found] == list(range(1, len(found) + 1))
        ids = [record["event_id"] for record in found]
        assert len(ids) == len(set(ids))
        assert {record["session_id"] for record in found} == {session}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_rows_and_records_do_not_depend_on_interleaving_or_duplicates(data: st.DataObject) -> None:
    told = data.draw(legal_stories())
    line = data.draw(interleavings(told))
    calm = run([event for story in told.values() for event in story], [])
    busy = run(line, data.draw(st.lists(st.integers(0, 200), max_size=6)))
    assert busy.rows(SAOP_TASK_STATES) == calm.rows(SAOP_TASK_STATES)
    assert busy.rows(RTES_SESSIONS) == calm.rows(RTES_SESSIONS)
    for session, found in recorded_by_session(calm).items():
        again = recorded_by_session(busy)[session]
        assert [r | {"cause": ""} for r in again] == [r | {"cause": ""} for r in found]


@st.composite
def legal_stories(draw: st.DrawFn) -> dict[str, Story]:
    """Only events that are recorded: a refused one, sent again, is judged again."""
    told = draw(stories())
    bench = run([event for story in told.values() for event in story], [])
    taken = {record["event_id"] for s in recorded_by_session(bench).values() for record in s}
    return {s: [e for e in story if e["event_id"] in taken] for s, story in told.items()}


def independent_fold(records: list[AvroValue]) -> AvroValue:
    """A task's row from all its records at once, as the protocol describes the row."""
    last, task = records[-1], {}
    moves = [(r, r["payload"][1]) for r in records]
    commits = [
        {
            "git_hash": move["git_hash"],
            "sequence": record["sequence"],
            "to_state": move["to_state"],
            "at": record["recorded_at"],
        }
        for record, move in moves
        if move["git_hash"]
    ]
    failures: list[int] = []
    escalated = False
    for record, move in moves:
        left_pause = move["from_state"] == "PAUSED" != move["to_state"]
        checked = record["profile"] in ("devs", "open")
        if checked and (left_pause or move["to_state"] in ("COMPLETED", "SKIPPED", "SUCCESS")):
            failures, escalated = [], False
        if checked and move["to_state"] == "FAILED":
            failures.append(record["sequence"])
        escalated = escalated or len(failures) >= 5
    for name in ("session_id", "task_id", "origin", "profile"):
        task[name] = records[0][name]
    return task | {
        "state": moves[-1][1]["to_state"],
        "previous_state": moves[-1][1]["from_state"],
        "head_hash": commits[-1]["git_hash"] if commits else None,
        "head_sequence": commits[-1]["sequence"] if commits else None,
        "commits": commits[-64:],
        "transitions": len(records),
        "failures": len(failures),
        "first_failure_sequence": failures[0] if failures else None,
        "failures_escalated": escalated,
        "first_sequence": records[0]["sequence"],
        "last_sequence": last["sequence"],
        "first_at": records[0]["recorded_at"],
        "last_at": last["recorded_at"],
        "rewind_id": None,
    }


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_row_is_a_fold_of_the_sessions_records_alone(data: st.DataObject) -> None:
    told = data.draw(stories())
    bench = run(data.draw(interleavings(told)), [])
    for key, row in bench.rows(SAOP_TASK_STATES).items():
        named = split(key)[1]
        records = [
            record
            for record in recorded_by_session(bench)[row["session_id"]]
            if named == (f"{record['origin']}:" if record["origin"] else "") + record["task_id"]
        ]
        if row["origin"] is not None:
            records = [record for record in records if record["origin"] == row["origin"]]
        assert row == independent_fold(records)
        folded = None
        for record in records:
            folded = evolve(folded, record)
        assert row == folded


def test_recorded_at_never_goes_back_in_a_session() -> None:
    bench = Bench(rtes_profile="open")
    times = [START_MS, START_MS + 5, START_MS + 2, START_MS + 9]
    found = [bench.judge(transition(n, "A", "A"), at=at) for n, at in enumerate(times)]
    assert [s.value["recorded_at"] - START_MS for s in found] == [0, 5, 5, 9]
    assert [s.at - START_MS for s in found] == [0, 5, 5, 9]


def test_a_record_takes_its_id_trace_and_dropped_keys_along() -> None:
    bench = Bench()
    headers = [("traceparent", b"00-ab-cd-01"), ("headrace-dropped-keys", b"3")]
    sent = bench.judge(transition(1, "PENDING", "BLOCKED"), headers=headers)
    assert (sent.id, sent.key, sent.traceparent) == (
        sent.value["event_id"],
        "s1",
        b"00-ab-cd-01",
    )
    assert (sent.value["dropped_keys"], sent.value["masked_arguments"]) == (3, 0)
    for strange in (b"", b"-1", b"many"):
        headers = [("headrace-dropped-keys", strange)]
        again = bench.judge(transition(2, "PENDING", "BLOCKED", session_id="s2"), headers=headers)
        assert again.value.get("dropped_keys", 0) == 0
