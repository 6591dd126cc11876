"""What moves a session: the table of the protocol, its guards, vetoes, and named events."""

from __future__ import annotations

import uuid

import pytest

from tests.unit.protocols.apc.processor.packets import (
    SESSION,
    Bench,
    Json,
    ack,
    evaluation,
    packet,
    pid,
    retraction,
    transfer,
)
from tests.unit.protocols.apc.processor.sessions import (
    SESSION_STATES,
    SESSION_STEPS,
    arbitration,
    decision,
    named,
    of_session,
    session_in,
    signal,
    validation,
    young,
)
from topology.core import RTES_RAW
from topology.machine import ANY
from topology.machines.apc_inter import MACHINE, InterEvent

STATES = [*SESSION_STATES, "CLOSED", "HALTED"]


def test_the_plain_way_takes_every_edge_but_three() -> None:
    bench = Bench()
    moves = [
        (note[1], note[0], note[2])
        for _, step in SESSION_STEPS
        for note in of_session(bench.verdict(step))
        if note[3] == "applied"
    ]
    exact = {(s, str(e), str(t)) for (s, e), t in MACHINE.edges.items() if s != ANY}
    assert exact - set(moves) == {
        ("VALIDATION", "validation_fail_or_drift", "INDEPENDENT_DISCOVERY")
    }
    assert bench.coordination()["state"] == "CLOSED"
    sent = [one.json for one in bench.of(RTES_RAW)]
    walked = [("none", "SESSION_OPEN"), *((m[0], m[2]) for m in moves)]
    assert [(e["payload"]["from_state"], e["payload"]["to_state"]) for e in sent] == walked
    assert {e["payload"]["task_id"] for e in sent} == {e["session_id"] for e in sent} == {SESSION}
    assert {e["origin"] for e in sent} == {"apc"}


@pytest.mark.parametrize("state", STATES)
def test_stop_halts_a_session_wherever_it_is(state: str) -> None:
    fact = session_in(state).verdict(young(signal(1, "STOP")))
    if state in ("CLOSED", "HALTED"):
        assert fact["rule"] == f"session_{state.lower()}"
        assert fact["coordination"] == []
    else:
        event = "stop_signal_or_budget_exhausted"
        assert of_session(fact)[-1] == (event, state, "HALTED", "applied")


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("event", [str(event) for event in InterEvent])
def test_an_event_that_a_packet_names(state: str, event: str) -> None:
    bench = session_in(state)
    fact = bench.verdict(young(named(1, event)))
    (note, *following) = of_session(fact)
    assert following == []
    target = MACHINE.edges.get((state, event))
    if event == "stop_signal_or_budget_exhausted" and state not in ("CLOSED", "HALTED"):
        assert note == (event, state, "HALTED", "applied")
    elif target is None:
        assert note == (event, state, None, "no_edge")
    elif event in ("generation_window_open", "transfer_accepted", "candidate_pool_ready"):
        assert note == (event, state, None, "guard_failed")  # the packet lacks the figure
    else:
        assert note == (event, state, str(target), "applied")
    assert bench.coordination()["state"] == (note[2] or state)


def test_the_sender_names_what_no_machine_knows() -> None:
    fact = Bench().verdict(young(named(1, "coffee_break")))
    assert of_session(fact) == [("coffee_break", "SESSION_OPEN", None, "unknown_event")]


def test_a_named_event_comes_first_and_is_not_raised_again() -> None:
    bench = session_in("DIFFERENTIATED_RESEARCH")
    fact = bench.verdict(signal(1, "QUERY", metadata={"coordination_event": "all_swarms_ready"}))
    assert of_session(fact) == [
        ("all_swarms_ready", "DIFFERENTIATED_RESEARCH", "INDEPENDENT_DISCOVERY", "applied"),
        ("generation_window_open", "INDEPENDENT_DISCOVERY", "SELECTIVE_TRANSFER", "applied"),
    ]
    bench = session_in("INDEPENDENT_DISCOVERY")
    fact = bench.verdict(named(1, "generation_window_open"))
    assert len(of_session(fact)) == 1
    assert bench.coordination()["generation_opened"] is True


