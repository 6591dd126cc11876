"""How many transfers pass after a protocol has decayed (APC guide, 5.7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.protocols.apc.queries.facts import transfer
from tests.unit.views.bench import Bench

BATCH, MIN_SAMPLES = 8, 5


@pytest.mark.parametrize("partitions", [1, 3])
def test_at_most_three_batches_of_each_partition_pass(tmp_path: Path, partitions: int) -> None:
    bench = Bench(
        tmp_path, partitions, batch=BATCH, apc_decay_mode="always", apc_decay_min_samples=5
    )
    sessions = [f"s{number}" for number in range(2 * partitions)]
    packets = [
        transfer(number, "px", trace__session_id=sessions[number % len(sessions)])
        for number in range(60 * partitions)
    ]
    bench.send("apc.packets", *packets)
    bench.view.catch_up(0)
    answer = bench.look("/v1/apc/packets", f"limit={len(packets)}&include_events=false")
    accepted = sum(each["verdict"] == "accepted" for each in answer["packets"])
    assert MIN_SAMPLES < accepted <= MIN_SAMPLES + 3 * BATCH * partitions
    rules = {each["rule"] for each in answer["packets"] if each["verdict"] == "rejected"}
    assert rules == {"protocol_decayed"}
    bench.send("apc.packets", *[transfer(1000 + n, "px") for n in range(2 * BATCH)])
    later = bench.look("/v1/apc/packets", f"limit={2 * BATCH}&include_events=false")
    assert {each["rule"] for each in later["packets"]} == {"protocol_decayed"}
    bench.close()


def test_in_one_batch_the_standing_does_not_change(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 1, apc_decay_mode="always")
    bench.send("apc.packets", *[transfer(number, "px") for number in range(26)])
    answer = bench.look("/v1/apc/packets", "include_events=false")
    assert {each["rule"] for each in answer["packets"]} == {"accepted"}
    bench.send("apc.packets", transfer(26, "px"))
    assert bench.look("/v1/apc/packets", "limit=1")["packets"][0]["rule"] == "protocol_decayed"
    bench.close()
