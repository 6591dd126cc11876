"""Refuse what the coordination of a session and its agents forbids, by states, types and modes.

The tables here are those of the guide (4.7), not of the code.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streams.protocols.apc.settings import AGENT_MODES, SESSION_MODES
from streams.replay.violations import ViolationKind
from streams.settings import Settings
from streams.verify.run import verify
from tests.unit.protocols.apc.processor.packets import (
    SESSION,
    Bench,
    Json,
    evaluation,
    packet,
    pid,
    retraction,
    transfer,
)
from tests.unit.protocols.apc.processor.sessions import (
    AGENT,
    AGENT_STATES,
    AGENT_STEPS,
    SESSION_STATES,
    SESSION_STEPS,
    arbitration,
    decision,
    local,
    named,
    noted,
    signal,
    young,
)
from tests.unit.views.bench import Bench as ViewBench

TYPES = (
    "TASK_IR", "IDEA", "CLAIM", "ARTIFACT", "EVAL", "TRANSFER", "ARBITRATION", "DECISION",
    "RETRACTION", "ERROR", "SIGNAL", "HEARTBEAT", "ACK", "NACK",
)  # fmt: skip
ENDS = ("ACK", "NACK", "HEARTBEAT", "RETRACTION", "ERROR")
STATES = (*SESSION_STATES, "CLOSED", "HALTED")
COMMITTED = ("ARBITRATION", "EXECUTION", "VALIDATION", "PROMOTION")
ANY_PHASE: Json = {f"APC_PHASES_{phase}": ",".join(TYPES[:10]) for phase in (
    "RESEARCH", "DISCOVERY", "REFINEMENT", "CONVERGENCE", "ARBITRATION", "EXECUTION", "VALIDATION",
    "PROMOTION",
)}  # fmt: skip
LEGAL: dict[str, tuple[str, ...]] = {
    "DECISION": COMMITTED,
    "DECISION APPROVED": COMMITTED,
    "ARBITRATION in ARBITRATION": ("CONTROLLED_CONVERGENCE", "ARBITRATION"),
    "TRANSFER": tuple(s for s in STATES if s not in ("SESSION_OPEN", "DIFFERENTIATED_RESEARCH")),
    "TRANSFER seeds": ("PROMOTION",),
}
"""What commits a session, and where it may; SESSION_OPEN counts where nothing is declared yet."""
EVENT_OF = {
    "DECISION": "decision_committed",
    "DECISION APPROVED": "decision_committed",
    "ARBITRATION in ARBITRATION": "candidate_pool_ready",
    "TRANSFER": "transfer_accepted",
    "TRANSFER seeds": "commons_commit_complete",
}
EDGES = {
    ("SESSION_OPEN", "research_briefs_dispatched"),
    ("DIFFERENTIATED_RESEARCH", "all_swarms_ready"),
    ("INDEPENDENT_DISCOVERY", "generation_window_open"),
    ("SELECTIVE_TRANSFER", "transfer_accepted"),
    ("CONTROLLED_CONVERGENCE", "candidate_pool_ready"),
    ("ARBITRATION", "decision_committed"),
    ("EXECUTION", "artifact_and_eval_emitted"),
    ("VALIDATION", "validation_pass"),
    ("VALIDATION", "validation_fail_or_drift"),
    ("PROMOTION", "commons_commit_complete"),
    *((state, "stop_signal_or_budget_exhausted") for state in SESSION_STATES),
}
GUARDED = ("transfer_accepted", "candidate_pool_ready")
"""Events whose guard a HEARTBEAT, which has no figures, never meets."""


def kinds(session: str) -> dict[str, Json]:
    """Return one packet of every kind that the table tells apart."""
    by: Json = {"session": session}
    every = {kind: packet(kind, 100 + n, **by) for n, kind in enumerate(TYPES)}
    every["DECISION PROPOSED"] = decision(120, "PROPOSED", **by)
    every["DECISION APPROVED"] = decision(121, **by)
    every["ARBITRATION in ARBITRATION"] = every["ARBITRATION"]
    every["ARBITRATION"] = arbitration(122, run_phase="CONVERGENCE", **by)
    every["TRANSFER"] = transfer(123, "sw-x", **by)
    seeds = {"mode": "COMMONS_SEED"}
    every["TRANSFER seeds"] = transfer(124, "sw-y", phase="PROMOTION", policy=seeds, **by)
    every["TRANSFER promotes"] = transfer(125, "sw-z", phase="PROMOTION", **by)
    every["TRANSFER seeds early"] = transfer(126, "sw-w", policy=seeds, **by)
    for kind in ("ACK", "NACK", "RETRACTION"):
        name = "target_packet_id" if kind == "RETRACTION" else "acked_packet_id"
        every[kind]["payload"][name] = pid(1)
        every[kind]["sender"]["agent_id"] = "builder-1" if kind == "RETRACTION" else "sentinel-1"
    return every


def come_to(bench: Bench, state: str, session: str = SESSION) -> None:
    """Bring a session to a state on the plain way, with a packet before that can be answered."""
    steps: list[Json] = [young(packet("IDEA", 1, session=session, routing={"requires_ack": True}))]
    for before, step in SESSION_STEPS:
        if before == state or state == "HALTED":
            break
        steps.append({**step, "trace": {**step["trace"], "session_id": session}})
    if state == "HALTED":
        steps.append(young(signal(911, "STOP", session=session)))
    for step in steps:
        assert bench.verdict(step)["verdict"] == "accepted"


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("mode", SESSION_MODES)
def test_only_what_would_commit_a_session_needs_its_state(mode: str, state: str) -> None:
    bench = Bench(**ANY_PHASE, APC_COORDINATION_SESSION=mode)
    for n, kind in enumerate(kinds("s")):
        session = f"s-{n}"
        come_to(bench, state, session)
        before = bench.coordination(session=session)
        fact = bench.verdict(kinds(session)[kind])
        if state in ("CLOSED", "HALTED") and kind.split()[0] not in ENDS:
            assert fact["rule"] == f"session_{state.lower()}", kind
            assert fact["coordination"] == []
            continue
        base = kind if kind in LEGAL else "TRANSFER" if kind.startswith("TRANSFER") else kind
        holds = mode == "enforce" or (mode == "declared" and state != "SESSION_OPEN")
        legal = not holds or base not in LEGAL or state in LEGAL[base]
        assert fact["rule"] == ("accepted" if legal else "session_state"), kind
        if legal:
            continue
        note = (None, EVENT_OF[base], state, None, "no_edge")
        assert noted(fact) == [note], kind
        assert (fact["state"], fact["fault"]) == ("REJECTED_POLICY", "sender")
        assert bench.coordination(session=session) == before


def test_a_refusal_names_where_the_packet_would_be_legal() -> None:
    bench = Bench(APC_COORDINATION_SESSION="declared")
    come_to(bench, "SELECTIVE_TRANSFER")
    assert bench.verdict(decision(1000))["message"] == (
        f"DECISION would commit session {SESSION}, which is in SELECTIVE_TRANSFER; legal in "
        "ARBITRATION, EXECUTION, VALIDATION, PROMOTION."
    )


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("mode", SESSION_MODES)
def test_an_event_that_a_packet_names_needs_its_edge_and_its_guard(mode: str, state: str) -> None:
    events = sorted({event for _, event in EDGES})
    bench = Bench(APC_COORDINATION_SESSION=mode)
    for n, event in enumerate(events):
        session = f"s-{n}"
        come_to(bench, state, session)
        fact = bench.verdict(named(100, event, session=session))
        holds = mode == "enforce" or (mode == "declared" and state != "SESSION_OPEN")
        has_edge = (state, event) in EDGES
        legal = not holds or (has_edge and event not in GUARDED)
        assert fact["rule"] == ("accepted" if legal else "coordination_event_illegal"), event
        if not legal:
            why = "guard_failed" if has_edge else "no_edge"
            assert noted(fact) == [(None, event, state, None, why)]
            (error,) = fact["errors"]
            assert error["path"] == "/metadata/coordination_event"


def test_the_guard_of_a_named_event_has_the_figures_of_its_packet() -> None:
    bench = Bench(APC_COORDINATION_SESSION="enforce")
    event = {"coordination_event": "candidate_pool_ready"}
    come_to(bench, "CONTROLLED_CONVERGENCE", "a")
    assert bench.verdict(arbitration(50, session="a", metadata=event))["rule"] == "accepted"
    come_to(bench, "VALIDATION", "b")
    passing = {"coordination_event": "validation_pass"}
    failing = evaluation(51, session="b", metadata=passing, payload={"metric_set": METRICS})
    assert bench.verdict(failing)["rule"] == "coordination_event_illegal"
    assert bench.verdict(evaluation(52, session="b", metadata=passing))["rule"] == "accepted"


METRICS = {**packet("EVAL", 1)["payload"]["metric_set"], "rtf": 0.5}


@pytest.mark.parametrize("mode", SESSION_MODES)
@pytest.mark.parametrize("state", COMMITTED)
def test_a_veto_refuses_a_committed_decision_until_it_is_lifted(mode: str, state: str) -> None:
    lifts = {
        "resumed": signal(60, "RESUME", sender="sentinel-1"),
        "retracted": retraction(60, 59, sender="sentinel-1"),
        "arbitrated": arbitration(60, run_phase="CONVERGENCE"),
        "another": signal(60, "RESUME", sender="builder-1"),
    }
    for name, lift in lifts.items():
        bench = Bench(APC_COORDINATION_SESSION=mode)
        come_to(bench, state)
        bench.give(signal(59, "VETO", sender="sentinel-1"))
        fact = bench.verdict(decision(61))
        refused = mode != "observe"
        assert fact["rule"] == ("decision_vetoed" if refused else "accepted")
        if refused:
            why = "guard_failed" if state == "ARBITRATION" else "no_edge"
            assert noted(fact) == [(None, "decision_committed", state, None, why)]
        assert bench.verdict(decision(62, "PROPOSED"))["rule"] == "accepted"
        bench.give(lift)
        again = bench.verdict(decision(63))["rule"]
        lifted = name != "another" or not refused
        assert again == ("accepted" if lifted else "decision_vetoed"), name


def test_packets_of_an_agent_to_itself_are_judged_by_its_own_machine_only() -> None:
    bench = Bench(APC_COORDINATION_SESSION="enforce")
    for n, sent in enumerate((decision(1), named(2, "all_swarms_ready"), transfer(3, "sw-b"))):
        sent = {**sent, "channel": "INTRA_AGENT", "packet_id": pid(70 + n)}
        assert bench.verdict(sent)["rule"] == "accepted"


def test_a_refused_transfer_counts_in_its_throttle_row_and_takes_no_place() -> None:
    bench = Bench(APC_COORDINATION_SESSION="declared")
    come_to(bench, "DIFFERENTIATED_RESEARCH")
    fact = bench.verdict(transfer(80, "sw-b"))
    assert (fact["rule"], fact["throttle"]["decided_by"]) == ("session_state", "accepted")
    assert fact["throttle"]["places_left"] == 2
    (row,) = bench.rows_of_throttling().values()
    assert (row["accepted"], row["rejected"], row["receivers"]) == (0, {"session_state": 1}, [])


def test_other_checks_come_before_those_of_the_session() -> None:
    bench = Bench(APC_COORDINATION_SESSION="enforce", APC_COORDINATION_AGENT="enforce")
    low = transfer(90, "sw-b", payload={"sender_score": 0.1})
    assert bench.verdict(low)["rule"] == "score_below_window"
    wrong = named(91, "all_swarms_ready", "DECISION")
    assert bench.verdict(wrong)["rule"] == "coordination_event_illegal"
    assert bench.verdict(decision(92))["rule"] == "session_state"


# Agents.


def agent_comes_to(bench: Bench, state: str, session: str = SESSION) -> None:
    steps: list[Json] = []
    for before, step in AGENT_STEPS:
        if before == state or state == "LOCAL_HALT":
            break
        steps.append(step)
    if state == "LOCAL_HALT":
        steps = [young(signal(928, "CANCEL", sender="boss", to=(AGENT,)))]
    for step in steps:
        step = {**step, "trace": {**step["trace"], "session_id": session}}
        assert bench.verdict(step)["verdict"] == "accepted"
    if state != "LOCAL_IDLE":
        assert bench.coordination(AGENT, session=session)["state"] == state


def sent_by_agent(session: str) -> dict[str, Json]:
    every: dict[str, Json] = {}
    for n, kind in enumerate(TYPES):
        made = packet(kind, 100 + n, sender=AGENT, session=session)
        if kind in ("ACK", "NACK", "RETRACTION"):
            name = "target_packet_id" if kind == "RETRACTION" else "acked_packet_id"
            made["payload"][name] = pid(99)
        every[kind] = made
    for n, kind in enumerate(("SIGNAL", "IDEA", "CLAIM", "ARTIFACT", "EVAL", "TASK_IR")):
        every[f"local {kind}"] = local(kind, 200 + n, sender=AGENT, session=session)
    every["local SYNC"] = local(
        "SIGNAL", 210, sender=AGENT, session=session, payload={"signal": "SYNC"}
    )
    less = {"confidence_pre": 0.9, "confidence_post": 0.1}
    every["local doubt"] = local("CLAIM", 211, sender=AGENT, session=session, payload=less)
    every["local failure"] = local(
        "EVAL", 212, sender=AGENT, session=session, payload={"pass": False}
    )
    return every


AGENT_LEGAL: dict[str, tuple[str, ...]] = {
    "local SYNC": ("CONTEXT_SYNC",),
    "local IDEA": ("IDEA_SYNTHESIS",),
    "local CLAIM": ("SELF_CRITIQUE",),
    "local doubt": ("SELF_CRITIQUE",),
    "local ARTIFACT": ("LOCAL_BUILD",),
    "local EVAL": ("LOCAL_VERIFY",),
    "local failure": ("LOCAL_VERIFY",),
    **dict.fromkeys(TYPES[:8], ("LOCAL_IDLE", "PUBLISH")),
}
AGENT_EVENT = {
    "local SYNC": "context_complete",
    "local IDEA": "idea_packet_ready",
    "local CLAIM": "critique_pass",
    "local doubt": "critique_fail",
    "local ARTIFACT": "artifact_local_ready",
    "local EVAL": "local_checks_pass",
    "local failure": "local_checks_fail",
}


@pytest.mark.parametrize("state", AGENT_STATES)
@pytest.mark.parametrize("mode", AGENT_MODES)
def test_an_agent_takes_the_steps_that_its_state_allows(mode: str, state: str) -> None:
    bench = Bench(**ANY_PHASE, APC_COORDINATION_AGENT=mode, APC_COORDINATION_SESSION="observe")
    for n, kind in enumerate(sent_by_agent("s")):
        session = f"s-{n}"
        request = packet(
            "IDEA", 99, sender="boss", to=(AGENT,), session=session, routing={"requires_ack": True}
        )
        bench.give(young(request))
        agent_comes_to(bench, state, session)
        before = bench.coordination(AGENT, session=session) if state != "LOCAL_IDLE" else None
        fact = bench.verdict(sent_by_agent(session)[kind])
        expected = "accepted"
        if mode != "observe" and state == "LOCAL_HALT" and kind not in ENDS:
            expected = "agent_halted"
        elif mode == "enforce" and state not in AGENT_LEGAL.get(kind, AGENT_STATES):
            expected = "agent_state"
        assert fact["rule"] == expected, kind
        if expected == "accepted":
            continue
        event = AGENT_EVENT.get(kind, "packet_emitted")
        assert noted(fact) == [(AGENT, event, state, None, "no_edge")], kind
        if before is not None:
            assert bench.coordination(AGENT, session=session) == before


def test_a_halted_agent_is_free_in_another_session() -> None:
    bench = Bench(APC_COORDINATION_AGENT="halt")
    agent_comes_to(bench, "LOCAL_HALT", "a")
    assert bench.verdict(packet("IDEA", 1, sender=AGENT, session="a"))["rule"] == "agent_halted"
    assert bench.verdict(packet("IDEA", 1, sender=AGENT, session="b"))["rule"] == "accepted"


def test_an_event_of_its_own_machine_that_an_agent_names_needs_its_edge() -> None:
    bench = Bench(APC_COORDINATION_AGENT="enforce")
    fact = bench.verdict(named(1, "context_complete", sender=AGENT))
    assert fact["rule"] == "agent_state"
    assert fact["errors"][0]["path"] == "/metadata/coordination_event"
    agent_comes_to(bench, "CONTEXT_SYNC")
    assert bench.verdict(named(2, "context_complete", sender=AGENT))["rule"] == "accepted"
    bench = Bench(APC_COORDINATION_AGENT="halt")
    assert bench.verdict(named(1, "context_complete", sender=AGENT))["rule"] == "accepted"


# Verification.


@pytest.mark.parametrize(
    ("settings", "sent", "rule"),
    [
        ({"apc_coordination_session": "enforce"}, [decision(1)], "session_state"),
        (
            {"apc_coordination_session": "enforce"},
            [named(1, "all_swarms_ready")],
            "coordination_event_illegal",
        ),
        (
            {"apc_coordination_session": "declared"},
            [*(step for _, step in SESSION_STEPS[:6]), signal(1, "VETO"), decision(2)],
            "decision_vetoed",
        ),
        (
            {"apc_coordination_session": "declared"},
            [SESSION_STEPS[0][1], transfer(1, "sw-b")],
            "session_state",
        ),
        (
            {"apc_coordination_agent": "halt"},
            [packet("ERROR", 1, payload={"retryable": False}), packet("IDEA", 2)],
            "agent_halted",
        ),
        (
            {"apc_coordination_agent": "enforce"},
            [packet("IDEA", 1, routing={"requires_ack": True}), local("IDEA", 2)],
            "agent_state",
        ),
    ],
)
def test_a_refusal_is_derived_again_and_what_was_accepted_before_stays(
    settings: Json, sent: list[Json], rule: str, tmp_path: Path
) -> None:
    observing: Json = {"apc_coordination_session": "observe", "apc_coordination_agent": "observe"}
    bench = ViewBench(tmp_path, **{**observing, **settings})
    for one in sent:
        bench.send("apc.packets", one)
    base = Settings(partitions=bench.settings.partitions)
    enforcing = replace(base, **{**observing, **settings})
    assert verify(bench.log, enforcing, tmp_path / "refused").clean
    findings = verify(bench.log, replace(base, **observing), tmp_path / "observed")
    assert findings.findings.counts == {ViolationKind.NOT_BORNE_OUT: 1}
    bench.close()
    bench = ViewBench(tmp_path / "observing", **observing)
    for one in sent:
        bench.send("apc.packets", one)
    assert verify(bench.log, enforcing, tmp_path / "accepted").clean
    bench.close()
