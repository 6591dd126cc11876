from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from streams.engine.memory import MemoryLog
from streams.engine.records import TopicPartition
from streams.errors import AccessDenied, BrokerUnavailable
from streams.log.state import Backlog, SharedState, backlogs, read_state
from tests.unit.envelopes import idea
from tests.unit.views.bench import Bench
from topology import processors
from topology.apc import APC_PACKETS

APC = processors.readers_of(APC_PACKETS)[0]


class CountingLog(MemoryLog):
    """Counts how often the offsets are asked for; may fail, or deny the group's offsets."""

    reading_count = 0
    failure: Exception | None = None
    denial: AccessDenied | None = None

    def starts(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        self.reading_count += 1
        if self.failure is not None:
            raise self.failure
        return super().starts(tps)

    def committed(self, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        if self.denial is not None:
            raise self.denial
        return super().committed(tps)


def test_a_processor_lags_until_it_has_decided_and_markers_are_no_lag(tmp_path: Path) -> None:
    with closing(Bench(tmp_path)) as bench:
        bench.append(APC_PACKETS.name, idea(1))
        state = read_state(bench.log, "")
        (backlog,) = (each for each in backlogs(bench.log, state) if each.name == APC.name)
        assert backlog == Backlog(APC.name, 1, bench.now)
        bench.host.run()
        state = read_state(bench.log, "")
        assert not [each for each in state.lag_of(APC) if each.lag]
        assert {each.name: each.records for each in backlogs(bench.log, state)} == dict.fromkeys(
            (each.name for each in backlogs(bench.log, state)), 0
        )


def test_callers_share_one_reading_and_one_failure() -> None:
    log = CountingLog(lambda: 0)
    shared = SharedState(log, "", every_s=600)
    assert shared() is shared()
    assert log.reading_count == 1
    log.failure = BrokerUnavailable("nobody answers")
    failing = SharedState(log, "", every_s=600)
    for _ in range(3):
        with pytest.raises(BrokerUnavailable, match="nobody answers"):
            failing()
    assert log.reading_count == 2


def test_without_the_right_to_the_group_the_lag_is_unknown(tmp_path: Path) -> None:
    with closing(Bench(tmp_path)) as bench:
        state = read_state(bench.log, "")
        denied = type(state)(state.prefix, state.topics, state.ranges, None)
        assert {each.lag for each in denied.lag_of(APC)} == {None}
    log = CountingLog(lambda: 0)
    log.denial = AccessDenied("no right to the group")
    assert read_state(log, "").committed is None
