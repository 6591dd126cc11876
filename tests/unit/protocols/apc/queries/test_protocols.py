"""Lineage, decisions, throttling and coordination over a view that follows the processors."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import decode, encode, to_json
from streams.engine.records import Output
from tests.examples import example_count
from tests.unit.envelopes import idea, packet_id
from tests.unit.protocols.apc.queries import brute
from tests.unit.protocols.apc.queries.facts import bearing, evaluation, transfer
from tests.unit.views.bench import Bench

LINEAGE = "/v1/lineage/"


def retraction(number: int, target: int, **changes: Any) -> dict[str, Any]:
    payload = {"target_packet_id": packet_id(target), "reason": "leakage"}
    members = {"packet_type": "RETRACTION", "run_phase": "VALIDATION", "payload": payload}
    return idea(number, **{**members, "routing__requires_ack": False, **changes})


def arbitration(number: int, *refs: str, **changes: Any) -> dict[str, Any]:
    candidates = [
        {"candidate_id": name, "packet_ref_ids": ids, "score_components": {}, "total_score": 0.5}
        for name, ids in (("c1", list(refs)), ("c2", []))
    ]
    payload = {
        "arbitration_id": f"arb-{number}",
        "winner_candidate_id": "c1",
        "candidates": candidates,
        "scoring": {},
    }
    members = {"packet_type": "ARBITRATION", "run_phase": "ARBITRATION", "payload": payload}
    return idea(number, **{**members, "routing__requires_ack": False, **changes})


def items(bench: Bench, path: str, query: str = "") -> Any:
    return bench.look(path, query)["items"]


def story(rnd: random.Random, count: int) -> list[dict[str, Any]]:
    """Packets of two sessions that are accepted, some of which are retracted later."""
    packets: list[dict[str, Any]] = []
    for number in range(1, count + 1):
        ids = {
            "trace__session_id": rnd.choice(["s1", "s2"]),
            "trace__run_id": rnd.choice(["r1", "r2"]),
            "trace__task_id": rnd.choice(["t1", "t2"]),
        }
        kind = rnd.randrange(5)
        if kind == 0 and packets:
            target = rnd.choice(packets)
            ids["trace__session_id"] = target["trace"]["session_id"]
            packets.append(retraction(number, int(target["packet_id"][-12:]), **ids))
        elif kind == 1:
            drift = rnd.choice([None, 0.2, 0.9])
            packets.append(evaluation(number, rnd.choice([0.3, 0.9]), drift, **ids))
        elif kind == 2:
            packets.append(bearing(number, **ids))
        else:
            packet = transfer(number, rnd.choice(["px", "py", "pz"]), **ids)
            packet["payload"]["accepted"] = rnd.random() < 0.6
            packet["payload"]["to_swarm"] = rnd.choice(["swarm-b", "swarm-c", "swarm-d"])
            packets.append(packet)
    return packets


@settings(max_examples=example_count(8), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_effectiveness_agrees_with_the_rows_of_the_processor(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bench = Bench(tmp_path_factory.mktemp("bench"))
    for packet in story(random.Random(seed), 60):
        bench.send("apc.packets", packet)
    totals = {}
    for record in bench.records("apc.lineage"):
        row = to_json(
            "headrace.apc.ApcLineage", decode(record.value, "headrace.apc.ApcLineage").value
        )
        if row["run_id"] is None:
            totals[row["protocol_id"]] = row
    rows = items(bench, LINEAGE + "effectiveness")
    scored = bench.look(LINEAGE + "summary")["protocol_effectiveness"]
    scores = {row["protocol_id"]: row["effectiveness_score"] for row in scored}
    assert {row["protocol_id"] for row in rows} == {
        name for name, row in totals.items() if row["transfers"]
    }
    for row in rows:
        total = totals[row["protocol_id"]]
        assert row["transfer_count"] == total["transfers"]
        assert row["accepted_count"] == total["accepted"]
        assert row["run_count"] == total["run_count"]
        assert row["task_count"] == total["tasks"]
        assert row["avg_outcome"] == total["avg_outcome"]
        assert row["avg_drift_risk"] == total["avg_drift_risk"]
        assert scores[row["protocol_id"]] == total["effectiveness_score"]
    for row in items(bench, LINEAGE + "protocols"):
        assert row["transfer_count"] == totals[row["protocol_id"]]["packets"]
    bench.close()


@settings(max_examples=example_count(4), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_view_that_is_rebuilt_answers_alike(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bench = Bench(tmp_path_factory.mktemp("bench"))
    for packet in story(random.Random(seed), 40):
        bench.send("apc.packets", packet)
        if seed % 3 == 0:
            bench.view.catch_up(0)
    queries = ["", "run_id=r1", "session_id=s1&run_id=r2", "protocol_id=px"]
    before = [bench.look(LINEAGE + "summary", query) for query in queries]
    bench.folder = bench.folder / "another"
    bench.reopen_view()
    assert [bench.look(LINEAGE + "summary", query) for query in queries] == before
    bench.close()


def test_the_five_queries_over_http(bench: Bench) -> None:
    packets = [transfer(1), bearing(2, trace__session_id="s2"), evaluation(3, 0.9, 0.1)]
    bench.send("apc.packets", *packets)
    placed = [((bench.now - 2 + n, 0, n), packet) for n, packet in enumerate(packets)]
    assert items(bench, LINEAGE + "protocols") == brute.protocols(placed)
    assert items(bench, LINEAGE + "propagation") == brute.propagation(placed)
    assert items(bench, LINEAGE + "propagation", "protocol_id=nowhere") == []
    assert items(bench, LINEAGE + "transfer-quality") == brute.transfer_quality(placed)
    assert items(bench, LINEAGE + "eval-correlation") == brute.eval_correlation(placed)
    assert items(bench, LINEAGE + "effectiveness") == brute.effectiveness(placed)
    assert items(bench, LINEAGE + "protocols", "session_id=s1&limit=1")[0]["transfer_count"] == 1
    assert items(bench, LINEAGE + "effectiveness", "session_id=s2") == []


def test_an_empty_log_has_an_empty_summary(bench: Bench) -> None:
    answer = bench.look(LINEAGE + "summary", "project_id=j1&limit=7")
    assert answer["filters"] == {
        "session_id": None,
        "project_id": "j1",
        "run_id": None,
        "protocol_id": None,
        "limit": 7,
    }
    assert answer["source"] == "views"
    assert answer["summary"]["baseline_outcome"] is None
    assert answer["summary"]["protocol_count"] == 0
    assert answer["protocols"] == answer["propagation"] == answer["protocol_effectiveness"] == []
    assert answer["transfer_arbitration"]["summary"] == {
        "decision_count": 0,
        "candidate_total": 0,
        "selected_total": 0,
        "blocked_total": 0,
        "rejected_total": 0,
        "avg_selected_per_decision": 0,
        "selection_rate": 0,
        "block_reason_counts": {},
        "reject_reason_counts": {},
    }


@pytest.mark.parametrize(
    ("path", "query", "name"),
    [
        ("summary", "limit=0", "limit"),
        ("summary", "protocol=px", "protocol"),
        ("protocols", "limit=-1", "limit"),
        ("protocols", "protocol_id=px", "protocol_id"),
        ("propagation", "limit=x", "limit"),
        ("transfer-quality", "limit=1", "limit"),
        ("eval-correlation", "limit=1", "limit"),
        ("effectiveness", "limit=1.0", "limit"),
        ("effectiveness", "cursor=x", "cursor"),
    ],
)
def test_a_bad_query_of_lineage(bench: Bench, path: str, query: str, name: str) -> None:
    answer = bench.get(LINEAGE + path, query)
    assert (answer.status, answer.body["rule"], answer.body["path"]) == (422, "query_value", name)


def test_arbitrations_are_summed_up(bench: Bench) -> None:
    bench.send(
        "apc.packets",
        transfer(1),
        transfer(2, "py", payload__sender_score=0.9),
        arbitration(3, packet_id(1), packet_id(2), packet_id(9)),
        arbitration(4, packet_id(1), packet_id(1), trace__run_id="r2"),
    )
    answer = bench.look(LINEAGE + "summary")
    assert answer["transfer_arbitration"]["summary"] == {
        "decision_count": 2,
        "candidate_total": 4,
        "selected_total": 2,
        "blocked_total": 0,
        "rejected_total": 1,
        "avg_selected_per_decision": 1,
        "selection_rate": 0.5,
        "block_reason_counts": {},
        "reject_reason_counts": {"packet_unknown": 1},
    }
    decisions = answer["transfer_arbitration"]["decisions"]
    assert [d["arbitration"]["arbitration_id"] for d in decisions] == ["arb-4", "arb-3"]
    assert answer["summary"]["arbitration_selected_total"] == 2
    for query, count in (
        ("run_id=r2", 1),
        ("run_id=r1&session_id=s1", 1),
        ("session_id=s1", 2),
        ("session_id=s1&run_id=nowhere", 0),
        ("project_id=j1", 0),
        ("protocol_id=px", 2),
    ):
        arbitrations = bench.look(LINEAGE + "summary", query)["transfer_arbitration"]
        assert (arbitrations["summary"]["decision_count"], len(arbitrations["decisions"])) == (
            count,
            count,
        )
    one = bench.look(LINEAGE + "summary", "limit=1")
    assert one["transfer_arbitration"]["summary"]["decision_count"] == 2
    assert len(one["transfer_arbitration"]["decisions"]) == 1


def test_decisions_by_kind_and_protocol(bench: Bench) -> None:
    bench.send("apc.packets", transfer(1), arbitration(2, packet_id(1)))
    swarms = ["swarm-b", "swarm-c"] * 3
    for number, swarm in enumerate(swarms, 10):
        bench.send("apc.packets", transfer(number, payload__to_swarm=swarm))
    kinds = {"": 2, "kind=decay": 1, "kind=arbitration": 1, "protocol_id=px": 2}
    kinds |= {"protocol_id=py": 0, "run_id=r1": 1, "run_id=r2": 0, "project_id=j1": 0}
    kinds |= {"kind=decay&run_id=r1": 0, "protocol_id=px&run_id=r1": 1}
    for query, count in kinds.items():
        assert len(items(bench, "/v1/apc/decisions", query)) == count, query
    first = bench.look("/v1/apc/decisions", "limit=1")
    second = bench.look("/v1/apc/decisions", f"limit=1&cursor={first['next']}")
    assert [first["items"][0]["kind"], second["items"][0]["kind"]] == ["arbitration", "decay"]
    assert second["next"] is None
    for query in ("kind=other", "cursor=x", "limit=0"):
        assert bench.get("/v1/apc/decisions", query).status == 422


def test_the_total_row_of_a_protocol(bench: Bench) -> None:
    bench.send("apc.packets", transfer(1, "p/x"))
    row = bench.look("/v1/apc/protocols/p%2Fx")
    assert (row["protocol_id"], row["run_id"], row["transfers"]) == ("p/x", None, 1)
    assert bench.get("/v1/apc/protocols/nowhere").status == 404


def test_throttling(bench: Bench) -> None:
    bench.send(
        "apc.packets",
        transfer(1),
        transfer(2, payload__to_swarm="swarm-c"),
        transfer(3, "py", trace__run_id="r2", trace__generation=15),
        transfer(4, payload__sender_score=0.7),
    )
    rows = items(bench, "/v1/apc/throttling")
    assert [(r["run_id"], r["generation"], r["accepted"]) for r in rows] == [
        ("r1", 14, 2),
        ("r2", 15, 1),
    ]
    assert rows[0]["rejected"] == {"score_below_window": 1}
    for query, count in (
        ("session_id=s1", 2),
        ("session_id=s1&run_id=r1", 1),
        ("generation=15", 1),
        ("generation=16", 0),
        ("protocol_id=py&session_id=s1", 1),
        ("from_swarm=swarm-a", 2),
        ("from_swarm=swarm-b", 0),
    ):
        assert len(items(bench, "/v1/apc/throttling", query)) == count
    for query in ("generation=x", "limit=0", "to_swarm=x", "cursor=zz"):
        assert bench.get("/v1/apc/throttling", query).status == 422


def test_coordination(bench: Bench) -> None:
    bench.send("apc.packets", idea(1, sender__agent_id="b/1"), idea(2, sender__agent_id="a"))
    answer = bench.look("/v1/apc/sessions/s1/coordination")
    assert answer["inter"]["state"] == "SESSION_OPEN"
    agents = [row["agent_id"] for row in answer["intra"]]
    assert agents == sorted(agents)
    assert bench.get("/v1/apc/sessions/s/coordination").status == 404


def test_a_decision_with_any_reason_has_a_bucket(bench: Bench) -> None:
    bench.send("apc.packets", transfer(1), arbitration(2, packet_id(1), packet_id(9)))
    (record,) = bench.records("apc.decisions")
    value = decode(record.value, "headrace.apc.ApcDecision").value
    (row,) = value["arbitration"]["rejected"]
    value["arbitration"]["rejected"] = [
        {**row, "reason": reason} for reason in ("", " :x", "x" * 90, "a:b:c")
    ]
    body = encode("headrace.apc.ApcDecision", value)
    bench.log.append([Output("apc.decisions", record.key, body)])
    arbitrations = bench.look(LINEAGE + "summary")["transfer_arbitration"]["summary"]
    assert arbitrations["reject_reason_counts"] == {
        "a": 1,
        "packet_unknown": 1,
        "unknown": 2,
        "x" * 80: 1,
    }
