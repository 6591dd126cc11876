"""Records that the apc processor cannot have written count for nothing, and stop nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schemas import decode, encode
from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.processor import AvroValue
from streams.engine.records import Output
from streams.log.dead_letters import letter_json, read
from streams.ops.topics import create_topics
from streams.protocols.apc.lineage import ApcLineageProcessor
from streams.protocols.apc.lineage.processor import Foreign
from streams.settings import Settings
from tests.unit.protocols.apc.lineage.support import START_MS, Bench, arbitration, delta
from topology.apc import APC_LINEAGE, APC_LINEAGE_TABLE, APC_TRANSFERS, APC_TRANSFERS_DLQ
from topology.keys import partition_of

pytestmark = pytest.mark.slow

RECORD = "headrace.apc.ApcTransferDelta"


@pytest.mark.parametrize(
    ("value", "record"),
    [
        (delta(1, transfers=1), {"key": "py"}),
        (delta(1, transfers=1), {"key": None}),
        (delta(1, transfers=1), {"key": b"\xff"}),
        (delta(1, transfers=1), {"partition": 1 - partition_of(b"px", 2)}),
        (arbitration(1), {"key": "py"}),
        (arbitration(1) | {"decision": None}, {}),
        (arbitration(1) | {"kind": "transfer"}, {}),
    ],
)
def test_a_foreign_record_is_not_decided(value: AvroValue, record: dict[str, Any]) -> None:
    bench = Bench(partitions=2)
    with pytest.raises(Foreign):
        bench.decide(bench.delta(value, **record))
    assert (bench.bytes(), bench.sent) == ({}, [])


def test_too_large_an_output_makes_the_delta_a_dead_letter() -> None:
    bench = Bench()
    with pytest.raises(ValueError, match=r"9000000 bytes for apc\.lineage"):
        bench.too_large(bench.delta(delta(1, transfers=1)), APC_LINEAGE, 9_000_000)


def test_foreign_records_become_dead_letters_and_the_rest_counts(tmp_path: Path) -> None:
    settings = Settings.load({}, partitions=1)
    log = MemoryLog(lambda: START_MS)
    create_topics(log, settings)
    host = LocalHost(log, lambda: [ApcLineageProcessor()], settings, tmp_path)
    foreign = encode(RECORD, delta(2, transfers=100))
    log.append(
        [
            Output(APC_TRANSFERS.name, b"px", encode(RECORD, delta(1, transfers=1))),
            Output(APC_TRANSFERS.name, b"py", foreign),
            Output(APC_TRANSFERS.name, b"px", encode(RECORD, delta(3, transfers=1))),
        ]
    )
    host.run()
    letters = list(read(log, APC_TRANSFERS_DLQ, settings.prefix))
    assert [letter.value for letter in letters] == [foreign]
    codes = [letter_json(APC_TRANSFERS_DLQ, letter)["code"] for letter in letters]
    assert codes == ["decide_failed"]
    assert [row["transfers"] for row in rows_on(log)] == [2, 2]
    host.close()


def rows_on(log: MemoryLog) -> list[AvroValue]:
    """The latest row of each key."""
    latest = {record.key: record.value for record in read(log, APC_LINEAGE, "")}
    return [decode(value, APC_LINEAGE_TABLE.record).value for value in latest.values()]
