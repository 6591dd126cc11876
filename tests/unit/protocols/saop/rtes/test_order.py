"""Sequences have no holes and rows do not depend on what else arrives.

What the protocol promises is this.  Sessions do not touch each other, however their events lie
between one another; an event or command that was accepted counts once, however often it is sent;
and how the log is cut into batches shows nowhere.  It does not promise that the order within a
session is without effect, nor that what was refused is refused again.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from streams.engine.processor import AvroValue, Message
from streams.engine.records import position
from streams.protocols.saop.rtes.transitions import evolve
from tests.examples import example_count
from tests.unit.processing.harness import Sent
from tests.unit.protocols.saop.rtes.stories import Story, interleavings, is_command, stories
from tests.unit.protocols.saop.rtes.support import START_MS, Bench, transition
from topology.keys import split
from topology.saop import (
    REWINDS,
    RTES_CALLS,
    RTES_EVENTS,
    RTES_IDS,
    RTES_REJECTIONS,
    RTES_SESSIONS,
    RTES_TASKS,
    RTES_THOUGHTS,
    SAOP_REWIND_LOG,
    SAOP_TASKS_TABLE,
)

CUTS = st.lists(st.integers(0, 200), max_size=6)
SAME = (SAOP_TASKS_TABLE, RTES_SESSIONS, RTES_CALLS, RTES_THOUGHTS, RTES_TASKS)


def recorded_by_session(bench: Bench) -> dict[str, list[AvroValue]]:
    by_session: dict[str, list[AvroValue]] = defaultdict(list)
    for sent in bench.of(RTES_EVENTS):
        by_session[sent.value["session_id"]].append(sent.value)
    return by_session


def verdicts(message: Message, sent: list[Sent]) -> list[Sent]:
    """What says what became of one record: its own facts, but the moves of a rewind."""
    command = is_command(message.value)
    topics = (SAOP_REWIND_LOG,) if command else (RTES_EVENTS, RTES_REJECTIONS)
    return [s for s in sent if s.cause == position(message.record) and s.topic in topics]


def run(line: Story, cuts: list[int]) -> Bench:
    bench = Bench()
    messages = [bench.command(v) if is_command(v) else bench.event(v) for v in line]
    places = sorted({0, len(messages), *(cut % (len(messages) + 1) for cut in cuts)})
    for start, end in pairwise(places):
        sent = bench.decide(*messages[start:end])
        for message in messages[start:end]:
            assert len(verdicts(message, sent)) == 1
    return bench


def calmly(by_session: dict[str, Story]) -> Bench:
    return run([value for story in by_session.values() for value in story], [])


@settings(max_examples=example_count(60), deadline=None)
@given(st.data())
def test_any_interleaving_and_duplication_gives_gapless_sequences(data: st.DataObject) -> None:
    by_session = data.draw(stories())
    bench = run(data.draw(interleavings(by_session)), data.draw(CUTS))
    for session, records in recorded_by_session(bench).items():
        assert [record["sequence"] for record in records] == list(range(1, len(records) + 1))
        ids = [record["event_id"] for record in records]
        assert len(ids) == len(set(ids))
        assert {record["session_id"] for record in records} == {session}


@st.composite
def accepted_stories(draw: st.DrawFn) -> dict[str, Story]:
    """Only what is accepted: what was refused, sent again, is judged again."""
    by_session = draw(stories())
    legal: dict[str, Story] = {}
    for session, story in by_session.items():
        bench = Bench()
        legal[session] = [value for value in story if _accepted(bench, value)]
    return legal


def _accepted(bench: Bench, value: AvroValue) -> bool:
    message = bench.command(value) if is_command(value) else bench.event(value)
    (verdict,) = verdicts(message, bench.decide(message))
    return verdict.topic is RTES_EVENTS or verdict.value.get("verdict") == "accepted"


def positionless(record: AvroValue) -> AvroValue:
    """A record without what is made of positions: its cause, and the id of a rewind's event."""
    named = {} if record["rule"] != "rewind" else {"event_id": ""}
    return {**record, "cause": "", **named}


@settings(max_examples=example_count(60), deadline=None)
@given(st.data())
def test_rows_and_records_do_not_depend_on_interleaving_or_duplicates(data: st.DataObject) -> None:
    by_session = data.draw(accepted_stories())
    line = data.draw(interleavings(by_session))
    calm, busy = calmly(by_session), run(line, data.draw(CUTS))
    for table in SAME:
        assert busy.rows(table) == calm.rows(table)
    assert len(busy.rows(RTES_IDS)) == len(calm.rows(RTES_IDS))
    rows = [{k: {**r, "cause": ""} for k, r in b.rows(REWINDS).items()} for b in (busy, calm)]
    assert rows[0] == rows[1]
    for session, records in recorded_by_session(calm).items():
        again = recorded_by_session(busy)[session]
        assert [positionless(r) for r in again] == [positionless(r) for r in records]


@settings(max_examples=example_count(40), deadline=None)
@given(st.data())
def test_how_the_log_is_cut_into_batches_shows_nowhere(data: st.DataObject) -> None:
    line = data.draw(interleavings(data.draw(stories())))
    whole, cut = run(line, []), run(line, data.draw(CUTS) + list(range(0, 200, 3)))
    by_topic: list[dict[str, list[Sent]]] = []
    for bench in (whole, cut):
        by_topic_name: dict[str, list[Sent]] = defaultdict(list)
        for sent in bench.sent:
            by_topic_name[sent.topic.name].append(sent)
        by_topic.append(by_topic_name)
    assert by_topic[0] == by_topic[1]
    assert whole.tables == cut.tables
    assert whole.timers == cut.timers


