"""The writer of the log: one entry for each record, and one history of all checkpoints."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import encode
from streams.engine.memory import MemoryProducer
from streams.engine.records import Output, TopicPartition
from streams.errors import Fenced, InputTruncated, SettingsError, TopicsMismatch
from streams.log.reading import records
from streams.ops.tlog.batches import EntrySequence, sign_batch
from streams.ops.tlog.entries import GapEntry, RecordEntry, parse_entry
from streams.ops.tlog.errors import LogRolledBack
from streams.ops.tlog.keys import sign_checkpoint
from streams.ops.tlog.merkle import Tree, leaf_hash
from streams.ops.tlog.note import Checkpoint, Note
from streams.ops.tlog.receipt import RecordMatch, compare_record
from streams.ops.tlog.tile_directory import SIGNED, TileDirectory
from streams.ops.tlog.writer import LogWriter
from streams.ops.topics import create_topics
from tests.examples import example_count
from tests.unit.ops.tlog.example_log import KEY, ORIGIN, PRIVATE
from tests.unit.ops.tlog.logged import ENTRIES, EVENTS, HEADS, PARTITIONS, Logged
from topology.core import AUDIT_ENTRIES, AUDIT_TREE_HEADS


class Killed(BaseException):
    """The end of a process in the middle of its work."""


@pytest.fixture
def logged(tmp_path: Path) -> Logged:
    return Logged(tmp_path)


def run_round(logged: Logged, **more: Any) -> None:
    with logged.writer(**more) as writer:
        writer.round()


def test_a_round_logs_all_records_and_publishes_once(logged: Logged) -> None:
    for tp in PARTITIONS:
        logged.write_facts(3, tp)
    with logged.writer() as writer:
        result = writer.round()
        assert (result.first, result.size, result.records) == (0, 9, 9)
        assert result.note is not None
        assert writer.round()._replace(first=0) == result._replace(note=None)
    logged.check()
    assert (logged.heads(), len(logged.notes)) == (1, 1)


def test_a_log_without_records_publishes_nothing(logged: Logged) -> None:
    with logged.writer() as writer:
        assert writer.round().note is None
    assert (logged.heads(), logged.notes) == (0, [])


def test_entries_of_a_round_are_ordered_by_topic_partition_and_offset(logged: Logged) -> None:
    for tp in reversed(PARTITIONS):
        logged.write_facts(2, tp)
    run_round(logged)
    entries = [parse_entry(line) for line in logged.lines()]
    positions = [entry[:3] for entry in entries if isinstance(entry, RecordEntry)]
    assert len(positions) == 6
    assert positions == sorted(positions)


@settings(max_examples=example_count(10), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 2), st.integers(0, 300), st.sampled_from(["round", "restart", "lost"])
        ),
        max_size=6,
    )
)
def test_rounds_and_restarts_log_each_record_once(steps: list[tuple[int, int, str]]) -> None:
    with TemporaryDirectory() as name:
        logged = Logged(Path(name))
        writer = logged.writer().__enter__()
        for partition, count, then in steps:
            logged.write_facts(count, PARTITIONS[partition])
            writer.round()
            if then != "round":
                writer.__exit__(None, None, None)
                if then == "lost":
                    shutil.rmtree(logged.folder, ignore_errors=True)
                writer = logged.writer().__enter__()
            logged.check()
        writer.__exit__(None, None, None)


def kill(
    monkeypatch: pytest.MonkeyPatch, owner: type, method: str, number: int, after: bool
) -> None:
    """Have the call of that number end the process, before or after it has done its work."""
    original = getattr(owner, method)
    calls = 0

    def call(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        result = original(*arguments) if after or calls != number else None
        if calls == number:
            raise Killed
        return result

    monkeypatch.setattr(owner, method, call)


@pytest.mark.parametrize("lost", [False, True], ids=["folder-there", "folder-lost"])
@pytest.mark.parametrize(
    ("owner", "method"),
    [
        (MemoryProducer, "commit"),
        (LogWriter, "_commit_entries"),
        (TileDirectory, "write_tile"),
        (LogWriter, "_sign"),
        (LogWriter, "_cosign"),
        (LogWriter, "_commit_head"),
    ],
)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", [1, 4])
def test_a_kill_at_any_step_leaves_one_history(
    logged: Logged,
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    method: str,
    after: bool,
    number: int,
    lost: bool,
) -> None:
    with monkeypatch.context() as patched:
        kill(patched, owner, method, number, after)
        try:
            with logged.writer() as writer:
                for round_number in range(4):
                    logged.log.append(
                        [
                            Output(EVENTS.topic, b"k", b"%d" % n, (), round_number % 2)
                            for n in range(300)
                        ]
                    )
                    writer.round()
        except Killed:
            pass
        else:
            pytest.fail("no call had that number")
    if lost:
        shutil.rmtree(logged.folder, ignore_errors=True)
    logged.write_facts(2, PARTITIONS[1])
    run_round(logged)
    logged.check()


def test_a_second_writer_fences_the_first(logged: Logged) -> None:
    logged.write_facts(3)
    with logged.writer() as first:
        first.round()
        logged.write_facts(3)
        with logged.writer() as second:
            with pytest.raises(Fenced, match="another audit writer"):
                first.round()
            second.round()
    logged.check()


def test_a_writer_that_is_fenced_after_it_has_signed_publishes_nothing(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged.write_facts(3)
    with logged.writer() as first:
        sign = first._sign

        def sign_and_lose(*arguments: Any) -> Note:
            note = sign(*arguments)
            logged.write_facts(2)
            run_round(logged)
            return note

        monkeypatch.setattr(first, "_sign", sign_and_lose)
        with pytest.raises(Fenced, match="another audit writer"):
            first.round()
    logged.check()
    assert (len(logged.notes), logged.heads()) == (2, 1)
    assert logged.checkpoint().size == 5


def test_noise_without_the_key_changes_nothing(logged: Logged) -> None:
    logged.write_facts(3)
    run_round(logged)
    batch = sign_batch(PRIVATE, ORIGIN, EntrySequence(ORIGIN, [KEY]).edge, [b"x\n"])
    logged.add_batch(batch)
    logged.add_batch(batch | {"first": 3, "signature": bytes(64)})
    for topic in (AUDIT_ENTRIES, AUDIT_TREE_HEADS):
        logged.log.append([Output(topic.name, b"k", b"noise"), Output(topic.name, None, None)])
    logged.write_facts(3)
    run_round(logged)
    logged.check()


def drop_entries(logged: Logged) -> None:
    logged.log.delete(AUDIT_ENTRIES.name)
    logged.log.delete(AUDIT_TREE_HEADS.name)


def drop_facts(logged: Logged) -> None:
    logged.log.delete(EVENTS.topic)


@pytest.mark.parametrize("cut", [drop_entries, drop_facts])
def test_a_cut_end_is_seen_before_anything_is_signed(
    logged: Logged, cut: Callable[[Logged], None]
) -> None:
    logged.write_facts(3)
    run_round(logged)
    notes = list(logged.notes)
    cut(logged)
    create_topics(logged.log, logged.settings)
    with pytest.raises(LogRolledBack), logged.writer():
        pytest.fail("the writer has opened")
    assert logged.notes == notes


@pytest.mark.parametrize("tp", [ENTRIES, HEADS, EVENTS], ids=lambda tp: tp.topic)
def test_an_end_that_is_cut_off_beside_a_running_writer_is_seen_in_its_next_round(
    logged: Logged, tp: TopicPartition
) -> None:
    logged.write_facts(3)
    with logged.writer() as writer:
        writer.round()
        notes = list(logged.notes)
        logged.write_facts(1, PARTITIONS[1])
        logged.log.slots(tp).clear()
        with pytest.raises(LogRolledBack, match=f"{tp.topic}/0 ends at 0, and"):
            writer.round()
    assert logged.notes == notes


def test_another_history_of_the_same_length_is_seen(logged: Logged, tmp_path: Path) -> None:
    logged.write_facts(3)
    run_round(logged)
    other = Logged(tmp_path)
    other.folder = tmp_path / "other"
    other.now += 1000
    other.write_facts(3)
    run_round(other)
    with pytest.raises(LogRolledBack, match="has another root there"):
        run_round(other, folder=logged.folder)


def test_a_signed_head_of_another_root_stops_the_writer(logged: Logged) -> None:
    logged.write_facts(3)
    run_round(logged)
    checkpoint = Checkpoint(ORIGIN, 2, bytes(32))
    note = Note(checkpoint.text, (sign_checkpoint(PRIVATE, checkpoint, 0),)).encode().decode()
    head = {"origin": ORIGIN, "size": 2, "root": bytes(32), "note": note, "quorum": True, "at": 0}
    value = encode(AUDIT_TREE_HEADS.record or "", head)
    logged.log.append([Output(AUDIT_TREE_HEADS.name, ORIGIN.encode(), value)])
    with pytest.raises(LogRolledBack, match="a checkpoint of 2 entries"):
        run_round(logged)


def test_a_folder_of_another_log_is_refused(logged: Logged) -> None:
    TileDirectory(logged.folder).write(SIGNED, b"another log")
    with pytest.raises(SettingsError, match="is not signed by a key"):
        run_round(logged)


def test_missing_first_records_stop_the_writer_or_have_an_entry(logged: Logged) -> None:
    logged.write_facts(5)
    logged.log.truncate(EVENTS, 2)
    with pytest.raises(InputTruncated, match="begins at 2, and 0 is due next"):
        run_round(logged)
    run_round(logged, gaps=(EVENTS,))
    assert isinstance(parse_entry(logged.lines()[0]), GapEntry)
    logged.write_facts(1)
    run_round(logged)
    logged.check()


def test_a_record_without_a_time_has_an_entry_that_is_read(logged: Logged) -> None:
    logged.log.append_at(Output(EVENTS.topic, b"k", b"v", (), 0), -1)
    run_round(logged)
    run_round(logged)
    (entry,) = map(parse_entry, logged.lines())
    assert isinstance(entry, RecordEntry)
    assert (entry.offset, entry.timestamp) == (0, 0)
    (record,) = records(logged.log, [EVENTS])
    assert compare_record(record, entry) is RecordMatch.MATCHES


def test_a_log_without_topics_says_what_to_do(tmp_path: Path) -> None:
    logged = Logged(tmp_path)
    logged.log.delete(AUDIT_TREE_HEADS.name)
    with pytest.raises(TopicsMismatch, match=AUDIT_TREE_HEADS.name):
        run_round(logged)


def test_the_tree_of_the_topic_is_the_tree_of_the_folder(logged: Logged) -> None:
    logged.write_facts(600)
    run_round(logged)
    tree = Tree(map(leaf_hash, logged.lines()))
    assert logged.checkpoint().root == tree.root()
    tile = (logged.folder / "tile/0/001").read_bytes()
    assert tile == tree.hashes(0, 256, 256)