def test_several_moves_of_one_packet_are_reported_in_order() -> None:
    bench = session_in("INDEPENDENT_DISCOVERY")
    sent = bench.decide(message := bench.message(transfer(1)))
    cause = f"apc.packets/0/{message.record.offset}"
    ids = [one.id for one in bench.of(RTES_RAW, sent)]
    names = [f"headrace:apc:{cause}/{n}" for n in range(2)]
    assert ids == [str(uuid.uuid5(uuid.NAMESPACE_URL, name)) for name in names]
    assert bench.coordination()["state"] == "CONTROLLED_CONVERGENCE"


def test_only_the_first_task_of_a_session_opens_research() -> None:
    bench = Bench()
    assert len(of_session(bench.verdict(young(packet("TASK_IR", 1))))) == 1
    assert of_session(bench.verdict(young(packet("TASK_IR", 2)))) == []


def test_all_swarms_seen_must_be_ready() -> None:
    bench = Bench()
    members = [{"agent_id": "x", "swarm_id": "sw-b"}]
    bench.give(young(signal(1, "SYNC", swarm="sw-c")))  # before research begins: not counted
    bench.give(young(packet("TASK_IR", 2, recipients=members)))
    assert bench.coordination()["swarms_ready"] == []
    for n, swarm in ((3, "sw-a"), (4, "sw-a"), (5, "sw-b")):
        assert of_session(bench.verdict(young(signal(n, "SYNC", swarm=swarm)))) == []
    assert bench.coordination()["swarms_ready"] == ["sw-a", "sw-b"]
    fact = bench.verdict(young(signal(6, "SYNC", swarm="sw-c")))
    assert of_session(fact)[0][3] == "applied"


def test_a_swarm_that_comes_late_is_waited_for() -> None:
    bench = session_in("DIFFERENTIATED_RESEARCH")
    bench.give(young(packet("IDEA", 1, swarm="sw-z")))
    assert of_session(bench.verdict(young(signal(2, "SYNC")))) == []
    assert of_session(bench.verdict(young(signal(3, "SYNC", swarm="sw-z")))) != []


@pytest.mark.parametrize(("generation", "raised"), [(10, False), (11, True)])
def test_the_window_opens_with_generation_11(generation: int, raised: bool) -> None:
    fact = session_in("INDEPENDENT_DISCOVERY").verdict(young(packet("IDEA", 1), generation))
    assert (of_session(fact) != []) is raised


def test_the_first_late_packet_is_noted_wherever_the_session_is() -> None:
    bench = Bench()
    fact = bench.verdict(packet("ACK", 1, payload={"acked_packet_id": pid(2)}))
    assert fact["verdict"] == "rejected"
    fact = bench.verdict(packet("IDEA", 3))
    assert of_session(fact) == [("generation_window_open", "SESSION_OPEN", None, "no_edge")]
    assert of_session(bench.verdict(packet("IDEA", 4))) == []


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (transfer(1, generation=21, phase="CONVERGENCE", scores=(0.84, 0.7)), "guard_failed"),
        (transfer(1, generation=21, phase="CONVERGENCE", scores=(0.85, 0.7)), "applied"),
        (transfer(1), "applied"),
    ],
)
def test_a_transfer_must_clear_the_strict_bound(made: Json, why: str) -> None:
    (note,) = of_session(session_in("SELECTIVE_TRANSFER").verdict(made))
    assert (note[0], note[3]) == ("transfer_accepted", why)


@pytest.mark.parametrize(
    ("level", "raised"),
    [("PROPOSED", False), ("APPROVED", True), ("EXECUTING", True), ("DONE", True), (None, True)],
)
def test_a_proposal_commits_nothing(level: str | None, raised: bool) -> None:
    fact = session_in("ARBITRATION").verdict(decision(1, level))
    assert (of_session(fact) != []) is raised


def holds_back(bench: Bench) -> bool:
    (note,) = of_session(bench.verdict(decision(99)))
    assert note[3] in ("applied", "guard_failed")
    return note[3] == "guard_failed"


def vetoed() -> Bench:
    bench = session_in("ARBITRATION")
    bench.give(signal(1, "VETO", sender="v"))
    return bench


def test_an_open_veto_holds_the_decision_back() -> None:
    bench = vetoed()
    assert bench.coordination()["open_vetoes"] == [{"agent_id": "v", "packet_id": pid(1)}]
    assert holds_back(bench)