def independent_fold(records: list[AvroValue]) -> AvroValue:
    """A task's row from all its records at once, as the protocol describes the row."""
    first, last = records[0], records[-1]
    moves = [(record, record["payload"][1]) for record in records]
    commits = [
        {
            "git_hash": move["git_hash"],
            "sequence": record["sequence"],
            "to_state": move["to_state"],
            "at": record["recorded_at"],
        }
        for record, move in moves
        if move["git_hash"] and record["rule"] != "rewind"
    ]
    return {
        **{name: first[name] for name in ("session_id", "task_id", "origin", "profile")},
        "state": moves[-1][1]["to_state"],
        "previous_state": moves[-1][1]["from_state"],
        **head(moves, commits),
        "commits": commits[-64:],
        "transitions": len(records),
        **failures(moves),
        "first_sequence": first["sequence"],
        "last_sequence": last["sequence"],
        "first_at": first["recorded_at"],
        "last_at": last["recorded_at"],
        "pause": None,
        "rewind_id": next((r["rewind_id"] for r in reversed(records) if r["rewind_id"]), None),
    }


def head(moves: list[tuple[AvroValue, Any]], commits: list[AvroValue]) -> AvroValue:
    for record, move in reversed(moves):
        if move["git_hash"]:
            sequence = record["sequence"]
            if record["rule"] == "rewind":
                sequence = max(
                    commit["sequence"]
                    for commit in commits
                    if commit["git_hash"] == move["git_hash"] and commit["sequence"] < sequence
                )
            return {"head_hash": move["git_hash"], "head_sequence": sequence}
    return {"head_hash": None, "head_sequence": None}


def failures(moves: list[tuple[AvroValue, Any]]) -> AvroValue:
    failed: list[int] = []
    escalated = False
    for record, move in moves:
        left_pause = move["from_state"] == "PAUSED" != move["to_state"]
        checked = record["profile"] in ("devs", "open")
        done = move["to_state"] in ("COMPLETED", "SKIPPED", "SUCCESS")
        if checked and (left_pause or done or record["rule"] == "rewind"):
            failed, escalated = [], False
        if checked and move["to_state"] == "FAILED":
            failed.append(record["sequence"])
        escalated = escalated or len(failed) >= 5
    return {
        "failures": len(failed),
        "first_failure_sequence": failed[0] if failed else None,
        "failures_escalated": escalated,
    }


@settings(max_examples=example_count(60), deadline=None)
@given(st.data())
def test_a_row_is_a_fold_of_the_sessions_records_alone(data: st.DataObject) -> None:
    bench = run(data.draw(interleavings(data.draw(stories()))), [])
    for key, row in bench.rows(SAOP_TASKS_TABLE).items():
        named = split(key)[1]
        records = [
            record
            for record in recorded_by_session(bench)[row["session_id"]]
            if record["payload"][0] == "headrace.rtes.TaskTransition"
            and named == (f"{record['origin']}:" if record["origin"] else "") + record["task_id"]
        ]
        if row["origin"] is not None:
            records = [record for record in records if record["origin"] == row["origin"]]
        assert row == independent_fold(records)
        folded = None
        for record in records:
            folded = evolve(folded, record)
        assert row == folded


@settings(max_examples=example_count(40), deadline=None)
@given(st.data())
def test_the_active_tasks_are_those_whose_rows_say_so(data: st.DataObject) -> None:
    bench = run(data.draw(interleavings(data.draw(stories()))), [])
    active: dict[str, set[str]] = defaultdict(set)
    for row in bench.rows(SAOP_TASKS_TABLE).values():
        if row["origin"] is None and row["state"] in ("IN_PROGRESS", "RUNNING"):
            active[row["session_id"]].add(row["task_id"])
    for key, session in bench.rows(RTES_SESSIONS).items():
        assert set(session["active_tasks"]) == active[split(key)[0]]


def test_recorded_at_never_goes_back_in_a_session() -> None:
    bench = Bench(rtes_profile="open")
    times = [START_MS, START_MS + 5, START_MS + 2, START_MS + 9]
    outputs = [bench.judge(transition(n, "A", "A"), at=at) for n, at in enumerate(times)]
    assert [s.value["recorded_at"] - START_MS for s in outputs] == [0, 5, 5, 9]
    assert [s.at - START_MS for s in outputs] == [0, 5, 5, 9]


def test_a_record_takes_its_id_trace_and_dropped_keys_along() -> None:
    bench = Bench()
    trace = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    headers = [("traceparent", trace), ("headrace-dropped-keys", b"3")]
    sent = bench.judge(transition(1, "PENDING", "BLOCKED"), headers=headers)
    assert (sent.id, sent.key, sent.traceparent) == (
        sent.value["event_id"],
        "s1",
        trace,
    )
    assert (sent.value["dropped_keys"], sent.value["masked_arguments"]) == (3, 0)
    for n, strange in enumerate((b"", b"-1", b"many")):
        headers = [("headrace-dropped-keys", strange), ("traceparent", b"password=hunter2")]
        event = transition(2 + n, "PENDING", "BLOCKED", session_id=f"s{2 + n}")
        sent = bench.judge(event, headers=headers)
        assert (sent.value["dropped_keys"], sent.traceparent) == (0, None)
