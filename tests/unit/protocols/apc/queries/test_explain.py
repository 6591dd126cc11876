"""packet-explain: verdicts are derived again from what was recorded, and what-ifs come true."""

from __future__ import annotations

import copy
import random
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import decode
from streams.processing.encode import encode_value
from streams.protocols.apc.processor.throttling import make_checks
from streams.protocols.apc.processor.transfer_checks import ThrottleState, transfer_of
from streams.protocols.apc.queries.explain import WHAT_IFS
from streams.protocols.apc.queries.trial import bounds_of
from streams.settings import Settings
from tests.examples import example_count
from tests.unit.envelopes import IDEA_ID, ack, changed, idea, packet_id
from tests.unit.protocols.apc.queries.facts import MODES, evaluation, transfer
from tests.unit.views.bench import Bench
from topology.apc import APC_PACKETS
from topology.machines.apc_packet import PacketState

TRANSFERS_ALLOWED = ("REFINEMENT", "CONVERGENCE", "PROMOTION", "RESEARCH")


def explained(bench: Bench, number: int, query: str = "") -> Any:
    return bench.look(f"/v1/apc/sessions/s1/packets/{packet_id(number)}/explain", query)


def what_if(bench: Bench, number: int, **values: Any) -> Any:
    texts = {k: str(v).lower() if isinstance(v, bool) else v for k, v in values.items()}
    return explained(bench, number, urlencode(texts))["counterfactual"]


def test_a_packet_is_explained(bench: Bench) -> None:
    (position,) = bench.send("apc.packets", transfer(1))
    answer = explained(bench, 1)
    assert list(answer) == [
        *("packet_id", "session_id", "verdict", "rule", "message", "position", "state"),
        *("transitions", "acks", "throttle", "gates", "anti_drift", "coordination", "warnings"),
        *("facts", "edges"),
    ]
    assert (answer["verdict"], answer["rule"], answer["state"]) == (
        "accepted",
        "accepted",
        "ARCHIVED",
    )
    assert answer["position"] == position
    assert answer["facts"] == [f"{position}/0"]
    assert answer["transitions"][-1]["to_state"] == PacketState.ARCHIVED
    assert answer["throttle"]["decided_by"] == "accepted"
    assert {edge["relation"] for edge in answer["edges"]} == {"same_trace", "transfers"}


def test_all_facts_that_touched_a_packet_are_named(bench: Bench) -> None:
    first, second = bench.send("apc.packets", idea(), ack(idea(), 2))
    answer = bench.look(f"/v1/apc/sessions/s1/packets/{IDEA_ID.upper()}/explain")
    assert answer["facts"] == [f"{first}/0", f"{second}/1"]
    assert answer["acks"]["accepted"] == ["sentinel-1"]
    assert answer["throttle"] is None


def test_a_packet_without_a_row_is_explained_by_its_fact(bench: Bench) -> None:
    packet = idea(1)
    bench.send("apc.packets", packet)
    bench.look("/v1/apc/packets")
    value = bench.records("apc.packets")[0].value or b""
    bench.send_bytes("apc.packets", value, key=b"other")
    bench.send("apc.packets", {**packet, "confidence": 0.1})
    assert explained(bench, 1)["rule"] == "accepted"
    assert len(explained(bench, 1)["facts"]) == 3


def test_nothing_is_known_of_it(bench: Bench) -> None:
    assert bench.get(f"/v1/apc/sessions/s1/packets/{IDEA_ID}/explain").status == 404


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("sender_score=high", "sender_score"),
        ("sender_score=1.5", "sender_score"),
        ("sender_score=0x1", "sender_score"),
        ("sender_score=NaN", "sender_score"),
        ("sender_score=", "sender_score"),
        ("top_k=0", "top_k"),
        ("top_k=1.5", "top_k"),
        ("generation=-1", "generation"),
        ("generation=true", "generation"),
        ("run_phase=NEVER", "run_phase"),
        ("mode=ANY", "mode"),
        ("cross_use_case=yes", "cross_use_case"),
        ("threshold_multiplier=4", "threshold_multiplier"),
        ("standing=later", "standing"),
        ("colour=red", "colour"),
        ("top_k=1&top_k=2", "top_k"),
        ("limit=1", "limit"),
    ],
)
def test_a_bad_what_if_is_named(bench: Bench, query: str, name: str) -> None:
    bench.send("apc.packets", transfer(1))
    bench.view.catch_up(0)
    answer = bench.get(f"/v1/apc/sessions/s1/packets/{packet_id(1)}/explain", query)
    assert (answer.status, answer.body["rule"], answer.body["path"]) == (422, "query_value", name)


