"""Tests of proofs over HTTP: a fact that follows again, and the checkpoint over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas import decode, encode
from streams.engine.records import LogRecord, Output, TopicPartition, position
from streams.ops.audit import AuditWriter, new_pair, public_path, signer
from tests.processes import wait_for
from tests.unit.envelopes import idea
from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.test_answers import conforms
from topology.apc import APC_EVENTS
from topology.core import AUDIT_CHECKPOINTS, AUDIT_REDRIVES

CHECKPOINT = AUDIT_CHECKPOINTS.record or ""


class Audited:
    """A gateway that knows an auditor's public key, and the auditor."""

    def __init__(self, gateway: GatewayBench, key: Path) -> None:
        self.gateway, self.bench, self._key = gateway, gateway.bench, key

    def seal(self) -> None:
        with AuditWriter(
            self.bench.log, self.gateway.settings, signer(self._key), self.bench.tick
        ) as writer:
            writer.read()
            writer.seal()
        self.wait_for_view()

    def wait_for_view(self) -> None:
        wait_for(lambda: self.gateway.view.status().lag == 0, "the view has read everything")
        response = self.gateway.ask("GET", "/v1/apc/packets?limit=1&fresh=true")
        assert response.status_code == 200, response.text

    def fact(self, number: int = 0) -> LogRecord:
        return self.bench.records(APC_EVENTS.name)[number]

    def proof(self, fact: LogRecord) -> Any:
        path = f"/v1/records/{position(fact)}/proof"
        body = self.gateway.get(path)
        conforms("GET", path, 200, body)
        return body

    def replace(self, record: LogRecord, value: bytes) -> None:
        """Change a record on the log, as only who has its files can."""
        tp = TopicPartition(record.topic, record.partition)
        self.bench.log.slots(tp)[record.offset] = record._replace(value=value)


@pytest.fixture
def audited(tmp_path: Path) -> Iterator[Audited]:
    key = tmp_path / "auditor.pem"
    new_pair(key)
    with GatewayBench(tmp_path / "gateway", audit_public_key=public_path(key)) as gateway:
        gateway.send("/v1/apc/packets", idea(1), idea(2))
        yield Audited(gateway, key)


def test_a_fact_is_derived_again_and_not_sealed_before_the_audit(audited: Audited) -> None:
    fact = audited.fact()
    body = audited.proof(fact)
    assert body["position"] == position(fact)
    assert (body["recorded"], body["sealed"], body["receipt"]) == (True, None, None)
    assert body["rederived"]["outcome"] == "holds"


def test_a_checkpoint_seals_what_it_covers(audited: Audited) -> None:
    first, second = audited.fact(0), audited.fact(1)
    audited.seal()
    sealed = audited.proof(first)["sealed"]
    assert (sealed["signature"], sealed["records"], sealed["sequence"]) == ("valid", "match", 1)
    assert sealed["from"] <= first.offset < sealed["to"]
    audited.gateway.send("/v1/apc/packets", idea(3))
    later = audited.fact(-1)
    assert audited.proof(later)["sealed"] is None
    audited.seal()
    following = audited.proof(later)["sealed"]
    assert (following["sequence"], following["from"]) == (2, sealed["to"])
    assert (following["signature"], following["records"]) == ("valid", "match")
    assert audited.proof(second)["sealed"] == sealed


def test_a_changed_fact_is_no_longer_sealed(audited: Audited) -> None:
    fact = audited.fact()
    audited.seal()
    value = decode(fact.value, APC_EVENTS.record or "").value
    audited.replace(fact, encode(APC_EVENTS.record or "", {**value, "packet_hash": "0" * 64}))
    body = audited.proof(fact)
    assert body["rederived"]["outcome"] == "differs"
    assert (body["sealed"]["signature"], body["sealed"]["records"]) == ("invalid", "differ")
    assert audited.proof(audited.fact(1))["sealed"]["signature"] == "invalid"


