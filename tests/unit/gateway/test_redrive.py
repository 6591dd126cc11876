"""Tests of dead letters over HTTP: lists, one of them, and sending them back."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from schemas import decode
from streams.engine.records import position
from streams.ops.redrive import Redrive
from streams.protocols.apc.processor import processor
from tests.processes import wait_for
from tests.unit.envelopes import idea
from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.guarded import OPERATOR, PATIENCE_S, PRODUCER, READER, Guarded
from tests.unit.gateway.test_answers import conforms
from topology.apc import APC_PACKETS
from topology.core import AUDIT_REDRIVES

LIST, REDRIVE = "/v1/dead-letters", "/v1/dead-letters/redrive"


def _fail(*_: object) -> None:
    raise RuntimeError("a fault of this version")


@pytest.fixture
def failed(gateway: GatewayBench, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Send five packets that the service cannot judge, and return the dead letters' positions."""
    with monkeypatch.context() as patch:
        patch.setattr(processor, "_judge", _fail)
        for number in range(5):
            gateway.bench.now += 1000
            gateway.bench.send("apc.packets", idea(packet_id=_packet_id(number)))
    letters = gateway.get(LIST)["items"]
    assert len(letters) == 5
    return [letter["position"] for letter in letters]


def _packet_id(number: int) -> str:
    return f"7f0c2f5d-0f76-4a4c-93d0-f0b2e289173{number}"


def _post(gateway: GatewayBench, **body: Any) -> Any:
    response = gateway.ask("POST", REDRIVE, json=body)
    conforms("POST", REDRIVE, response.status_code, response.json())
    return response.json()


def _facts(gateway: GatewayBench) -> list[dict[str, Any]]:
    record = AUDIT_REDRIVES.record or ""
    records = gateway.bench.records(AUDIT_REDRIVES.name)
    return [decode(each.value or b"", record).value for each in records]


def test_the_newest_comes_first_and_pages_go_on(gateway: GatewayBench, failed: list[str]) -> None:
    whole = gateway.get(LIST)
    conforms("GET", LIST, 200, whole)
    times = [item["at"] for item in whole["items"]]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) == 5
    assert {item["state"] for item in whole["items"]} == {"ready"}
    assert {(item["topic"], item["code"]) for item in whole["items"]} == {
        ("apc.packets", "decide_failed")
    }
    pages: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        page = gateway.get(f"{LIST}?limit=2" + (f"&cursor={cursor}" if cursor else ""))
        pages += page["items"]
        cursor = page["next"]
    assert pages == whole["items"]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("topic=apc.packets", 5),
        ("topic=sap.tasks", 0),
        ("code=decide_failed", 5),
        ("code=schema_unknown", 0),
        ("state=ready", 5),
        ("state=done", 0),
    ],
)
def test_filters(gateway: GatewayBench, failed: list[str], query: str, count: int) -> None:
    assert len(gateway.get(f"{LIST}?{query}")["items"]) == count


def test_an_unknown_topic_or_state_is_refused(gateway: GatewayBench) -> None:
    for query in ("topic=apc.events", "state=lost"):
        assert gateway.ask("GET", f"{LIST}?{query}").json()["rule"] == "query_value"


def test_one_is_shown_whole_by_either_position(gateway: GatewayBench, failed: list[str]) -> None:
    path = f"{LIST}/{{topic}}/{{partition}}/{{offset}}"
    letter = gateway.get(f"{LIST}/{failed[0]}")
    conforms("GET", path, 200, letter)
    raw = base64.b64decode(letter["value"]["raw_base64"])
    assert decode(raw, APC_PACKETS.record or "").value["packet_id"] == _packet_id(4)
    assert gateway.get(f"{LIST}/{letter['source']}") == letter
    assert gateway.ask("GET", f"{LIST}/apc.packets/0/999").status_code == 404


def test_the_summary_counts(gateway: GatewayBench, failed: list[str]) -> None:
    summary = gateway.get(f"{LIST}/summary")
    conforms("GET", f"{LIST}/summary", 200, summary)
    (group,) = summary["items"]
    assert (group["code"], group["count"]) == ("decide_failed", 5)
    assert group["message"].startswith("RuntimeError at test_redrive.py")


def test_a_dry_run_shows_verdicts_and_sends_nothing(
    gateway: GatewayBench, failed: list[str]
) -> None:
    results = _post(gateway, positions=failed[:2], dry_run=True)["results"]
    assert [result["position"] for result in results] == failed[:2]
    assert {result["verdict"]["verdict"] for result in results} == {"accepted"}
    assert {(result["sent"], result["state"]) for result in results} == {(None, "ready")}
    assert _facts(gateway) == []


