"""Tests of requests that wait for Kafka: others that read the view only do not wait behind them."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from streams.engine.records import Record
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
