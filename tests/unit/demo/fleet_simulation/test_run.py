"""The run on the in-memory log, held against what it means and against a count of its facts."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.apc import rules
from schemas.rules import Stage
from streams.demo.fleet_simulation import ENDS, PROTOCOLS, Run
from streams.protocols.apc.lineage.effectiveness import round_figure
from streams.routes.handle import Routes

pytestmark = pytest.mark.slow


def get(routes: Routes, path: str, query: str = "") -> Any:
    answer = routes.handle("GET", path, query)
    assert answer.status == 200, answer.body
    return answer.body


def test_every_packet_was_decided_by_the_rule_it_was_made_for(done: Run) -> None:
    assert done.surprises() == []
    assert done.account.rules.total() == len(done.story.packets)


def test_every_policy_rule_occurs(done: Run) -> None:
    """But that of CONVERGENCE on top_k, as the windows come first, that on empty proofs, and that
    on the steps of agents, which the policy does not demand.
    """
    policy = {rule.code for rule in rules.ALL if rule.stage is Stage.POLICY}
    assert "protocol_decayed" in policy
    absent = {rule.code for rule in (rules.PHASE_GUARD_TOP_K, rules.PROOF_EMPTY, rules.AGENT_STATE)}
    assert policy - set(done.account.rules) == absent


def test_everything_else_that_can_become_of_packets_occurs(done: Run) -> None:
    assert done.account.seen.keys() >= {
        "delivered", "verified", "retracted", "recipient_refused", "ack_deferred",
        "evaluated_fail", "superseded", "outcome_kept", "ttl_expired",
    }  # fmt: skip
    promoted = {fact["packet_type"] for fact in done.account.promoted()}
    assert promoted == {"EVAL", "DECISION"}
    assert done.arbitrations > 50


def test_total_rows_are_what_a_count_of_the_facts_gives(done: Run) -> None:
    totals = done.account.totals()
    assert totals.keys() == done.standings.keys() == {protocol.name for protocol in PROTOCOLS}
    for name, sums in totals.items():
        row = done.standings[name][-1].row
        assert {member: row[member] for member in sums._fields} == sums._asdict()
        assert row["effectiveness_score"] == round_figure(sums.score)


def test_the_effectiveness_query_agrees_with_the_total_rows(done: Run, routes: Routes) -> None:
    items = get(routes, "/v1/lineage/effectiveness")["items"]
    assert {item["protocol_id"] for item in items} == done.standings.keys()
    for item in items:
        row = get(routes, f"/v1/apc/protocols/{item['protocol_id']}")
        assert row == done.standings[item["protocol_id"]][-1].row
        pairs = (("transfer_count", "transfers"), ("accepted_count", "accepted"))
        same = (("run_count", "run_count"), ("task_count", "tasks"))
        means = (("avg_outcome", "avg_outcome"), ("avg_drift_risk", "avg_drift_risk"))
        for column, member in (*pairs, *same, *means):
            assert item[column] == row[member], (item, row)


def test_the_summary_agrees_with_the_facts(done: Run, routes: Routes) -> None:
    report = get(routes, "/v1/lineage/summary", f"run_id={done.story.run_id}")
    totals = done.account.totals()
    assert report["summary"]["transfer_count"] == sum(sums.packets for sums in totals.values())
    assert report["summary"]["arbitration_decision_count"] == done.arbitrations
    scores = {r["protocol_id"]: r["effectiveness_score"] for r in report["protocol_effectiveness"]}
    assert scores == {name: round_figure(sums.score) for name, sums in totals.items()}


def test_three_protocols_decay_and_one_recovers(done: Run) -> None:
    blocked = {name: known[-1].row["blocked_reasons"] for name, known in done.standings.items()}
    assert {name: reasons for name, reasons in blocked.items() if reasons} == {
        "greedy-merge": ["drift_above_threshold"],
        "majority-vote": ["effectiveness_below_threshold"],
        "prompt-cascade": ["effectiveness_below_threshold"],
    }
    blind = [d["decay"] for _, d in done.decays if d["protocol_id"] == "blind-distill"]
    assert [(d["blocked"], d["reasons"]) for d in blind] == [
        (True, ["drift_unmeasured"]),
        (False, []),
    ]


@pytest.mark.parametrize("use_case", ENDS)
def test_sessions_end_as_the_story_says(use_case: str, done: Run, routes: Routes) -> None:
    session = done.story.sessions[use_case]
    row = get(routes, f"/v1/apc/sessions/{session}/coordination")["inter"]
    assert row["state"] == ENDS[use_case]


def test_a_refusal_on_the_line_would_have_passed_above_it(done: Run, routes: Routes) -> None:
    refused = [f for f in done.account.verdicts.values() if f["rule"] == "score_below_window"]
    for fact in refused:
        path = f"/v1/apc/sessions/{fact['session_id']}/packets/{fact['packet_id']}/explain"
        explanation = get(routes, path, "sender_score=0.85")
        assert explanation["throttle"]["decided_by"] == explanation["rule"] == "score_below_window"
        assert explanation["counterfactual"]["passes"]
