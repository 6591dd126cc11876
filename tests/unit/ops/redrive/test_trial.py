"""A dry run says what the service would answer now, and writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.engine.records import TopicPartition
from streams.ops.redrive import (
    DeadLetter,
    RedriveStatus,
    Selection,
    Verdict,
    dead_letters,
    simulate,
)
from streams.protocols.apc.processor import processor
from streams.protocols.commands import all_processors
from tests.unit.envelopes import idea
from tests.unit.ops.redrive.conftest import FailingSender, fail
from tests.unit.views.bench import Bench


def dry(bench: Bench, folder: Path) -> list[tuple[DeadLetter, Verdict | None]]:
    tps = [
        TopicPartition(t.name, n) for t in bench.log.topics().values() for n in range(t.partitions)
    ]
    before = bench.log.ends(tps)
    letters = dead_letters(bench.log, "acme.", Selection(), ())
    outcomes = list(
        simulate(letters, bench.log, bench.settings, all_processors(), folder, bench.now)
    )
    assert bench.log.ends(tps) == before
    return outcomes


def test_it_says_the_verdict_that_a_redrive_would_bring(
    bench: Bench, send_failing: FailingSender, tmp_path: Path
) -> None:
    bench.send("apc.packets", idea(1))
    send_failing(idea(1), idea(2), idea(3, run_phase="EXECUTION"), idea(2))
    verdicts = [verdict for _, verdict in dry(bench, tmp_path / "dry")]
    assert [one and (one.verdict, one.rule) for one in verdicts] == [
        ("duplicate", "duplicate"),
        ("accepted", "accepted"),
        ("rejected", "phase_type"),
        ("duplicate", "duplicate"),  # of the one that would be sent before
    ]
    assert verdicts[2] is not None
    assert verdicts[2].message == "IDEA is not allowed in EXECUTION."


def test_a_record_that_still_fails_would_be_a_dead_letter_again(
    bench: Bench, send_failing: FailingSender, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_failing(idea(1))
    monkeypatch.setattr(processor, "_judge", fail)
    ((_, verdict),) = dry(bench, tmp_path / "dry")
    assert verdict is not None
    assert (verdict.verdict, verdict.rule) == ("dead_letter", "decide_failed")


def test_bytes_that_nobody_reads_are_not_tried(bench: Bench, tmp_path: Path) -> None:
    bench.send_bytes("apc.packets", b"else")
    ((dead_letter, verdict),) = dry(bench, tmp_path / "dry")
    assert (dead_letter.standing, verdict) == (RedriveStatus.UNDECODABLE, None)
