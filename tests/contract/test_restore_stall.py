"""A restore does not wait for ends that an unclean election has taken away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from streams.engine import stall
from streams.engine.global_tables import GlobalTables
from streams.engine.memory import MemoryLog
from streams.engine.records import Output, TopicPartition
from streams.engine.state import State
from streams.errors import BrokerUnavailable, RestoreStalled
from tests.toy import COUNTS, ROWS, toy_topics


class ShortenedLog(MemoryLog):
    """A log whose first answers count records that are lost by the time they are read.

    lost: how many.  answers: how many answers still count them.
    """

    def __init__(self, lost: int, answers: int) -> None:
        super().__init__(lambda: 0)
        self.lost, self.answers = lost, answers
        self.create(toy_topics(1))
        self.append([Output(ROWS.name, b"k%d" % n, b"row", (), 0) for n in range(5)])

    def ends(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        self.answers -= 1
        more = self.lost if self.answers >= 0 else 0
        return {tp: end + more * (tp.topic == ROWS.name) for tp, end in super().ends(tps).items()}


@pytest.fixture(autouse=True)
def _short_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stall, "SILENCE_S", 0.2)


def test_a_restore_ends_with_a_code_and_begins_again(tmp_path: Path) -> None:
    log = ShortenedLog(lost=3, answers=1)
    state = State(tmp_path / "0", log, "", 0, (COUNTS,))
    with pytest.raises(RestoreStalled, match=r"toy\.rows/0 ended at 8 .* and ends at 5 now"):
        state.open(1_000_000_000_000)
    state.close()
    again = State(tmp_path / "0", log, "", 0, (COUNTS,))
    again.open(1_000_000_000_000)
    assert len(list(again.scan(COUNTS.name))) == 5
    again.close()


def test_a_restore_behind_an_open_transaction_does_not_call_the_log_cut(tmp_path: Path) -> None:
    log = ShortenedLog(lost=3, answers=1)
    log.hold(TopicPartition(ROWS.name, 0))
    log.append([Output(ROWS.name, b"later", b"row", (), 0)] * 3)
    state = State(tmp_path / "0", log, "", 0, (COUNTS,))
    with pytest.raises(BrokerUnavailable, match="has read nothing"):
        state.open(1_000_000_000_000)
    state.close()


def test_copies_of_tables_are_read_again_to_the_ends_that_there_are(tmp_path: Path) -> None:
    log = ShortenedLog(lost=3, answers=1)
    copies = GlobalTables(tmp_path / "copies", log, "", 1, (COUNTS,))
    copies.open()
    assert copies.size_bytes >= 0
    assert log.answers < 0
    copies.close()