def test_only_a_transfer_can_be_asked_about(bench: Bench) -> None:
    bench.send("apc.packets", idea(1))
    bench.view.catch_up(0)
    path = f"/v1/apc/sessions/s1/packets/{packet_id(1)}/explain"
    assert bench.get(path, "top_k=1").status == 422
    assert bench.get(path, "standing=now").status == 200


def test_a_packet_of_the_wrong_shape_cannot_be_asked_about(bench: Bench) -> None:
    packet = changed(transfer(1), lineage=..., payload__sender_score=7)
    value = encode_value(APC_PACKETS, packet, bench.settings).value
    bench.send_bytes("apc.packets", value or b"")
    assert explained(bench, 1)["state"] == "REJECTED_SCHEMA"
    answer = bench.get(f"/v1/apc/sessions/s1/packets/{packet_id(1)}/explain", "cross_use_case=true")
    assert (answer.status, answer.body["path"]) == (422, "cross_use_case")


def test_a_score_that_would_have_been_enough(bench: Bench) -> None:
    bench.send("apc.packets", transfer(1, payload__sender_score=0.84))
    assert explained(bench, 1)["rule"] == "score_below_window"
    answer = what_if(bench, 1, sender_score="0.85")
    assert answer["given"] == {"sender_score": 0.85}
    assert (answer["standing"], answer["passes"], answer["decided_by"]) == (
        "recorded",
        True,
        "accepted",
    )
    assert answer["changed"][0] == "score_below_window"
    assert answer["throttle"]["required_above"] == 0.84
    checks = {check["rule"]: check["outcome"] for check in answer["throttle"]["checks"]}
    assert checks["phase_guard_score"] == "pass"


def test_values_as_they_were_change_nothing(bench: Bench) -> None:
    bench.send("apc.packets", transfer(1), transfer(2, payload__to_swarm="swarm-c"))
    for number in (1, 2):
        throttle = explained(bench, number)["throttle"]
        answer = what_if(bench, number, sender_score=0.85, generation=14)
        assert (answer["throttle"], answer["changed"]) == (throttle, [])
        assert answer["standing"] == "recorded"


def test_standing_now_and_then(bench: Bench) -> None:
    swarms = ("swarm-b", "swarm-c")
    bench.send(
        "apc.packets",
        *[transfer(n, payload__to_swarm=swarm) for n, swarm in enumerate(swarms, 1)],
    )
    then = what_if(bench, 1, to_swarm="swarm-d")
    now = what_if(bench, 1, to_swarm="swarm-d", standing="now")
    assert (then["standing"], then["passes"]) == ("recorded", True)
    assert (now["standing"], now["decided_by"]) == ("now", "top_k_exhausted")
    assert now["changed"] == ["top_k_exhausted", "protocol_decayed"]
    other = what_if(bench, 1, to_swarm="swarm-d", generation=15)
    assert (other["standing"], other["passes"]) == ("now", True)


def test_another_phase_has_another_guard(bench: Bench) -> None:
    bench.send("apc.packets", transfer(1, run_phase="PROMOTION"))
    assert explained(bench, 1)["rule"] == "phase_guard_mode"
    answer = what_if(bench, 1, run_phase="REFINEMENT")
    assert answer["passes"]
    assert "phase_guard_score" in answer["changed"]
    answer = what_if(bench, 1, run_phase="RESEARCH")
    assert (answer["decided_by"], answer["throttle"]) == ("phase_type", None)


def test_figures_that_were_never_taken_are_those_of_now(bench: Bench) -> None:
    bench.send("apc.packets", transfer(1, run_phase="RESEARCH"))
    answer = what_if(bench, 1, run_phase="CONVERGENCE")
    assert (answer["standing"], answer["passes"]) == ("now", True)
    assert answer["changed"][0] == "phase_type"


