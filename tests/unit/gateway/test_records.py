"""Tests of records over HTTP: one as it lies on the log, and those of a partition by pages."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from streams.engine.records import Output, TopicPartition, position
from streams.log import records
from tests.unit.envelopes import idea
from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.guarded import PRODUCER, READER, Guarded
from tests.unit.gateway.test_answers import conforms
from topology.apc import APC_EVENTS, APC_PACKETS

PREFIXED = "acme."


def rule_of(gateway: GatewayBench, path: str) -> tuple[int, str]:
    answer = gateway.ask("GET", f"/v1/records/{path}")
    return answer.status_code, answer.json()["rule"]


def test_a_record_is_shown_as_it_lies_on_the_log(gateway: GatewayBench) -> None:
    packet = idea(1)
    position = gateway.send("/v1/apc/packets", packet)
    path = f"/v1/records/{position}"
    body = gateway.get(path)
    conforms("GET", path, 200, body)
    assert (body["position"], body["key"]) == (position, "s1")
    assert body["value"]["packet_id"] == packet["packet_id"]
    assert body["schema"]["name"] == APC_PACKETS.record
    (record,) = gateway.bench.records(APC_PACKETS.name)
    assert body["size"] == len(record.value or b"")
    with_bytes = gateway.get(f"{path}?bytes=true")
    conforms("GET", path, 200, with_bytes)
    assert base64.b64decode(with_bytes["value_base64"]) == record.value


def test_a_partition_is_read_by_pages_without_values(gateway: GatewayBench) -> None:
    gateway.send("/v1/apc/packets", *(idea(n) for n in range(1, 6)))
    path = next(
        f"/v1/records/{APC_EVENTS.name}/{record.partition}"
        for record in gateway.bench.records(APC_EVENTS.name)
    )
    whole = gateway.get(path)
    conforms("GET", path, 200, whole)
    assert whole["next"] is None
    assert len(whole["items"]) == 5
    assert not [item for item in whole["items"] if "value" in item]
    page = gateway.get(path, limit="2")
    items = page["items"]
    while page["next"] is not None:
        page = gateway.get(path, limit="2", **{"from": str(page["next"])})
        assert page["items"]
        items += page["items"]
    assert items == whole["items"]
    assert gateway.get(path, **{"from": "1000"}) == {"items": [], "next": None}
    assert gateway.ask("GET", path, params={"limit": "201"}).json()["rule"] == "query_value"


def test_what_is_not_there_has_a_code(gateway: GatewayBench) -> None:
    position = gateway.send("/v1/apc/packets", idea(1), idea(2))
    topic, partition, offset = position.split("/")
    assert rule_of(gateway, f"{topic}/{partition}/99") == (404, "record_unknown")
    assert rule_of(gateway, f"{topic}/{partition}/-1") == (404, "record_unknown")
    assert rule_of(gateway, f"{topic}/{partition}/x") == (404, "record_unknown")
    assert rule_of(gateway, f"{topic}/99/0") == (404, "record_unknown")
    assert rule_of(gateway, "none/0/0") == (404, "record_unknown")
    gateway.bench.log.truncate(TopicPartition(topic, int(partition)), int(offset))
    assert rule_of(gateway, f"{topic}/{partition}/0") == (410, "record_expired")
    assert gateway.get(f"/v1/records/{topic}/{partition}")["items"][0]["position"] == position


@pytest.mark.parametrize("topic", ["rtes.raw", "headrace.changelog", "sap.lookups"])
def test_what_processors_tell_each_other_is_not_shown(gateway: GatewayBench, topic: str) -> None:
    assert rule_of(gateway, f"{topic}/0") == (403, "topic_internal")
    assert rule_of(gateway, f"{topic}/0/0") == (403, "topic_internal")


def test_a_record_behind_an_open_transaction_is_not_awaited_for_long(
    gateway: GatewayBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    position = gateway.send("/v1/apc/packets", idea(1))
    monkeypatch.setattr(records, "PATIENCE_S", 0.2)
    topic, partition, offset = position.split("/")
    tp = TopicPartition(topic, int(partition))
    first_offset = gateway.bench.log.hold(tp)
    sent = gateway.ask("POST", "/v1/apc/packets", json=[idea(2)]).json()["positions"][0]
    assert rule_of(gateway, sent) == (503, "service_unavailable")
    assert [r["offset"] for r in gateway.get(f"/v1/records/{topic}/{partition}")["items"]] == [
        int(offset)
    ]
    gateway.bench.log.release(tp, first_offset)
    assert gateway.get(f"/v1/records/{sent}")["position"] == sent


def test_large_records_are_not_shown_and_end_a_page(
    gateway: GatewayBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Test what a client of Kafka makes of a few kilobytes: values of megabytes, as many as fit."""
    sizes = [400, 400, 900, 10, 10]
    monkeypatch.setattr(records, "MAX_BYTES", 800)
    name = APC_PACKETS.name
    outputs = [Output(name, b"bomb", bytes(size), (), 0) for size in sizes]
    places = [position(record) for record in gateway.bench.log.append(outputs)]
    pages: list[list[int]] = []
    next_offset: int | None = 0
    while next_offset is not None:
        page = gateway.get(f"/v1/records/{name}/0", **{"from": str(next_offset)})
        pages.append([item["size"] for item in page["items"]])
        next_offset = page["next"]
    assert pages == [[400, 400], [900], [10, 10]]
    assert rule_of(gateway, places[2]) == (403, "record_too_large")
    assert gateway.get(f"/v1/records/{places[1]}")["size"] == 400


def test_topics_are_named_with_or_without_prefix(tmp_path: Path) -> None:
    with GatewayBench(tmp_path, prefix=PREFIXED) as gateway:
        position = gateway.send("/v1/apc/packets", idea(1))
        assert position.startswith(PREFIXED)
        short = gateway.get(f"/v1/records/{position.removeprefix(PREFIXED)}")
        assert short == gateway.get(f"/v1/records/{position}")
        assert short["topic"] == f"{PREFIXED}{APC_PACKETS.name}"


def test_readers_may_read_records(guarded: Guarded) -> None:
    path = f"/v1/records/{APC_PACKETS.name}/0"
    assert guarded.ask("GET", path, guarded.token("eye", READER)).status_code == 200
    assert (
        guarded.ask("GET", path, guarded.token("hand", PRODUCER)).json()["rule"] == "role_missing"
    )
