"""packet-transfer-arbitrate and packet-evaluate, which need no log."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streams.errors import InvalidInput
from streams.protocols.apc.queries.trial import arbitrate, evaluate
from streams.settings import Settings
from tests.unit.envelopes import changed, idea, packet_id
from tests.unit.protocols.apc.queries.facts import METRICS, evaluation, transfer
from tests.unit.views.bench import START_MS, Bench

SETTINGS = Settings()


def arbitrated(*packets: Any, top_k: int = 2, settings: Settings = SETTINGS) -> Any:
    answer = arbitrate(list(packets), top_k, START_MS, settings)
    lists = [answer["selected"], answer["not_selected"], answer["rejected"]]
    assert sum(map(len, lists)) == answer["input_count"] == len(packets)
    assert answer["valid_transfer_count"] == len(lists[0] + lists[1])
    assert answer["selected_count"] == len(lists[0])
    return answer


def reason(packet: Any, **settings: Any) -> str:
    answer = arbitrated(packet, settings=Settings(**settings))
    (rejected,) = answer["rejected"]
    text: str = rejected["reason"]
    return text


def test_transfers_are_ranked_by_their_selection_score() -> None:
    answer = arbitrated(
        transfer(1, payload__sender_score=0.85),
        transfer(2, payload__sender_score=0.95),
        transfer(3, payload__sender_score=0.85),
    )
    assert [row["packet_id"] for row in answer["selected"]] == [packet_id(2), packet_id(1)]
    assert [row["packet_id"] for row in answer["not_selected"]] == [packet_id(3)]
    assert answer["selected"][1] == {
        "packet_id": packet_id(1),
        "to_swarm": "swarm-b",
        "selector": "SELECTIVE_IMPORT",
        "selection_score": 0.335,
        "sender_score": 0.85,
        "receiver_score": 0.7,
        "score_delta": 0.15,
        "recommended_accept": True,
    }


@pytest.mark.parametrize(("top_k", "selected"), [(-3, 0), (0, 0), (1, 1), (5, 2)])
def test_top_k(top_k: int, selected: int) -> None:
    answer = arbitrated(transfer(1), transfer(2), top_k=top_k)
    assert (answer["selected_count"], answer["top_k"]) == (selected, top_k)


def test_each_item_that_is_no_packet_says_why() -> None:
    answer = arbitrated("x", None, {}, transfer(1, packet_id="X"), idea(1))
    rows = [(row["index"], row.get("packet_id", "left out")) for row in answer["rejected"]]
    assert rows == [
        (1, "left out"),
        (2, "left out"),
        (3, None),
        (4, "X"),
        (5, packet_id(1)),
    ]
    reasons = [row["reason"] for row in answer["rejected"]]
    assert reasons[0] == reasons[1] == "packet must be an object"
    assert reasons[2].startswith("validation_error: member_missing: /")
    assert reasons[3].startswith("validation_error: format_uuid: /packet_id: ")
    assert reasons[4] == "packet_type_not_transfer:IDEA"


def test_a_long_reason_is_cut() -> None:
    assert len(reason({**transfer(1), "x" * 900: 1})) == 500


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"run_phase": "RESEARCH"}, "phase_type"),
        ({"metadata": {"anti_drift": {"ci_verifiable": False}}}, "drift_check_failed"),
        ({"lineage__protocol_id": "py"}, "lineage_mismatch"),
        ({"trace__generation": 10}, "generation_disabled"),
        ({"payload__sender_score": 0.84}, "score_below_window"),
        ({"payload__transfer_policy__top_k": ...}, "top_k_missing"),
        ({"payload__transfer_policy__top_k": 3}, "top_k_over_limit"),
        ({"lineage__cross_use_case": True}, "cross_use_case_not_allowed"),
        ({"run_phase": "PROMOTION"}, "phase_guard_mode"),
        ({"trace__generation": 21, "payload__sender_score": 0.84}, "phase_guard_score"),
        ({"payload__transfer_policy__min_generation": 15}, "min_generation"),
        ({"payload__transfer_policy__threshold_multiplier": 1.25}, "threshold_multiplier"),
    ],
)
def test_every_rule_that_needs_no_state_refuses(changes: dict[str, Any], rule: str) -> None:
    assert reason(transfer(1, **changes)).startswith(f"policy_reject: {rule}: ")


def test_drift_checks_may_be_demanded() -> None:
    reason_text = reason(transfer(1), apc_require_anti_drift=True)
    assert reason_text.startswith("policy_reject: drift_check_missing: ")


def test_repeats_of_a_packet() -> None:
    first = transfer(1, packet_id="ABCDEF00-0000-4000-8000-000000000001")
    refused = changed({**first}, run_phase="RESEARCH")
    answer = arbitrated(refused, first, {**first, "packet_id": first["packet_id"].lower()})
    assert [row["packet_id"] for row in answer["selected"]] == [first["packet_id"].lower()]
    assert [row["reason"].partition(":")[0] for row in answer["rejected"]] == [
        "policy_reject",
        "duplicate_packet_id",
    ]


def test_created_at_may_be_absent() -> None:
    assert arbitrated(transfer(1, created_at=...))["selected_count"] == 1


@pytest.mark.parametrize("value", [3, "x", None, {}, {"packets": {}}, {"packet": []}])
def test_without_a_list_there_is_nothing_to_arbitrate(value: Any) -> None:
    with pytest.raises(InvalidInput):
        arbitrate(value, 2, START_MS, SETTINGS)


def post(bench: Bench, path: str, body: Any, query: str = "") -> tuple[int, Any]:
    answer = bench.routes.handle("POST", path, query, {}, body)
    return answer.status, answer.body


def test_arbitration_over_http(bench: Bench) -> None:
    body = json.dumps({"packets": [transfer(1), transfer(2)]}).encode()
    status, answer = post(bench, "/v1/apc/arbitrate", body, "top_k=-1")
    assert (status, answer["top_k"], answer["selected_count"]) == (200, -1, 0)
    assert post(bench, "/v1/apc/arbitrate", [transfer(1)])[1]["selected_count"] == 1
    for bad, query in ((b"{", ""), (b"3", ""), (None, ""), ([], "top_k=x"), ([], "limit=1")):
        assert post(bench, "/v1/apc/arbitrate", bad, query)[0] == 422


GOOD = {**dict.fromkeys(METRICS, 1), "drift_risk": 0.3}


def test_metrics_that_meet_the_gates() -> None:
    answer = evaluate(GOOD, START_MS, SETTINGS)
    assert (answer["promotable"], answer["pass"], answer["pass_agrees"]) == (True, None, None)
    assert [check["metric"] for check in answer["gates"]["checks"]] == [
        *("rtf", "stability", "audit", "outcome", "learnability", "generalization_ratio"),
        "drift_risk",
    ]
    assert evaluate({"metric_set": GOOD}, START_MS, SETTINGS) == answer


@pytest.mark.parametrize(
    "metrics", [{**GOOD, "outcome": 0.49}, {**GOOD, "drift_risk": 0.31}, {"rtf": 1}, {}]
)
def test_metrics_that_do_not(metrics: Any) -> None:
    assert not evaluate(metrics, START_MS, SETTINGS)["promotable"]


@pytest.mark.parametrize(
    ("value", "rule", "path"),
    [
        ({**GOOD, "rtf": 2}, "number_range", "/rtf"),
        ({**GOOD, "rtf": "1"}, "member_type", "/rtf"),
        ({**GOOD, "speed": 1}, "member_unknown", "/speed"),
        ({**GOOD, "rtf": None}, "member_type", "/rtf"),
        ({"metric_set": 3}, "member_type", ""),
        (3, "json_invalid", ""),
        ([], "json_invalid", ""),
        ({"packet_type": "EVAL"}, "member_missing", "/channel"),
        (idea(), "enum_value", "/packet_type"),
    ],
)
def test_what_is_no_evaluation(value: Any, rule: str, path: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        evaluate(value, START_MS, SETTINGS)
    assert caught.value.problems[0][:2] == (rule, path)


def test_a_packet_whose_pass_disagrees() -> None:
    packet = evaluation(1, 0.9, 0.1, created_at=...)
    packet["payload"]["thresholds"]["outcome"] = 0.95
    answer = evaluate(packet, START_MS, SETTINGS)
    assert (answer["promotable"], answer["pass"], answer["pass_agrees"]) == (True, True, False)


def test_evaluation_over_http(bench: Bench) -> None:
    assert post(bench, "/v1/apc/evaluate", json.dumps(GOOD).encode())[1]["promotable"]
    assert post(bench, "/v1/apc/evaluate", {})[0] == 200
    assert post(bench, "/v1/apc/evaluate", b"nonsense")[0] == 422
