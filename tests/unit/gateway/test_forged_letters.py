"""Tests of dead letters, and of records of redrives, that no processor can have written."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from importlib import import_module
from typing import Any, cast

import pytest

from streams.engine.headers import OVERSIZE
from streams.engine.log import Log
from streams.engine.records import Headers, Output, Record, TopicPartition
from streams.log import fetching
from streams.log.open_letters import DeadLetters
from streams.routes import dead_letters as routes
from tests.unit.envelopes import idea
from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.test_answers import conforms
from tests.unit.gateway.test_dead_letters import redrive_fact
from topology.apc import APC_PACKETS, APC_PACKETS_DLQ
from topology.core import AUDIT_REDRIVES

LIST, ONE = "/v1/dead-letters", "/v1/dead-letters/{topic}/{partition}/{offset}"
REDRIVE = "/v1/dead-letters/redrive"
FACT = redrive_fact(f"{APC_PACKETS_DLQ.name}/0/0").value
PLACE = f"{APC_PACKETS_DLQ.name}/0/0"
OVERSIZED = (OVERSIZE, b"1")
NULL = cast(bytes, None)  # as clients of Kafka may send it


def _origin(topic: bytes, partition: bytes | int, offset: bytes | int) -> list[tuple[str, bytes]]:
    number = struct.pack(">i", partition) if isinstance(partition, int) else partition
    place = struct.pack(">q", offset) if isinstance(offset, int) else offset
    parts = {"topic": topic, "partition": number, "offset": place}
    return [(f"kafka_dlt-original-{name}", value) for name, value in parts.items()]


FORGED: dict[str, Headers] = {
    "no partition": [("kafka_dlt-original-topic", b"apc.packets"), OVERSIZED],
    "no numbers": [*_origin(b"a/b/c", b"zz", b"\xff\xfe"), OVERSIZED],
    "no topic": [*_origin(b"", 0, 0), OVERSIZED],
    "below zero": _origin(b"apc.packets", -5, -9),
    "a partition that the topic has not": _origin(b"apc.packets", 999, 1),
    "no code": [*_origin(b"apc.packets", 0, 0), ("kafka_dlt-exception-fqcn", NULL)],
}


def _write(gateway: GatewayBench, *outputs: Output) -> None:
    producer = gateway.bench.log.producer("intruder")
    producer.open()
    producer.commit(outputs)
    producer.close()


def _answers(gateway: GatewayBench) -> list[Any]:
    """Return the answers of all routes about dead letters, each as its route says."""
    orders = [{"positions": [PLACE], "dry_run": True}, {"positions": [PLACE], "again": True}]
    requests = [
        ("GET", LIST, LIST, None),
        ("GET", f"{LIST}/summary", f"{LIST}/summary", None),
        ("GET", ONE, f"{LIST}/{PLACE}", None),
        *(("POST", REDRIVE, REDRIVE, order) for order in orders),
    ]
    bodies = []
    for method, template, target, order in requests:
        response = gateway.ask(method, target, **({} if order is None else {"json": order}))
        assert response.status_code == 200, (target, response.text)
        conforms(method, template, 200, response.json())
        bodies.append(response.json())
    return bodies


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_dead_letter_stops_no_route(gateway: GatewayBench, name: str) -> None:
    gateway.bench.send(APC_PACKETS.name, idea())
    value = gateway.bench.records(APC_PACKETS.name)[0].value
    _write(gateway, Output(APC_PACKETS_DLQ.name, None, value, FORGED[name], 0))
    listed, *_, sent = _answers(gateway)
    states = {"no code": ("ready", True)}
    (item,), (result,) = listed["items"], sent["results"]
    assert (item["state"], result["sent"] is not None) == states.get(name, ("no_record", False))


@pytest.mark.parametrize(
    ("key", "value"),
    [(PLACE.encode(), b"x"), (b"a/b/c", b""), (b"\xff", FACT), (b"x", FACT), (None, None)],
)
def test_a_forged_record_of_a_redrive_stops_no_route(
    gateway: GatewayBench, key: bytes | None, value: bytes | None
) -> None:
    letter = Output(APC_PACKETS_DLQ.name, None, b"x", _origin(b"apc.packets", 0, 0), 0)
    _write(gateway, letter, Output(AUDIT_REDRIVES.name, key, value, (), 0))
    _answers(gateway)
    counted = DeadLetters(gateway.bench.log, "")
    counted.read_new()
    assert counted.counts[APC_PACKETS_DLQ.name] == 1


@pytest.mark.parametrize("member", ["source", "code", None])
def test_a_fact_of_a_redrive_counts_for_the_dead_letter_that_it_describes_only(
    gateway: GatewayBench, member: str | None
) -> None:
    gateway.bench.send(APC_PACKETS.name, idea())
    value = gateway.bench.records(APC_PACKETS.name)[0].value
    origin = [*_origin(b"apc.packets", 0, 0), ("kafka_dlt-exception-fqcn", b"frame_unknown")]
    other = {} if member is None else {member: "another"}
    letter = Output(APC_PACKETS_DLQ.name, None, value, origin, 0)
    _write(gateway, letter, redrive_fact(PLACE, **other))
    listed, *_, sent = _answers(gateway)
    (item,), (result,) = listed["items"], sent["results"]
    assert item["state"] == ("done" if member is None else "ready")
    assert (result["sent"] is None) == (member is None)


def test_a_list_reads_the_records_of_so_many_dead_letters(
    gateway: GatewayBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check letters whose records were too large for them, which only their topics have."""
    gateway.bench.send(APC_PACKETS.name, idea())
    source = gateway.bench.records(APC_PACKETS.name)[0]
    monkeypatch.setattr(routes, "MAX_SOURCES", 2)
    read: list[int] = []

    def read_offsets(log: Log, tp: TopicPartition, offsets: list[int]) -> Iterator[Record]:
        read.extend(offsets)
        return fetching.read_offsets(log, tp, offsets)

    module = import_module("streams.ops.redrive.dead_letters")  # a function has its name
    monkeypatch.setattr(module, "read_offsets", read_offsets)
    origin = _origin(b"apc.packets", source.partition, source.offset)
    small = Output(APC_PACKETS_DLQ.name, None, b"x", origin, 0)
    large = small._replace(value=None, headers=[*small.headers, OVERSIZED])
    for letter in (large, small, large, large, large, small, large):
        _write(gateway, letter)
    pages, query = [], "state=ready"
    while query:
        page = gateway.get(f"{LIST}?{query}")
        pages.append((len(page["items"]), len(read)))
        read.clear()
        query = page["next"] and f"state=ready&cursor={page['next']}"
    assert pages == [(2, 2), (2, 2), (1, 1)]
