"""`headrace verify` on a real broker: under traffic, at rest, and after something was spoiled."""

from __future__ import annotations

import json
import random

import pytest

from streams.engine.records import Output, position
from tests.e2e.environment import Environment
from tests.e2e.traffic import outputs
from topology.apc import APC_EVENTS, APC_PACKETS

pytestmark = pytest.mark.slow

PACKETS = 600


def test_a_live_log_is_clean_and_a_spoiled_one_is_not(
    environment: Environment, dice: random.Random
) -> None:
    worker = environment.start("only", "--static", BATCH="50")
    records = outputs(environment, dice, PACKETS)
    half = len(records) // 2
    environment.send(records[:half])
    worker.wait_ready()
    environment.tail(APC_EVENTS).until(PACKETS // 10)
    live = environment.process("live", "verify", "--json")
    for start in range(half, len(records), 50):
        environment.send(records[start : start + 50])
    assert live.exit_code() == 0, live.text()
    environment.drain()
    worker.end()

    report = json.loads(environment.headrace("verify", "--json"))
    assert report["clean"], report["findings"]
    assert report["commands"]["apc.packets"] == len(environment.records(APC_PACKETS))
    assert report["facts"]["apc.events"] == len(environment.records(APC_EVENTS))
    assert report["rows"]["apc.packet-states"] > 0

    first = environment.records(APC_EVENTS)[0]
    again = Output(first.topic, first.key, first.value, first.headers, first.partition)
    environment.log.append([again])
    spoiled = environment.process("spoiled", "verify")
    assert spoiled.exit_code() == 1, spoiled.text()
    assert f"was answered by {position(first)} already" in spoiled.text()
