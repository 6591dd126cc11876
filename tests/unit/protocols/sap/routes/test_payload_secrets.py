"""Secrets in the payloads of tasks: refused at the edge and on the log, by place and kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.masking.examples import examples_of
from streams.masking.rules import ALL, Rule
from streams.masking.shapes import NO_SHAPE
from streams.processing.ingress import check
from streams.protocols.sap.ingress import TASK
from streams.protocols.sap.payload_secrets import FoundSecret, find_secret
from streams.replay.violations import ViolationKind
from streams.settings import Settings
from streams.verify.run import verify
from tests.unit.gateway.bench import GatewayBench
from tests.unit.protocols.sap.processor.support import START_MS, Bench, Json, task
from tests.unit.views.bench import Bench as ViewBench
from topology.sap import SAP_ACKS, SAP_TASKS

KEY = "AKIA" + "A1" * 8
SHAPES = [rule for rule in ALL if rule.name not in NO_SHAPE]
WITHOUT_SHAPE = [rule for rule in ALL if rule.name in NO_SHAPE]
PATHS = [
    ({"key": KEY}, "/payload/key"),
    ({"a": [1, {"b/c": f"the key is {KEY}, as said"}]}, "/payload/a/1/b~1c"),
    ({"a": {KEY: 1}}, "/payload/a"),
    ({"a": {"b": {KEY: KEY}}}, "/payload/a/b"),
    ({KEY: {"b": KEY}}, "/payload"),
]


def with_payload(payload: Json) -> Json:
    return {**task(), "payload": payload}


@pytest.mark.parametrize(("payload", "path"), PATHS)
def test_a_secret_is_found_at_any_depth_and_its_text_is_never_named(
    payload: Json, path: str
) -> None:
    value = with_payload(payload)
    assert find_secret(value) == FoundSecret(path, "aws_key")
    _, problems = check(TASK, value, START_MS, Settings())
    assert [(problem.rule, problem.path) for problem in problems] == [("payload_secret", path)]
    ack = Bench().task(value)
    assert (ack["rule"], ack["code"], ack["fault"]) == ("payload_secret", "INVALID_TASK", "sender")
    assert [(error["rule"], error["path"]) for error in ack["errors"]] == [("payload_secret", path)]
    assert "aws_key" in ack["reason"]
    assert KEY not in str(ack) + str(problems)


@pytest.mark.parametrize("rule", SHAPES, ids=lambda rule: rule.name)
def test_every_shape_of_a_token_is_refused(rule: Rule) -> None:
    for example in examples_of(rule):
        if example.text != example.masked:
            assert find_secret(with_payload({"text": example.text})) is not None


@pytest.mark.parametrize("rule", WITHOUT_SHAPE, ids=lambda rule: rule.name)
def test_what_only_a_name_makes_a_secret_is_accepted(rule: Rule) -> None:
    payload = {"note": "password: hunter2hunter2", "auth": "Bearer abcdefg1", "rule": rule.name}
    assert Bench().task(with_payload(payload))["rule"] == "accepted"


@given(
    st.recursive(st.none() | st.integers(0, 9) | st.text("ab ", max_size=5), st.lists), st.data()
)
def test_a_secret_among_other_values_is_found_and_without_it_there_is_none(
    value: Any, data: st.DataObject
) -> None:
    payload = {"value": value}
    assert find_secret(with_payload(payload)) is None
    name = data.draw(st.sampled_from(["a", "z"]))
    assert find_secret(with_payload({name: KEY, **payload})) == FoundSecret(
        f"/payload/{name}", "aws_key"
    )


def test_a_policy_may_only_warn() -> None:
    value = with_payload({"key": KEY})
    _, problems = check(TASK, value, START_MS, Settings(sap_payload_secrets="warn"))
    assert problems == []
    ack = Bench(sap_payload_secrets="warn").task(value)
    assert (ack["rule"], ack["warnings"]) == ("accepted", ["payload_secret_suspected"])
    assert Bench(sap_payload_secrets="warn").task()["warnings"] == []


def test_a_task_with_a_secret_leaves_no_row_and_its_id_is_free() -> None:
    bench = Bench()
    assert bench.task(with_payload({"key": KEY}))["rule"] == "payload_secret"
    assert (bench.stored(), bench.outcomes(), bench.moves()) == ({}, [], [])
    assert bench.task()["rule"] == "accepted"


def test_the_gateway_refuses_before_anything_is_produced(gateway: GatewayBench) -> None:
    answer = gateway.ask("POST", "/v1/sap/tasks", json=[with_payload({"key": KEY})])
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["rule"] == "payload_secret"
    assert KEY not in answer.text
    assert gateway.bench.records(SAP_TASKS.name) == []


def test_refusals_are_derived_again_and_what_was_accepted_before_stays(tmp_path: Path) -> None:
    settings = Settings(partitions=2)
    warning = replace(settings, sap_payload_secrets="warn")
    for deciding, other, findings in (
        (warning, settings, {}),
        (settings, warning, {ViolationKind.NOT_BORNE_OUT: 1}),
    ):
        folder = tmp_path / deciding.sap_payload_secrets
        bench = ViewBench(folder, sap_payload_secrets=deciding.sap_payload_secrets)
        bench.settings = warning  # those of an edge that lets it through
        bench.send(SAP_TASKS.name, with_payload({"key": KEY}))
        assert len(bench.records(SAP_ACKS.name)) == 1
        assert verify(bench.log, deciding, folder / "same").clean
        assert verify(bench.log, other, folder / "other").findings.counts == findings
        bench.close()
