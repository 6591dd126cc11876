"""A TRANSFER for each thing that can be wrong with one; packets for sessions that are over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.e2e.bad_input import SESSION, Case
from tests.e2e.outputs import Json, Outputs
from tests.unit.protocols.apc.processor.packets import packet, transfer
from tests.unit.protocols.apc.processor.sessions import SESSION_STEPS, named, signal


def cases(made: Outputs) -> list[Case]:
    """In the order in which they are to be sent."""
    return [*_transfers(made), *_halted(made), *_closed(made), *_declared(made)]


def _transfers(made: Outputs) -> Iterator[Case]:
    wrong: list[tuple[str, Json]] = [
        ("lineage_mismatch", {"lineage": {"protocol_id": "another"}}),
        ("generation_disabled", {"generation": 10}),
        ("score_below_window", {"scores": (0.84, 0.7), "phase": "PROMOTION"}),
        ("top_k_missing", {"policy": {"top_k": None}}),
        ("top_k_over_limit", {"policy": {"top_k": 3}}),
        ("cross_use_case_not_allowed", {"lineage": {"cross_use_case": True}}),
        ("phase_guard_score", {"scores": (0.84, 0.7), "generation": 21}),
        ("phase_guard_mode", {"phase": "PROMOTION", "policy": {"mode": "SELECTIVE_IMPORT"}}),
        ("min_generation", {"policy": {"min_generation": 15}}),
        ("threshold_multiplier", {"policy": {"threshold_multiplier": 2.5}}),
    ]
    for number, (rule, members) in enumerate(wrong, 80):
        yield _case(made, rule, transfer(number, session=SESSION, **members))
    for number, swarm in enumerate(("sw-b", "sw-c", "sw-b"), 92):
        handed = transfer(number, swarm, session=SESSION)
        yield _case(made, "accepted", handed, verdict="accepted")
    yield _case(made, "top_k_exhausted", transfer(95, "sw-d", session=SESSION))
    unknown = {"winner_candidate_id": "three"}
    named = packet("ARBITRATION", 96, session=SESSION, payload=unknown)
    yield _case(made, "unknown_winner", named)


def _halted(made: Outputs) -> Iterator[Case]:
    session = "halted"
    yield _case(made, "accepted", signal(1, "STOP", session=session), verdict="accepted")
    yield _case(made, "session_halted", packet("IDEA", 2, session=session))
    last = packet("HEARTBEAT", 3, session=session)
    yield _case(made, "accepted", last, verdict="accepted")


def _closed(made: Outputs) -> Iterator[Case]:
    """A session goes all its way; its last step but one has closed it."""
    session = "closed"
    for _, step in SESSION_STEPS:
        closing = {**step, "trace": {**step["trace"], "session_id": session}}
        yield _case(made, "accepted", closing, verdict="accepted")
    yield _case(made, "session_closed", packet("SIGNAL", 2, session=session))
    last = packet("ERROR", 3, session=session)
    yield _case(made, "accepted", last, verdict="accepted")


def _declared(made: Outputs) -> Iterator[Case]:
    """A session on its way takes a decision where it may, and none under a veto."""
    session = "declared"
    for state, step in SESSION_STEPS:
        if state == "EXECUTION":
            break
        if state == "CONTROLLED_CONVERGENCE":
            early = packet("DECISION", 40, session=session)
            yield _case(made, "session_state", early)
        if state == "ARBITRATION":
            veto = signal(41, "VETO", session=session)
            yield _case(made, "accepted", veto, verdict="accepted")
            vetoed = packet("DECISION", 42, session=session)
            yield _case(made, "decision_vetoed", vetoed)
            resume = signal(43, "RESUME", session=session)
            yield _case(made, "accepted", resume, verdict="accepted")
        closing = {**step, "trace": {**step["trace"], "session_id": session}}
        yield _case(made, "accepted", closing, verdict="accepted")
    wrong = named(44, "all_swarms_ready", session=session)
    yield _case(made, "coordination_event_illegal", wrong)
    failed = packet("ERROR", 45, session=session, payload={"retryable": False})
    yield _case(made, "accepted", failed, verdict="accepted")
    yield _case(made, "agent_halted", packet("IDEA", 46, session=session))


def _case(made: Outputs, rule: str, value: Json, **more: Any) -> Case:
    return Case(f"{rule} of {value['packet_id']}", made.packet(value), rule, **more)
