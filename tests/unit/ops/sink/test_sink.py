"""A sink over the in-memory log: what lies in its file, and which files it refuses."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams.engine.memory import MemoryLog
from streams.engine.records import Output, TopicPartition
from streams.errors import InternalUnreadable
from streams.ops.sink import FileRefused, LogTruncated, Progress, Sink
from streams.ops.topics import create_topics
from streams.settings import Settings
from tests.examples import example_count
from tests.unit.ops.sink.facts import AT, event, move, pulse, thought, turn

PARTITIONS = 2


@pytest.fixture
def log() -> MemoryLog:
    return new_log()


def new_log(prefix: str = "") -> MemoryLog:
    log = MemoryLog(lambda: AT)
    create_topics(log, Settings(partitions=PARTITIONS, prefix=prefix))
    return log


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agents.db"


@pytest.fixture
def copy(log: MemoryLog, path: Path) -> Callable[..., list[str]]:
    """Bring the file to the end of the log; what was said."""

    def run(accept_gap: bool = False) -> list[str]:
        messages: list[str] = []
        with Sink(log, path, "", accept_gap=accept_gap, on_gap=messages.append) as sink:
            assert sink.run(once=True)
        return messages

    return run


def rows(path: Path, query: str) -> list[dict[str, Any]]:
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in connection.execute(query)]
    finally:
        connection.close()


def test_a_turn_is_a_row_with_its_envelope(log: MemoryLog, path: Path, copy: Any) -> None:
    (record,) = log.append([turn("paint-7", 3, gap=True, thought="why\u0000 é 😀")])
    copy()
    (row,) = rows(path, "SELECT * FROM agent_logs")
    assert json.loads(row["envelope_json"])["content"]["thought"] == "why\u0000 é 😀"
    assert json.loads(row["gap_json"]) == {"missing_from": 0, "missing_to": 0, "reason": "time"}
    columns = {name: row[name] for name in ("kind", "task_id", "turn_index", "agent_id")}
    assert columns == {
        "kind": "turn",
        "task_id": "paint-7",
        "turn_index": 3,
        "agent_id": "reviewer",
    }
    assert row["recorded_at"] == "2026-01-01T00:00:00.003Z"
    place = (row["topic"], row["partition"], row["offset"])
    assert place == (record.topic, record.partition, record.offset)
    nothing = ("session_id", "sequence", "event_id", "type", "event_json")
    assert [row[name] for name in nothing] == [None] * len(nothing)


def test_an_event_is_a_row_with_what_was_sent(log: MemoryLog, path: Path, copy: Any) -> None:
    log.append([event("s1", 1, thought(4, "hm"), task_id="paint-7")])
    copy()
    (row,) = rows(path, "SELECT * FROM agent_logs")
    sent = json.loads(row["event_json"])
    assert sorted(sent) == ["event_id", "payload", "session_id"]
    assert sent["payload"]["chunk"] == "hm"
    columns = (row["kind"], row["type"], row["session_id"], row["sequence"], row["task_id"])
    assert columns == ("event", "THOUGHT_STREAM", "s1", 1, "paint-7")
    assert (row["turn_index"], row["agent_id"]) == (4, "developer")
    assert (row["envelope_json"], row["gap_json"]) == (None, None)


def test_transitions_make_the_state_of_a_task(log: MemoryLog, path: Path, copy: Any) -> None:
    log.append([event("s1", 1, move("A", "IN_PROGRESS", "5c0ffee"))])
    copy()
    log.append([event("s1", 2, move("A", "COMPLETED")), event("s2", 1, move("A", "PENDING"))])
    log.append([event("s1", 3, move("A", "ROUTED", ""), origin="apc")])
    copy()
    tasks = rows(path, "SELECT * FROM tasks ORDER BY session_id, origin")
    assert [(row["session_id"], row["origin"], row["state"]) for row in tasks] == [
        ("s1", "", "COMPLETED"),
        ("s1", "apc", "ROUTED"),
        ("s2", "", "PENDING"),
    ]
    assert [row["head_hash"] for row in tasks] == ["5c0ffee", None, None]
    assert (tasks[0]["updated_sequence"], tasks[0]["updated_at"]) == (2, "2026-01-01T00:00:00.002Z")


def test_a_task_known_by_its_turns_only(log: MemoryLog, path: Path, copy: Any) -> None:
    log.append([turn("A", 0), turn("A", 1), turn("B", 0)])
    log.append([event("s1", 1, move("A", "ROUTED"), origin="apc")])
    copy()
    query = "SELECT id, session_id, origin, state FROM tasks ORDER BY id, origin"
    assert [tuple(row.values()) for row in rows(path, query)] == [
        ("A", None, "", None),
        ("A", "s1", "apc", "ROUTED"),
        ("B", None, "", None),
    ]
    log.append([event("s1", 2, move("A", "IN_PROGRESS"))])
    copy()
    assert [tuple(row.values()) for row in rows(path, query)] == [
        ("A", "s1", "", "IN_PROGRESS"),
        ("A", "s1", "apc", "ROUTED"),
        ("B", None, "", None),
    ]


def test_turns_in_order(log: MemoryLog, path: Path, copy: Any) -> None:
    log.append([turn("B", 1), turn("A", 0), turn("B", 12), turn("A", 2)])
    copy()
    turns = rows(path, "SELECT task_id, turn_index FROM turns_in_order")
    assert [tuple(row.values()) for row in turns] == [("A", 0), ("A", 2), ("B", 1), ("B", 12)]


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[Output], list[Output]]:
    """Turns, and events; each list in the order of its topic."""
    tasks = st.sampled_from(["A", "B", "apc:A"])
    turns = [turn(draw(tasks), n) for n in range(draw(st.integers(0, 6)))]
    events, sequences = [], {"s1": 0, "s2": 0}
    for _ in range(draw(st.integers(0, 8))):
        session_id = draw(st.sampled_from(["s1", "s2"]))
        sequences[session_id] += 1
        states = st.sampled_from(["PENDING", "IN_PROGRESS"])
        hashes = st.sampled_from([None, "", "c0ffee1", "c0ffee2"])
        transition = move(draw(tasks), draw(states), draw(hashes))
        payload = draw(st.sampled_from([transition, pulse("x")]))
        origin = draw(st.sampled_from([None, "apc"]))
        events.append(event(session_id, sequences[session_id], payload, origin=origin))
    return turns, events


def content(path: Path) -> list[list[dict[str, Any]]]:
    """Everything but log ids and what names the log."""
    logs = rows(path, "SELECT * FROM agent_logs ORDER BY topic, partition, offset")
    for row in logs:
        del row["log_id"]
    tasks = rows(path, "SELECT * FROM tasks ORDER BY id, origin, session_id")
    offsets = rows(path, "SELECT * FROM sink_offsets WHERE next_offset > 0 ORDER BY 1, 2")
    return [logs, tasks, offsets]


def woven(one: list[Output], other: list[Output], choices: Iterator[bool]) -> Iterator[Output]:
    """Both lists, each in its order."""
    left, right = iter(one), iter(other)
    for first in choices:
        source = left if first else right
        for output in source:
            yield output
            break
    yield from left
    yield from right


@given(story=stories(), choices=st.lists(st.booleans(), max_size=20), data=st.data())
@settings(
    max_examples=example_count(60), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
def test_the_content_does_not_depend_on_how_the_topics_interleave(
    tmp_path_factory: pytest.TempPathFactory,
    story: tuple[list[Output], list[Output]],
    choices: list[bool],
    data: st.DataObject,
) -> None:
    """Records come one by one in any weave of the topics, the sink stopping anywhere."""
    folder = tmp_path_factory.mktemp("woven")
    turns, events = story
    whole, step = new_log(), new_log()
    whole.append([*turns, *events])
    with Sink(whole, folder / "whole.db", "") as sink:
        sink.run(once=True)
    with ExitStack() as running:
        sink = running.enter_context(Sink(step, folder / "step.db", ""))
        for output in woven(turns, events, iter(choices)):
            step.append([output])
            if data.draw(st.booleans()):
                running.close()
                sink = running.enter_context(Sink(step, folder / "step.db", ""))
            sink.ask_ends()
            sink.run(once=True)
    assert content(folder / "step.db") == content(folder / "whole.db")


def test_it_goes_on_where_the_file_ends(log: MemoryLog, path: Path, copy: Any) -> None:
    log.append([turn("A", 0)])
    copy()
    log.append([turn("A", 1)])
    copy()
    copy()
    assert len(rows(path, "SELECT * FROM agent_logs")) == 2


def test_it_stops_between_two_batches(log: MemoryLog, path: Path) -> None:
    log.append([turn("A", index) for index in range(2500)])
    seen: list[Progress] = []
    with Sink(log, path, "") as sink:
        assert not sink.run(stopped=lambda: bool(seen), progress=seen.append)
    assert [progress.records for progress in seen] == [1000]
    assert rows(path, "SELECT count(*) AS n FROM agent_logs") == [{"n": 1000}]
    with Sink(log, path, "") as sink:
        assert sink.run(once=True)
    assert rows(path, "SELECT count(*) AS n FROM agent_logs") == [{"n": 2500}]


def test_a_second_sink_is_found_out(log: MemoryLog, path: Path) -> None:
    first, second = Sink(log, path, ""), Sink(log, path, "")
    log.append([turn("A", 0)])
    first.ask_ends()
    first.run(once=True)
    second.ask_ends()
    with pytest.raises(FileRefused, match="another sink") as caught:
        second.run(once=True)
    assert caught.value.exit_code == 1
    log.append([turn("A", 1)])
    first.ask_ends()
    first.run(once=True)
    first.close()
    second.close()
    assert len(rows(path, "SELECT * FROM agent_logs")) == 2


def test_a_file_of_another_cluster_is_refused(log: MemoryLog, path: Path, copy: Any) -> None:
    copy()
    with pytest.raises(FileRefused, match="cluster_id"):
        Sink(new_log(), path, "")


def test_a_file_of_another_prefix_is_refused(path: Path) -> None:
    log = new_log()
    create_topics(log, Settings(partitions=PARTITIONS, prefix="acme."))
    Sink(log, path, "").close()
    with pytest.raises(FileRefused, match="prefix"):
        Sink(log, path, "acme.")


def test_a_topic_made_anew_is_found_out(log: MemoryLog, path: Path, copy: Any) -> None:
    copy()
    log.delete("saop.log")
    create_topics(log, Settings(partitions=PARTITIONS))
    with pytest.raises(FileRefused, match=r"topic_id saop\.log"):
        Sink(log, path, "")


def test_a_file_of_something_else_is_refused(log: MemoryLog, path: Path) -> None:
    path.write_bytes(b"no database" * 100)
    with pytest.raises(FileRefused, match="no database"):
        Sink(log, path, "")
    assert path.read_bytes() == b"no database" * 100
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    with pytest.raises(FileRefused, match="another program's"):
        Sink(log, path, "")
    assert rows(path, "SELECT name FROM sqlite_schema") == [{"name": "mine"}]


@pytest.fixture
def gap(log: MemoryLog, path: Path, copy: Any) -> TopicPartition:
    """Of nine turns three are in the file, and the log has lost the first six."""
    first = log.append([turn("A", index) for index in range(3)])[0]
    copy()
    log.append([turn("A", index) for index in range(3, 9)])
    tp = TopicPartition(first.topic, first.partition)
    log.truncate(tp, 6)
    return tp


def test_records_that_are_gone_stop_it(log: MemoryLog, path: Path, gap: TopicPartition) -> None:
    with pytest.raises(LogTruncated, match="log_truncated") as caught:
        Sink(log, path, "")
    assert caught.value.exit_code == 1
    assert caught.value.code == "log_truncated"
    assert len(rows(path, "SELECT * FROM agent_logs")) == 3


def test_records_that_are_gone_are_given_up(
    log: MemoryLog, path: Path, copy: Any, gap: TopicPartition
) -> None:
    (message,) = copy(accept_gap=True)
    assert message.startswith(f"saop.log/{gap.partition} is kept from 6, the file goes to 3")
    indexes = [row["turn_index"] for row in rows(path, "SELECT turn_index FROM turns_in_order")]
    assert indexes == [0, 1, 2, 6, 7, 8]
    assert copy() == []


def test_a_gap_stays_given_up_with_nothing_behind_it(
    log: MemoryLog, path: Path, copy: Any, gap: TopicPartition
) -> None:
    log.truncate(gap, 9)
    copy(accept_gap=True)
    copy()


def test_a_new_file_begins_with_what_is_kept(
    log: MemoryLog, tmp_path: Path, gap: TopicPartition
) -> None:
    with Sink(log, tmp_path / "new.db", "") as sink:
        sink.run(once=True)
    assert len(rows(tmp_path / "new.db", "SELECT * FROM agent_logs")) == 3


def test_an_unreadable_record_stops_it(log: MemoryLog, path: Path) -> None:
    log.append([Output("saop.log", b"A", b"?")])
    with (
        Sink(log, path, "") as sink,
        pytest.raises(InternalUnreadable, match=r"saop\.log/\d/0"),
    ):
        sink.run(once=True)
    assert rows(path, "SELECT * FROM sink_offsets") == []