@pytest.mark.parametrize(
    ("made", "holds"),
    [
        (signal(2, "RESUME", sender="v"), False),
        (signal(2, "RESUME", sender="w"), True),
        (packet("HEARTBEAT", 2, sender="v", payload={"signal": "RESUME"}), True),
        (retraction(2, 1, sender="v"), False),
        (retraction(2, 907, sender="v"), True),
        (arbitration(2), False),
        (arbitration(2, vetoes=("w",)), True),
    ],
)
def test_what_closes_a_veto(made: Json, holds: bool) -> None:
    bench = vetoed()
    bench.give(made)
    assert holds_back(bench) is holds


def test_each_veto_of_an_agent_is_closed_by_its_own_retraction_or_all_by_resume() -> None:
    bench = vetoed()
    bench.give(signal(2, "VETO", sender="v"))
    bench.give(retraction(3, 1, sender="v"))
    assert [veto["packet_id"] for veto in bench.coordination()["open_vetoes"]] == [pid(2)]
    bench.give(signal(4, "VETO", sender="v"))
    bench.give(signal(5, "RESUME", sender="v"))
    assert bench.coordination()["open_vetoes"] == []


def test_retracting_an_arbitration_drops_its_vetoes_and_restores_none() -> None:
    bench = vetoed()
    bench.give(arbitration(2, vetoes=("w", "x")))
    vetoes = [{"agent_id": agent, "packet_id": pid(2)} for agent in ("w", "x")]
    assert bench.coordination()["open_vetoes"] == vetoes
    bench.give(retraction(3, 2))
    assert bench.coordination()["open_vetoes"] == []
    assert not holds_back(bench)


def test_a_named_decision_is_held_back_by_the_packets_own_veto() -> None:
    bench = session_in("ARBITRATION")
    fact = bench.verdict(signal(1, "VETO", metadata={"coordination_event": "decision_committed"}))
    assert of_session(fact) == [("decision_committed", "ARBITRATION", None, "guard_failed")]


@pytest.mark.parametrize("first", ["ARTIFACT", "EVAL"])
def test_artifact_and_evaluation_together_lead_to_validation(first: str) -> None:
    bench = session_in("EXECUTION")
    pair = {"ARTIFACT": packet("ARTIFACT", 1), "EVAL": evaluation(2)}
    assert of_session(bench.verdict(pair.pop(first))) == []
    assert of_session(bench.verdict({**pair.popitem()[1], "packet_id": pid(3)})) == [
        ("artifact_and_eval_emitted", "EXECUTION", "VALIDATION", "applied")
    ]
    assert of_session(bench.verdict(packet("ARTIFACT", 4))) == []


def test_what_was_seen_before_execution_does_not_count() -> None:
    bench = session_in("ARBITRATION")
    bench.give(packet("ARTIFACT", 1))
    bench.give(decision(2))
    assert of_session(bench.verdict(evaluation(3))) == []
    assert of_session(bench.verdict(evaluation(4))) == []
    assert of_session(bench.verdict(packet("ARTIFACT", 5))) != []


def test_a_failed_validation_leads_back_and_the_window_opens_again() -> None:
    bench = session_in("VALIDATION")
    (note,) = of_session(bench.verdict(validation(1, ok=False)))
    assert note[2:] == ("INDEPENDENT_DISCOVERY", "applied")
    (note,) = of_session(bench.verdict(packet("IDEA", 2)))
    assert note[2:] == ("SELECTIVE_TRANSFER", "applied")


def test_evaluations_outside_their_place_move_nothing() -> None:
    assert of_session(session_in("VALIDATION").verdict(evaluation(1))) == []
    (note,) = of_session(session_in("PROMOTION").verdict(validation(1, ok=True)))
    assert note == ("validation_pass", "PROMOTION", None, "no_edge")


def test_a_named_pass_asks_the_newest_evaluation_of_the_packets_task() -> None:
    bench = session_in("VALIDATION")
    bench.give(
        evaluation(1, payload={"metric_set": validation(1, ok=False)["payload"]["metric_set"]})
    )
    (note,) = of_session(bench.verdict(named(2, "validation_pass")))
    assert note[3] == "guard_failed"
    bench.give(evaluation(3))
    (note,) = of_session(bench.verdict(named(4, "validation_pass")))
    assert note[2:] == ("PROMOTION", "applied")