def test_a_forged_checkpoint_is_invalid_and_hides_no_valid_one(audited: Audited) -> None:
    audited.seal()
    audited.gateway.send("/v1/apc/packets", idea(3))
    fact = audited.fact(-1)
    forged = {
        "topic": fact.topic,
        "partition": fact.partition,
        "sequence": 1,
        "start": 0,
        "offset": fact.offset + 1,
        "records": 1,
        "running_sha256": "0" * 64,
        "previous_sha256": "0" * 64,
        "at": audited.bench.now,
        "key_id": "0" * 16,
        "signature": "AAAA",
    }
    key = f"{fact.topic}/{fact.partition}".encode()
    outputs = [
        Output(AUDIT_CHECKPOINTS.name, key, encode(CHECKPOINT, forged)),
        Output(AUDIT_CHECKPOINTS.name, key, b"no checkpoint"),
    ]
    audited.bench.log.append(outputs)
    audited.wait_for_view()
    assert audited.proof(fact)["sealed"]["signature"] == "invalid"
    audited.seal()
    assert audited.proof(fact)["sealed"]["signature"] == "valid"


def test_without_a_key_nothing_is_checked(tmp_path: Path) -> None:
    key = tmp_path / "auditor.pem"
    new_pair(key)
    for number, public_key in enumerate((None, tmp_path / "none.pub")):
        with GatewayBench(tmp_path / str(number), audit_public_key=public_key) as gateway:
            gateway.send("/v1/apc/packets", idea(1))
            audited = Audited(gateway, key)
            audited.seal()
            sealed = audited.proof(audited.fact())["sealed"]
            assert (sealed["signature"], sealed["records"]) == ("not_checked", "not_checked")


def test_only_facts_are_proven(audited: Audited) -> None:
    def rule(path: str) -> tuple[int, str]:
        answer = audited.gateway.ask("GET", f"/v1/records/{path}/proof")
        return answer.status_code, answer.json()["rule"]

    command = audited.gateway.send("/v1/apc/packets", idea(9))
    fact = audited.fact()
    assert rule(command) == (422, "not_a_fact")
    assert rule(f"{fact.topic}/{fact.partition}/999") == (404, "record_unknown")
    assert rule("headrace.changelog/0/0") == (403, "topic_internal")


def test_the_audit_shows_what_is_not_sealed(audited: Audited) -> None:
    def of_events(body: Any) -> dict[str, int]:
        rows = [row for row in body["partitions"] if row["topic"] == APC_EVENTS.name]
        return {str(row["sealed_to"]): row["unsealed"] for row in rows}

    body = audited.gateway.get("/v1/audit")
    conforms("GET", "/v1/audit", 200, body)
    assert body["redrives"] == []
    assert sum(of_events(body).values()) == 2
    audited.seal()
    wait_for(
        lambda: not sum(row["unsealed"] for row in audited.gateway.get("/v1/audit")["partitions"]),
        "everything is sealed",
    )
    body = audited.gateway.get("/v1/audit")
    signatures = {row["signature"] for row in body["partitions"] if row["sealed_to"] is not None}
    assert signatures == {"valid"}


def test_the_newest_redrives_come_first(audited: Audited) -> None:
    record = AUDIT_REDRIVES.record or ""
    for number in range(103):
        redrive = {
            "redrive_id": str(number),
            "dead_letter": f"apc.packets.dlq/0/{number}",
            "source": f"apc.packets/0/{number}",
            "topic": "apc.packets",
            "record_key": None,
            "value_sha256": "0" * 64,
            "code": "schema_unknown",
            "operator": "ops",
            "reason": None,
            "at": audited.bench.tick(),
        }
        audited.bench.log.append(
            [Output(AUDIT_REDRIVES.name, str(number).encode(), encode(record, redrive))]
        )
    body = audited.gateway.get("/v1/audit")
    conforms("GET", "/v1/audit", 200, body)
    assert [row["redrive_id"] for row in body["redrives"]] == [str(n) for n in range(102, 2, -1)]
