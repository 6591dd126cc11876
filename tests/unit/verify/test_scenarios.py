"""What a sound run has left is clean, whatever the run was about."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from streams.engine.records import TopicPartition
from tests.unit.verify.played import NAMES, Played

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", NAMES)
def test_a_sound_log_is_clean(name: str, tmp_path: Path) -> None:
    with closing(Played(name, tmp_path, partitions=2)) as played:
        report = played.verify()
    assert report.findings.shown == []
    assert report.clean
    assert report.commands.total() > 0
    assert report.facts.total() > 0
    assert report.unchecked == 0


class Growing:
    """A log that grows whenever its ends are asked for."""

    def __init__(self, played: Played, lines: int) -> None:
        self._played, self._lines = played, lines

    def __getattr__(self, name: str) -> Any:
        return getattr(self._played.log, name)

    def ends(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        ends = self._played.log.ends(tps)
        self._played.go_on(self._lines)
        return ends

    def high_watermarks(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        self._played.go_on(self._lines)
        return self._played.log.high_watermarks(tps)


@pytest.mark.parametrize("name", NAMES)
def test_a_log_that_is_written_meanwhile_is_clean(name: str, tmp_path: Path) -> None:
    with closing(Played(name, tmp_path, whole=False)) as played:
        part = max(1, played.left // 4)
        played.go_on(part)
        log: Any = Growing(played, part)
        report = played.verify(log)
    assert report.findings.shown == []
    assert report.facts.total() > 0