def test_a_named_pass_without_an_evaluation_fails() -> None:
    bench = session_in("VALIDATION")
    made = named(1, "validation_pass")
    made["trace"]["task_id"] = "another"
    (note,) = of_session(bench.verdict(made))
    assert note[3] == "guard_failed"


@pytest.mark.parametrize(
    ("phase", "mode", "raised"),
    [
        ("PROMOTION", "COMMONS_SEED", True),
        ("PROMOTION", "WINNER_TO_LOSERS", False),
        ("REFINEMENT", "COMMONS_SEED", False),
    ],
)
def test_seeding_the_commons_closes_the_session(phase: str, mode: str, raised: bool) -> None:
    bench = session_in("PROMOTION")
    fact = bench.verdict(transfer(1, phase=phase, policy={"mode": mode}))
    assert [note[0] for note in of_session(fact)] == (
        ["transfer_accepted"] + ["commons_commit_complete"] * raised
    )
    assert bench.coordination()["state"] == ("CLOSED" if raised else "PROMOTION")


STILL_TAKEN = {"ACK", "NACK", "HEARTBEAT", "RETRACTION", "ERROR"}
TYPES = [
    "TASK_IR", "IDEA", "CLAIM", "ARTIFACT", "EVAL", "TRANSFER", "ARBITRATION", "DECISION",
    "RETRACTION", "ERROR", "SIGNAL", "HEARTBEAT", "ACK", "NACK",
]  # fmt: skip


@pytest.mark.parametrize("state", ["HALTED", "CLOSED"])
@pytest.mark.parametrize("packet_type", TYPES)
def test_a_session_that_is_over_takes_only_what_ends_or_reports(
    state: str, packet_type: str
) -> None:
    bench = Bench()
    bench.give(packet("IDEA", 1, to=("sentinel-1",), routing={"requires_ack": True}))
    for n, event in enumerate(_way_to(state)):
        bench.give(event | {"packet_id": pid(50 + n)})
    assert bench.coordination()["state"] == state
    by = "sentinel-1" if packet_type in ("ACK", "NACK") else "builder-1"
    fact = bench.verdict(packet(packet_type, 9, sender=by))
    if packet_type in STILL_TAKEN:
        assert fact["verdict"] == "accepted"
    else:
        assert (fact["rule"], fact["state"]) == (f"session_{state.lower()}", "REJECTED_POLICY")
        assert fact["throttle"] is None
    assert bench.coordination()["state"] == state


def _way_to(state: str) -> list[Json]:
    if state == "HALTED":
        return [signal(1, "STOP")]
    return [step for _, step in SESSION_STEPS]


def test_the_end_is_checked_before_the_phase() -> None:
    bench = session_in("HALTED")
    assert bench.verdict(packet("EVAL", 1, run_phase="RESEARCH"))["rule"] == "session_halted"


def test_a_row_holds_the_last_twenty_moves() -> None:
    bench = session_in("VALIDATION")
    bench.give(validation(1, ok=False))
    loop = [packet("HEARTBEAT", 903), transfer(904), arbitration(905), decision(906)]
    loop += [packet("ARTIFACT", 907), evaluation(908), validation(909, ok=False)]
    for n in range(4):
        for m, step in enumerate(loop):
            bench.give(step | {"packet_id": pid(1000 + 10 * n + m)})
    history = bench.coordination()["history"]
    assert len(history) == 20
    assert all(note["applied"] for note in history)
    assert history[-1]["packet_id"] == pid(1036)


def test_a_packet_that_came_too_late_moves_nothing() -> None:
    bench = session_in("SESSION_OPEN")
    fact = bench.verdict(packet("TASK_IR", 1, expires_at="2025-01-01T00:00:00Z"))
    assert fact["coordination"] == []
    assert bench.rows_of_coordination() == {}


def test_acknowledgements_do_not_undo_steps() -> None:
    bench = Bench()
    bench.give(young(packet("TASK_IR", 1, to=("a",), routing={"requires_ack": True})))
    bench.give(young(ack(2, 1, "a", "REJECTED")))
    bench.give(young(retraction(3, 1)))
    assert bench.coordination()["state"] == "DIFFERENTIATED_RESEARCH"
