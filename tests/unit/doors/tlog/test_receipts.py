"""Receipts of records over HTTP: each holds by the policy, without the gateway."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from streams.doors.mcp.door import ToolCall, new_door
from streams.doors.mcp.explaining import make_receipt
from streams.gateway.app import make_gateway
from streams.ops.tlog.entries import RecordEntry, parse_entry
from streams.ops.tlog.policy import parse_policy
from streams.ops.tlog.receipt import check_receipt, parse_receipt
from streams.ops.tlog.writer import NOT_PUBLISHED
from tests.unit.doors.tlog.served import ServedLog, get, rule_of
from tests.unit.gateway.test_answers import conforms
from tests.unit.ops.tlog.example_log import KEY, ORIGIN, POLICY
from tests.unit.ops.tlog.logged import EVENTS, PARTITIONS

RECEIPTS = "/v1/audit/receipts"


@pytest.fixture
def served(tmp_path: Path) -> ServedLog:
    return ServedLog(tmp_path)


def receipt_of(http: httpx.AsyncClient, position: str) -> bytes:
    response = get(http, f"{RECEIPTS}/{position}")
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    return response.content


def test_the_receipt_of_each_record_holds(served: ServedLog) -> None:
    for count in (3, 300, 20):
        for tp in PARTITIONS:
            served.logged.write_facts(count, tp)
        served.write(2)
    entries = [entry for entry in map(parse_entry, served.logged.lines()) if entry is not None]
    policy = parse_policy(POLICY.encode())
    with served.gateway() as http:
        for index, entry in enumerate(entries):
            assert isinstance(entry, RecordEntry)
            data = receipt_of(http, entry.position)
            assert check_receipt(data, policy).fault is None
            receipt = parse_receipt(data)
            assert (receipt.entry, receipt.index) == (entry, index)


def test_a_record_without_an_entry(served: ServedLog) -> None:
    served.write(3)
    served.logged.write_facts(2)
    served.write(2)
    with served.gateway() as http:
        for position, expected in (
            ("apc.events/0/3", (404, "record_unknown")),  # the marker of the first transaction
            ("apc.events/0/6", (404, "record_unknown")),  # that of a later one, within a round
            ("apc.events/0/9", (409, "not_logged")),
            ("apc.events/1/0", (409, "not_logged")),
            ("apc.events/x/0", (404, "record_unknown")),
            ("apc.events/0/-1", (404, "record_unknown")),
            ("apc.packets/0/0", (422, "topic_not_covered")),
            ("nothing/0/0", (422, "topic_not_covered")),
        ):
            assert rule_of(get(http, f"{RECEIPTS}/{position}")) == expected, position
        response = get(http, f"{RECEIPTS}/apc.events/0/9?wait=61")
        assert rule_of(response) == (422, "query_value")
        assert get(http, f"{RECEIPTS}/apc.events/0/9").headers["retry-after"] == "1"


def test_a_record_is_not_proved_before_it_is_published(
    served: ServedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.logged.write_facts(3)
    with monkeypatch.context() as patched, served.logged.writer() as writer:
        patched.setattr(writer, "_publish", lambda: NOT_PUBLISHED)
        writer.round()
    with served.gateway() as http:
        path = f"{RECEIPTS}/apc.events/0/1"
        assert rule_of(get(http, path)) == (409, "not_logged")

        async def ask_and_publish() -> httpx.Response:
            waiting = asyncio.create_task(http.get(f"{path}?wait=60"))
            await asyncio.to_thread(served.write, 0)
            return await waiting

        response = asyncio.run(ask_and_publish())
        assert check_receipt(response.content, parse_policy(POLICY.encode())).fault is None


def test_a_proof_names_the_receipt_once_there_is_one(served: ServedLog) -> None:
    served.write(3)
    served.logged.write_facts(1)
    with served.gateway() as http:
        proofs = [get(http, f"/v1/records/apc.events/0/{n}/proof").json() for n in (1, 4)]
        assert [proof["receipt"] for proof in proofs] == [f"{RECEIPTS}/apc.events/0/1", None]
        assert get(http, proofs[0]["receipt"]).status_code == 200
        assert "receipts" in get(http, "/v1/service").json()["features"]


def test_a_proof_has_the_checkpoint_of_the_log(served: ServedLog) -> None:
    served.write(3)
    served.logged.write_facts(1)
    path = "/v1/records/{topic}/{partition}/{offset}/proof"
    with served.gateway() as http:
        sealed, missing = [get(http, f"/v1/records/apc.events/0/{n}/proof").json() for n in (1, 4)]
        conforms("GET", path, 200, sealed)
    assert missing["sealed"] is None
    assert sealed["sealed"].pop("at").startswith("2024-11-24T")
    assert sealed["sealed"] == {
        "index": 1,
        "size": 3,
        "origin": ORIGIN,
        "cosigners": [],
        "signature": "valid",
    }


def test_a_proof_says_that_a_record_is_not_the_one_that_was_logged(served: ServedLog) -> None:
    served.write(3)
    with served.gateway() as http:
        slots = served.logged.log.slots(EVENTS)
        fact = slots[1]
        assert fact is not None
        slots[1] = fact._replace(value=b"forged")
        proof = get(http, "/v1/records/apc.events/0/1/proof").json()
    assert proof["sealed"]["signature"] == "invalid"


def test_the_audit_says_what_the_log_covers(served: ServedLog) -> None:
    served.write(3)
    served.logged.write_facts(2)
    with served.gateway() as http:
        body = get(http, "/v1/audit").json()
        conforms("GET", "/v1/audit", 200, body)
    covered, *others = body["partitions"]
    assert (covered["topic"], covered["sealed_to"], covered["unsealed"]) == ("apc.events", 3, 2)
    assert (covered["key_id"], covered["signature"]) == (KEY.id, "valid")
    assert {each["sealed_to"] for each in others} == {None}


def ask_tool(served: ServedLog, position: str) -> dict[str, Any]:
    """Return what the tool `receipt` of MCP answers."""
    with served.view(served.settings) as view:
        gateway = make_gateway(served.settings, served.logged.log, view, served.logged.tick)
        try:
            call = ToolCall(new_door(gateway, lambda: b""), {"position": position}, {})
            body: dict[str, Any] = asyncio.run(make_receipt(call))["structuredContent"]
        finally:
            gateway.stop()
    return body


def test_the_tool_of_mcp_gives_the_receipt(served: ServedLog) -> None:
    served.write(3)
    served.logged.write_facts(1)
    body = ask_tool(served, "apc.events/0/1")
    assert body["receipt"] == f"{RECEIPTS}/apc.events/0/1"
    assert check_receipt(body["proof"].encode(), parse_policy(POLICY.encode())).fault is None
    assert parse_receipt(body["proof"].encode()).entry.position == "apc.events/0/1"
    assert ask_tool(served, "apc.events/0/4")["proof"] is None


def test_without_a_policy_there_are_no_receipts(served: ServedLog) -> None:
    served.write(3)
    with served.gateway(tlog_policy=None) as http:
        for topic in (EVENTS.topic, "apc.packets"):
            assert rule_of(get(http, f"{RECEIPTS}/{topic}/0/0")) == (404, "tlog_off")
        assert get(http, "/v1/records/apc.events/0/1/proof").json()["receipt"] is None
        assert "receipts" not in get(http, "/v1/service").json()["features"]