def story(rnd: random.Random, count: int) -> list[dict[str, Any]]:
    packets = []
    for number in range(1, count + 1):
        if rnd.random() < 0.2:
            drift = rnd.choice([None, 0.9, 0.1])
            packets.append(evaluation(number, rnd.choice([0.0, 0.9]), drift))
            continue
        packet = transfer(
            number,
            rnd.choice(["px", "py"]),
            run_phase=rnd.choice(TRANSFERS_ALLOWED),
            trace__generation=rnd.choice([5, 14, 14, 21, 22]),
            payload__to_swarm=rnd.choice(["swarm-b", "swarm-c", "swarm-d"]),
            payload__sender_score=rnd.choice([0.84, 0.85, 0.9, 0.5]),
        )
        packet["payload"]["transfer_policy"] = {
            "mode": rnd.choice(MODES),
            "min_generation": rnd.choice([0, 11, 22]),
            **rnd.choice([{}, {"top_k": 1}, {"top_k": 2}, {"top_k": 3}]),
            **rnd.choice([{}, {}, {"threshold_multiplier": 1.25}]),
        }
        if rnd.random() < 0.2:
            packet["lineage"]["cross_use_case"] = True
        if rnd.random() < 0.05:
            packet["metadata"] = {"anti_drift": {"ci_verifiable": False}}
        packets.append(packet)
    return packets


@settings(max_examples=example_count(6), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_every_verdict_is_derived_again_from_its_recorded_figures(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bench = Bench(tmp_path_factory.mktemp("bench"))
    for packet in story(random.Random(seed), 40):
        bench.send("apc.packets", packet)
    derived = 0
    for record in bench.records("apc.events"):
        fact = decode(record.value, "headrace.apc.ApcEvent").value
        if (throttle := fact["throttle"]) is None:
            continue
        state = ThrottleState(
            throttle["receivers_before"], throttle["decay"], bounds_of(Settings())
        )
        checks = make_checks(transfer_of(fact["packet"]), state)
        assert checks.throttle == throttle
        assert (checks.rule or "accepted", checks.message or fact["message"]) == (
            fact["rule"],
            fact["message"],
        )
        derived += 1
    assert derived
    bench.close()


VALUES: dict[str, list[Any]] = {
    "sender_score": [0.84, 0.85, 1, 0],
    "receiver_score": [0.7, 0.1, 0.99],
    "top_k": [1, 2, 3],
    "generation": [3, 14, 15, 21, 40],
    "run_phase": ["REFINEMENT", "CONVERGENCE", "PROMOTION", "VALIDATION"],
    "mode": list(MODES),
    "cross_use_case": [True, False],
    "min_generation": [0, 14, 30],
    "threshold_multiplier": [1, 1.25, 3],
    "to_swarm": ["swarm-b", "swarm-d", "swarm-z"],
}


@settings(max_examples=example_count(6), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_what_if_agrees_with_really_sending_such_a_packet(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rnd = random.Random(seed)
    bench = Bench(tmp_path_factory.mktemp("bench"))
    sent = story(rnd, 25)
    for packet in sent:
        bench.send("apc.packets", packet)
    for number in range(100, 115):
        packet = rnd.choice([p for p in sent if p["packet_type"] == "TRANSFER"])
        what_if = {name: rnd.choice(VALUES[name]) for name in rnd.sample(list(VALUES), 3)}
        answer = get_what_if(bench, packet, {**what_if, "standing": "now"})
        real = really(packet, what_if, number)
        bench.send("apc.packets", real)
        explanation = explained(bench, number)
        assert answer["decided_by"] == explanation["rule"]
        assert answer["passes"] is (explanation["verdict"] == "accepted")
        assert answer["throttle"] == explanation["throttle"]
    bench.close()


def get_what_if(bench: Bench, packet: dict[str, Any], values: dict[str, Any]) -> Any:
    texts = {n: str(v).lower() if isinstance(v, bool) else str(v) for n, v in values.items()}
    path = f"/v1/apc/sessions/s1/packets/{packet['packet_id']}/explain"
    return bench.look(path, urlencode(texts))["counterfactual"]


def really(packet: dict[str, Any], what_if: dict[str, Any], number: int) -> dict[str, Any]:
    changes = {"__".join(WHAT_IFS[name].path): value for name, value in what_if.items()}
    return changed(copy.deepcopy(packet), packet_id=packet_id(number), **changes)


def test_every_name_has_values_here() -> None:
    assert set(VALUES) == set(WHAT_IFS)
