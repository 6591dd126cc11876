"""What a refusal is called: NACK code, HTTP status and fault of every rule (SAP guide, 3.2)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from schemas import sap
from schemas.rules import Stage
from schemas.sap import rules
from streams.protocols.sap.processor.authorization import bind
from tests.unit.protocols.sap.processor.support import Bench, Json, result, signal, task, uuid
from topology.sap import SAP_RESULTS, SAP_SIGNALS, SAP_TASKS

SPEC = """
task_id_conflict     UNPROCESSABLE 409
payload_secret       INVALID_TASK  422
signal_id_conflict   UNPROCESSABLE 409
task_closed          UNPROCESSABLE 409
illegal_transition   UNPROCESSABLE 409
not_dispatched       UNPROCESSABLE 409
signal_repeated      UNPROCESSABLE 409
signal_too_early     UNPROCESSABLE 409
correlation_mismatch UNPROCESSABLE 422
unknown_task         NOT_FOUND     404
unauthorized         UNAUTHORIZED  401
forbidden            FORBIDDEN     403
producer_mismatch    FORBIDDEN     403
self_rating          FORBIDDEN     403
not_issuer           FORBIDDEN     403
rate_limited         RATE_LIMIT    429
"""
TABLE = {code: (nack, int(status)) for code, nack, status in map(str.split, SPEC.split("\n")[1:-1])}
DOOR = b'[[allow]]\ncapability = "report.*"\nagents = ["A-prime"]'


def begun() -> Bench:
    bench = Bench()
    bench.task()
    return bench


def ended() -> Bench:
    bench = begun()
    bench.result(result("SUCCEEDED"))
    return bench


def rated() -> Bench:
    bench = ended()
    bench.signal(signal("rating"))
    return bench


def crowded() -> Bench:
    bench = Bench(sap_rate=Decimal(1))
    bench.task(task(taskId=uuid(1)))
    return bench


def asking() -> Bench:
    bench = Bench()
    bench.task(task("prefer"))
    return bench


CASES: dict[str, tuple[Callable[[], Bench], str, Json]] = {
    "task_id_conflict": (begun, "task", task(tags=["x"])),
    "payload_secret": (Bench, "task", task(payload={"key": "AKIA" + "A1" * 8})),
    "rate_limited": (crowded, "task", task()),
    "unknown_task": (Bench, "result", result()),
    "correlation_mismatch": (begun, "result", result(correlationId=uuid(1))),
    "task_closed": (ended, "result", result("FAILED")),
    "illegal_transition": (begun, "result", result("PARTIAL")),
    "not_dispatched": (asking, "result", result()),
    "signal_id_conflict": (rated, "signal", signal("rating", rating=1)),
    "signal_repeated": (rated, "signal", signal("rating", signalId=uuid(2))),
    "signal_too_early": (begun, "signal", signal("rating")),
    "self_rating": (ended, "signal", signal("rating", operator={"agentId": "A-ml-001"})),
    "not_issuer": (begun, "signal", signal("cancel", operator={"agentKind": "agent"})),
}


def door(bench_settings: Path) -> Bench:
    bench_settings.write_bytes(DOOR)
    bind(bench_settings)
    return Bench(sap_authorization=bench_settings)


@pytest.mark.parametrize("rule", TABLE)
def test_the_table(rule: str) -> None:
    assert (sap.nack_code(rule, "RESULT"), sap.http_status(rule)) == TABLE[rule]


@pytest.mark.parametrize("rule", CASES)
def test_a_refusal_as_the_table_has_it(rule: str) -> None:
    make, kind, value = CASES[rule]
    bench = make()
    topic = {"task": SAP_TASKS, "result": SAP_RESULTS, "signal": SAP_SIGNALS}[kind]
    ack = bench.send(topic, value)
    assert (ack["status"], ack["verdict"], ack["rule"]) == ("NACK", "rejected", rule)
    assert (ack["code"], ack["fault"]) == (TABLE[rule][0], "sender")
    assert ack["reason"]
    assert [error["rule"] for error in ack["errors"]] == [rule]
    assert ack["errors"][0]["path"].startswith("/")
    assert (ack["retryAfterMs"] is not None) == (rule == "rate_limited")
    assert (ack["accepted"], ack["warnings"]) == (None, [])


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("unauthorized", task(issuer={"agentId": "B"})),
        ("forbidden", task(target={"capability": "other"})),
    ],
)
def test_a_closed_door_as_the_table_has_it(rule: str, value: Json, tmp_path: Path) -> None:
    ack = door(tmp_path / "issuers.toml").task(value)
    assert (ack["rule"], ack["code"], ack["fault"]) == (rule, TABLE[rule][0], "sender")


def test_another_agents_result_as_the_table_has_it() -> None:
    bench = begun()
    bench.result(result("RUNNING"))
    ack = bench.result(result("SUCCEEDED", producer={"agentId": "B"}))
    assert (ack["rule"], ack["code"]) == ("producer_mismatch", TABLE["producer_mismatch"][0])


def test_every_rule_that_the_processor_decides_by_is_here() -> None:
    deciding = {rule.code for rule in rules.ALL if rule.stage in (Stage.LOG, Stage.POLICY)}
    elsewhere = {
        "key_mismatch", "partition_mismatch", "accepted", "duplicate",
        "unknown_destination", "destination_unavailable", "no_handler",
    }  # fmt: skip
    assert deciding - elsewhere == set(TABLE)
    assert {*CASES, "unauthorized", "forbidden", "producer_mismatch"} == set(TABLE)


@pytest.mark.parametrize(
    ("kind", "code"),
    [("task", "INVALID_TASK"), ("result", "UNPROCESSABLE"), ("signal", "UNPROCESSABLE")],
)
@pytest.mark.parametrize("how", ["shape", "key"])
def test_what_is_no_envelope(kind: str, code: str, how: str) -> None:
    bench = Bench()
    value = {"task": task(), "result": result(), "signal": signal()}[kind]
    topic = {"task": SAP_TASKS, "result": SAP_RESULTS, "signal": SAP_SIGNALS}[kind]
    if how == "shape":
        ack = bench.send(topic, {**value, "protocolVersion": "1"})
        assert ack["rule"] == "bad_version"
    else:
        ack = bench.send(topic, value, key="other")
        assert ack["rule"] == "key_mismatch"
    assert (ack["code"], ack["fault"], sap.http_status(ack["rule"])) == (code, "sender", 422)