def test_each_is_sent_once_with_a_fact(gateway: GatewayBench, failed: list[str]) -> None:
    first = _post(gateway, positions=failed[:2], reason="mended")["results"]
    assert all(result["sent"].startswith("apc.packets/") for result in first)
    again = _post(gateway, positions=failed)["results"]
    assert [result["state"] for result in again] == ["done", "done", "ready", "ready", "ready"]
    assert [result["sent"] is None for result in again] == [True, True, False, False, False]
    facts = {fact["dead_letter"]: fact for fact in _facts(gateway)}
    assert sorted(facts) == sorted(failed)
    assert [facts[place]["reason"] for place in failed] == ["mended"] * 2 + [None] * 3
    assert {fact["operator"] for fact in facts.values()} == {"unauthenticated"}
    gateway.bench.host.run()
    assert len(gateway.bench.records("apc.packet-states")) >= 5
    assert {item["state"] for item in gateway.get(LIST)["items"]} == {"done"}


def test_one_that_is_deleted_is_gone(gateway: GatewayBench, failed: list[str]) -> None:
    topic, partition, _ = failed[0].rsplit("/", 2)
    missing = f"{topic}/{partition}/999"
    (result,) = _post(gateway, positions=[missing])["results"]
    assert result == {"position": missing, "state": "gone", "sent": None, "verdict": None}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "/positions"),
        ({"positions": []}, "/positions"),
        ({"positions": ["apc.packets.dlq/0/0"] * 101}, "/positions"),
        ({"positions": "apc.packets.dlq/0/0"}, "/positions"),
        ({"positions": ["apc.packets/0/0"]}, "/positions/0"),
        ({"positions": ["apc.packets.dlq/0/x"]}, "/positions/0"),
        ({"positions": ["apc.packets.dlq/0/0"], "dry_run": 1}, "/dry_run"),
        ({"positions": ["apc.packets.dlq/0/0"], "reason": "x" * 1001}, "/reason"),
        ({"positions": ["apc.packets.dlq/0/0"], "rate": 5}, "/rate"),
        ([], ""),
    ],
)
def test_a_body_of_another_form_is_refused(gateway: GatewayBench, body: Any, path: str) -> None:
    response = gateway.ask("POST", REDRIVE, json=body)
    assert response.status_code == 422
    assert (response.json()["rule"], response.json()["path"]) == ("schema_invalid", path)


@pytest.mark.parametrize("position", ["apc.packets.dlq/99/0", "apc.events.dlq/0/0"])
def test_an_unknown_partition_is_not_found(gateway: GatewayBench, position: str) -> None:
    response = gateway.ask("POST", REDRIVE, json={"positions": [position]})
    assert (response.status_code, response.json()["rule"]) == (404, "not_found")


def test_one_that_is_fenced_says_so(
    gateway: GatewayBench, failed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = gateway.bench
    send = Redrive.send

    def overtaken(self: Redrive, *args: Any) -> Iterator[Any]:
        sending = send(self, *args)
        yield next(sending)
        with Redrive(bench.log, bench.settings, lambda: bench.now):
            yield from sending

    monkeypatch.setattr(Redrive, "send", overtaken)
    response = gateway.ask("POST", REDRIVE, json={"positions": failed})
    assert (response.status_code, response.json()["rule"]) == (409, "redrive_taken")
    monkeypatch.undo()
    states = [result["state"] for result in _post(gateway, positions=failed)["results"]]
    assert states.count("done") == 1
    assert len(_facts(gateway)) == 5


def test_only_operators_may_and_are_named(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = guarded.bench.bench
    with monkeypatch.context() as patch:
        patch.setattr(processor, "_judge", _fail)
        bench.append("apc.packets", idea())  # the worker of this gateway decides it
        wait_for(lambda: bench.records("apc.packets.dlq"), "a dead letter", PATIENCE_S)
    (record,) = bench.records("apc.packets.dlq")
    body = {"positions": [position(record)]}
    for role in (READER, PRODUCER):
        refused = guarded.ask("POST", REDRIVE, guarded.token("someone", role), json=body)
        assert (refused.status_code, refused.json()["rule"]) == (403, "role_missing")
    token = guarded.token("ann", OPERATOR)
    (result,) = guarded.ask("POST", REDRIVE, token, json=body).json()["results"]
    assert result["sent"] is not None
    (fact,) = bench.records(AUDIT_REDRIVES.name)
    assert decode(fact.value or b"", AUDIT_REDRIVES.record or "").value["operator"] == "ann"
