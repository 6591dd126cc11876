"""Batches that inflate to hundreds of megabytes become dead letters, and stop nobody."""

from __future__ import annotations

import pytest

from streams.engine.records import TopicPartition
from streams.log.fetching import read_offsets
from tests.e2e import raw_records
from tests.e2e.environment import Environment
from tests.e2e.outputs import PARTITIONS
from tests.unit.protocols.apc.processor.packets import packet
from topology.apc import APC_PACKETS
from topology.keys import partition_of

pytestmark = pytest.mark.slow

ZSTD = 4
BOMB_BYTES = 300_000_000


def test_each_record_of_a_bomb_is_a_dead_letter_and_the_partition_goes_on(
    shared: Environment,
) -> None:
    sound = shared.packet(packet("IDEA", 700))
    partition = partition_of(sound.key or b"", PARTITIONS)
    bootstrap = shared.settings.bootstrap or ""
    bomb = sound._replace(value=bytes(BOMB_BYTES))
    first = raw_records.produce(bootstrap, partition, [bomb], ZSTD)
    last = raw_records.produce(bootstrap, partition, [sound], ZSTD)
    positions = [f"{shared.name(APC_PACKETS)}/{partition}/{n}" for n in (first, last)]
    answers = shared.await_answers(positions)
    records = read_offsets(shared.log, TopicPartition(shared.name(APC_PACKETS), partition), [first])
    assert list(records) == []
    assert [kind for kind, _ in answers] == ["dead letter", "fact"]
