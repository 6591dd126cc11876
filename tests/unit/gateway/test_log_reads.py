"""Tests of requests that wait for Kafka: others that read the view only do not wait behind them."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from streams.api.route import Refused
from streams.engine.fetched.turns import LARGE_BYTES, await_turn
from streams.engine.records import Record
from streams.gateway import log_reads
from streams.gateway.limits import MAX_LOG_READS, THREADS
from streams.log import records
from tests.unit.envelopes import idea
from tests.unit.gateway.bench import GatewayBench, Json


class SlowLog:
    """Stands in for the reading of a record; it lasts until a query of the view is answered."""

    def __init__(self) -> None:
        self.answered = threading.Event()
        self.waiting = 0

    def read_offsets(self, *_: object) -> Iterator[Record]:
        self.waiting += 1
        assert self.answered.wait(30), "the view was not asked meanwhile"
        return iter(())


def test_what_waits_for_the_log_keeps_no_query_of_the_view_waiting(
    gateway: GatewayBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, partition, _ = gateway.send("/v1/apc/packets", idea(1)).split("/")
    slow = SlowLog()
    monkeypatch.setattr(records, "read_offsets", slow.read_offsets)
    read = gateway.view.reader

    def note_answer() -> object:
        slow.answered.set()
        return read()

    monkeypatch.setattr(gateway.view, "reader", note_answer)
    path = f"/v1/records/{topic}/{partition}/0"
    reading: tuple[str, str, Json] = ("GET", path, {})
    requests = [reading] * (MAX_LOG_READS + 3)
    *reads, view = gateway.ask_all([*requests, ("GET", "/v1/apc/packets", {})])
    assert view.status_code == 200
    assert idea(1)["packet_id"] in view.text
    assert slow.waiting >= THREADS
    refused = [answer for answer in reads if answer.status_code == 503]
    assert {answer.json()["rule"] for answer in refused} == {"service_unavailable"}
    assert len(refused) == 3
    assert all("retry-after" in answer.headers for answer in refused)


def test_places_are_free_again_afterwards(gateway: GatewayBench) -> None:
    position = gateway.send("/v1/apc/packets", idea(1))
    path = f"/v1/records/{position}"
    for _ in range(2):
        answers = gateway.ask_all([("GET", path, {})] * MAX_LOG_READS)
        assert {answer.status_code for answer in answers} == {200}


def test_one_principal_has_half_of_the_places(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway: Any = SimpleNamespace(log_readers=Counter(), log_reads=ThreadPoolExecutor(1))
    done = threading.Event()

    async def ask_as(principal: str, count: int) -> list[asyncio.Task[bool]]:
        monkeypatch.setattr(log_reads, "get_caller", lambda: SimpleNamespace(principal=principal))
        reads = [
            asyncio.create_task(log_reads.read_log(gateway, lambda: done.wait(30)))
            for _ in range(count)
        ]
        await asyncio.sleep(0)  # each has taken its place, or was refused
        return reads

    async def run() -> list[int]:
        tasks = [await ask_as(name, MAX_LOG_READS) for name in ("mallory", "kim", "lee")]
        done.set()
        answers = [await asyncio.gather(*each, return_exceptions=True) for each in tasks]
        assert {type(a) for each in answers for a in each} == {bool, Refused}
        return [each.count(True) for each in answers]

    assert asyncio.run(run()) == [MAX_LOG_READS // 2, MAX_LOG_READS // 2, 0]
    assert not gateway.log_readers


def test_large_batches_are_in_memory_for_one_request_at_a_time() -> None:
    gateway: Any = SimpleNamespace(log_readers=Counter(), log_reads=ThreadPoolExecutor(2))
    both_hold = threading.Barrier(2)

    def read() -> bool:
        """Return whether the other request holds its batch too."""
        await_turn(LARGE_BYTES + 1)
        try:
            both_hold.wait(0.5)
        except threading.BrokenBarrierError:
            return False
        return True

    async def run() -> list[bool]:
        return await asyncio.gather(*(log_reads.read_log(gateway, read) for _ in range(2)))

    assert asyncio.run(run()) == [False, False]
