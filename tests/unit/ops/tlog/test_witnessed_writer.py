"""Tests of the writer whose checkpoints witnesses cosign: what is published, and what stops it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streams.ops.tlog.errors import LogRolledBack
from streams.ops.tlog.log_keys import LogKeys
from streams.ops.tlog.note import Checkpoint, parse_note
from streams.ops.tlog.policy import Policy
from streams.ops.tlog.receipt import judge_note
from streams.ops.tlog.tile_directory import CHECKPOINT, TileDirectory
from streams.ops.tlog.witness_client import WitnessClient
from streams.ops.tlog.writer import LogWriter
from streams.ops.tlog.writer_metrics import WriterMetrics
from tests.unit.ops.tlog.example_log import ORIGIN, PRIVATE
from tests.unit.ops.tlog.logged import Logged
from tests.unit.ops.tlog.witness_double import (
    SIZE_TYPE,
    WitnessDouble,
    always,
    policy_of,
    respond,
    route,
)


class Witnessed:
    """A log whose checkpoints two witnesses cosign."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.logged = Logged(folder)
        self.witnesses = WitnessDouble("w1"), WitnessDouble("w2")
        self.policy: Policy = policy_of(*self.witnesses)

    @contextmanager
    def writer(self) -> Iterator[LogWriter]:
        keys = LogKeys(ORIGIN, PRIVATE, (PRIVATE,), self.policy)
        logged, directory = self.logged, TileDirectory(self.logged.folder)
        with (
            WitnessClient(
                self.policy, 60, transport=route(*self.witnesses), clock=self.clock
            ) as witnesses,
            LogWriter(logged.log, "", keys, directory, logged.tick, (), witnesses) as writer,
        ):
            yield writer

    def clock(self) -> float:
        """Return a time by which every pause is over."""
        return self.logged.tick() * 1000.0

    def check(self) -> None:
        """Check that the published checkpoint has its quorum."""
        note = parse_note((self.logged.folder / CHECKPOINT).read_bytes())
        assert judge_note(note, Checkpoint.parse(note.text), self.policy).fault is None


@pytest.fixture
def witnessed(tmp_path: Path) -> Witnessed:
    return Witnessed(tmp_path)


def test_a_checkpoint_is_published_with_its_cosignatures(witnessed: Witnessed) -> None:
    for count in (3, 300, 1):
        witnessed.logged.write_facts(count)
        with witnessed.writer() as writer:
            result = writer.round()
        assert result.note is not None
        assert [line.name for line in result.note.signatures] == [ORIGIN, "w1", "w2"]
        witnessed.check()
    assert [each.size for each in witnessed.witnesses] == [304, 304]


def test_without_the_quorum_entries_go_on_and_nothing_is_published(witnessed: Witnessed) -> None:
    logged, (_, second) = witnessed.logged, witnessed.witnesses
    second.lie = always(lambda: respond(503))
    with witnessed.writer() as writer:
        for count in (3, 4):
            logged.write_facts(count)
            result = writer.round()
            assert (result.records, result.note, result.lacks_quorum) == (count, None, True)
        assert logged.heads() == 0
        second.lie = None
        result = writer.round()
        assert (result.records, result.lacks_quorum) == (0, False)
        assert writer.round().witnesses == ()  # it is published: nobody is asked again
    witnessed.check()
    assert (logged.heads(), logged.checkpoint().size) == (1, 7)


def test_a_checkpoint_of_a_policy_without_witnesses_is_published_anew(
    witnessed: Witnessed,
) -> None:
    witnessed.logged.write_facts(3)
    with witnessed.logged.writer() as writer:
        writer.round()
    with witnessed.writer() as writer:
        assert writer.round().records == 0
    witnessed.check()
    assert witnessed.logged.heads() == 2
    with witnessed.writer() as writer:
        assert writer.round().witnesses == ()


def test_a_writer_that_dies_after_the_witnesses_is_followed_by_another(
    witnessed: Witnessed, monkeypatch: pytest.MonkeyPatch
) -> None:
    witnessed.logged.write_facts(5)

    def die(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(LogWriter, "_commit_head", die)
        with witnessed.writer() as writer, pytest.raises(KeyboardInterrupt):
            writer.round()
    assert [each.size for each in witnessed.witnesses] == [5, 5]
    with witnessed.writer() as writer:
        assert writer.round().size == 5
    witnessed.check()


def test_witnesses_know_of_a_log_that_was_lost_with_its_folder(
    witnessed: Witnessed, tmp_path: Path
) -> None:
    witnessed.logged.write_facts(5)
    with witnessed.writer() as writer:
        writer.round()
    shutil.rmtree(witnessed.logged.folder)
    (tmp_path / "restored").mkdir()
    witnessed.logged = Logged(tmp_path / "restored")
    with pytest.raises(LogRolledBack, match="w1 has cosigned 5 entries"), witnessed.writer():
        pytest.fail("the writer has started")


def test_a_fork_is_not_published(witnessed: Witnessed, caplog: pytest.LogCaptureFixture) -> None:
    first, _ = witnessed.witnesses
    witnessed.logged.write_facts(3)
    with witnessed.writer() as writer:
        writer.round()
        first.root = bytes(32)
        witnessed.logged.write_facts(2)
        result = writer.round()
    assert result.lacks_quorum
    assert [each.outcome for each in result.witnesses] == ["witness_conflict", "cosigned"]
    assert (witnessed.logged.heads(), witnessed.logged.checkpoint().size) == (1, 3)
    (error,) = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
    notes = error.split(f"\n{ORIGIN}\n")[1:]
    assert [note.partition("\n")[0] for note in notes] == ["3", "5"]


def test_a_witness_that_is_ahead_stops_the_writer(witnessed: Witnessed) -> None:
    first, _ = witnessed.witnesses
    witnessed.logged.write_facts(5)
    with witnessed.writer() as writer:
        first.lie = always(lambda: respond(409, b"6\n", SIZE_TYPE))
        with pytest.raises(LogRolledBack, match="w1 has cosigned 6 entries, and the log has 5"):
            writer.round()
    assert witnessed.logged.heads() == 0


def test_rounds_and_answers_of_witnesses_are_counted(witnessed: Witnessed) -> None:
    metrics, (first, _) = WriterMetrics(), witnessed.witnesses
    with witnessed.writer() as writer:
        metrics.count(writer.round())
        witnessed.logged.write_facts(3)
        metrics.count(writer.round())
        first.root = bytes(32)
        witnessed.logged.write_facts(2)
        metrics.count(writer.round())

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(name, labels)

    for result in ("idle", "published", "not_witnessed"):
        assert value("headrace_audit_rounds_total", result=result) == 1
    answers = "headrace_audit_witness_answers_total"
    assert value(answers, witness="w1", result="cosigned") == 1
    assert value(answers, witness="w1", result="witness_conflict") == 1
    assert value(answers, witness="w2", result="cosigned") == 2
