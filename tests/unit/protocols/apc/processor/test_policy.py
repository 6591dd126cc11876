"""Which packet may be sent in which phase, and what else policy refuses."""

from __future__ import annotations

import pytest

from schemas.apc import ANTI_DRIFT_CHECKS
from streams.protocols.apc.processor.policy import CHECKS
from tests.unit.protocols.apc.processor.packets import (
    PHASE_OF,
    Bench,
    Json,
    ack,
    evaluation,
    events,
    packet,
    pid,
    retraction,
    waiting,
)

# A column per type, as the protocol's phase table has them; a dot is a refusal.
TYPES = [
    "TASK_IR", "IDEA", "CLAIM", "ARTIFACT", "EVAL",
    "TRANSFER", "ARBITRATION", "DECISION", "RETRACTION", "ERROR",
]  # fmt: skip
TABLE = {
    "RESEARCH": "Y Y Y . . . . . . .",
    "DISCOVERY": "Y Y Y Y . . . . . .",
    "REFINEMENT": ". Y Y . . Y Y . . .",
    "CONVERGENCE": ". . . . . Y Y Y . .",
    "ARBITRATION": ". . Y . . . Y Y . .",
    "EXECUTION": ". . . Y Y . . Y . Y",
    "VALIDATION": ". . Y . Y . . Y Y .",
    "PROMOTION": ". . . Y . Y . Y . .",
}
CASES = [
    (phase, packet_type, letter == "Y")
    for phase, letters in TABLE.items()
    for packet_type, letter in zip(TYPES, letters.split(), strict=True)
] + [
    (phase, packet_type, True)
    for phase in TABLE
    for packet_type in ("SIGNAL", "HEARTBEAT", "ACK", "NACK")
]


def session_with_target() -> Bench:
    """One packet that an ACK of sentinel-1, or a RETRACTION of its sender, may name."""
    bench = Bench()
    bench.give(waiting(1, to=("sentinel-1", "x"), session="sess-01"))
    return bench


def test_the_matrix_is_complete() -> None:
    assert len(CASES) == 14 * 8 == len({case[:2] for case in CASES})


@pytest.mark.parametrize(("phase", "packet_type", "allowed"), CASES)
def test_phase_and_type(phase: str, packet_type: str, allowed: bool) -> None:
    sender = "sentinel-1" if packet_type in ("ACK", "NACK") else "builder-1"
    made = packet(packet_type, 9, sender=sender, run_phase=phase)
    if packet_type == "TRANSFER":
        made["payload"]["transfer_policy"]["mode"] = "WINNER_TO_LOSERS"
    fact = session_with_target().verdict(made)
    if allowed:
        assert (fact["verdict"], fact["rule"]) == ("accepted", "accepted")
    else:
        assert (fact["verdict"], fact["rule"]) == ("rejected", "phase_type")
        assert fact["fault"] == "sender"
        assert fact["state"] == "REJECTED_POLICY"
        assert events(fact["transitions"]) == ["init", "emit", "schema_pass", "policy_fail"]
        assert fact["packet"]["packet_id"] == pid(9)
        assert phase in fact["message"]
        assert packet_type in fact["message"]


def test_a_refused_packet_has_a_row_and_nothing_else() -> None:
    bench = Bench()
    sent = bench.decide_json(packet("EVAL", 1, run_phase="RESEARCH"))
    assert [one.topic.name for one in sent] == ["apc.events"]
    row = bench.state(1)
    assert (row["state"], row["rule"], row["counted"]) == ("REJECTED_POLICY", "phase_type", False)
    assert row["packet"] is None
    assert row["gates"] is None
    assert bench.tables["apc-tasks"] == {}
    assert bench.tables["apc.coordination"] == {}


@pytest.mark.parametrize("name", ANTI_DRIFT_CHECKS)
def test_a_failed_drift_check_refuses(name: str) -> None:
    checks = dict.fromkeys(ANTI_DRIFT_CHECKS, True) | {name: False}
    fact = Bench().verdict(packet("SIGNAL", 1, metadata={"anti_drift": checks}))
    assert fact["rule"] == "drift_check_failed"
    assert name in fact["message"]
    assert fact["anti_drift"] == {"evaluated": True, "checks": checks}


def test_drift_checks_that_are_absent_are_not_evaluated() -> None:
    fact = Bench().verdict(packet("IDEA", 1))
    assert fact["verdict"] == "accepted"
    assert fact["anti_drift"] == {"evaluated": False, "checks": {}}


@pytest.mark.parametrize("packet_type", sorted(PHASE_OF))
def test_drift_checks_may_be_demanded(packet_type: str) -> None:
    bench = Bench(APC_REQUIRE_ANTI_DRIFT=True)
    demanded = [name for name in TYPES if name not in ("RETRACTION", "ERROR")]
    partial = dict.fromkeys(ANTI_DRIFT_CHECKS[1:], True)
    fact = bench.verdict(packet(packet_type, 9, metadata={"anti_drift": partial}))
    assert (fact["rule"] == "drift_check_missing") is (packet_type in demanded)
    if packet_type in demanded:
        assert ANTI_DRIFT_CHECKS[0] in fact["message"]
        assert ANTI_DRIFT_CHECKS[1] not in fact["message"]
        whole = {"anti_drift": dict.fromkeys(ANTI_DRIFT_CHECKS, True)}
        assert bench.verdict(packet(packet_type, 10, metadata=whole))["verdict"] == "accepted"


def test_a_failed_drift_check_is_named_before_a_missing_one() -> None:
    bench = Bench(APC_REQUIRE_ANTI_DRIFT=True)
    fact = bench.verdict(packet("IDEA", 1, metadata={"anti_drift": {"ci_verifiable": False}}))
    assert fact["rule"] == "drift_check_failed"


def test_phase_is_checked_before_drift() -> None:
    metadata = {"anti_drift": {"ci_verifiable": False}}
    fact = Bench().verdict(packet("EVAL", 1, run_phase="RESEARCH", metadata=metadata))
    assert fact["rule"] == "phase_type"


def session_of_retractions() -> Bench:
    """1 an IDEA, 2 a RETRACTION of 1, 3 an IDEA of another swarm's agent, 4 a plain IDEA."""
    bench = Bench()
    bench.give(packet("IDEA", 1))
    bench.give(retraction(2, 1))
    bench.give(packet("IDEA", 3, sender="other", swarm="sw-z"))
    bench.give(packet("IDEA", 4))
    return bench


@pytest.mark.parametrize(
    ("sent", "verdict", "rule"),
    [
        (retraction(9, 2), "rejected", "retraction_of_retraction"),
        (retraction(9, 77), "rejected", "retraction_target_unknown"),
        (retraction(9, 9), "rejected", "retraction_target_unknown"),
        (retraction(9, 4, session="sess-02"), "rejected", "retraction_target_unknown"),
        (retraction(9, 3), "rejected", "retraction_not_owner"),
        (retraction(9, 1), "duplicate", "already_retracted"),
        (retraction(9, 4), "accepted", "accepted"),
        (retraction(9, 4, sender="mate"), "accepted", "accepted"),
        (retraction(9, 4, swarm="sw-q"), "accepted", "accepted"),
        (retraction(9, 4, sender="mate", swarm="sw-q"), "rejected", "retraction_not_owner"),
        (retraction(9, 1, sender="mate", swarm="sw-q"), "rejected", "retraction_not_owner"),
    ],
)
def test_retraction_rules(sent: Json, verdict: str, rule: str) -> None:
    fact = session_of_retractions().verdict(sent)
    assert (fact["verdict"], fact["rule"]) == (verdict, rule)


def test_already_retracted_leaves_no_row_and_takes_no_id() -> None:
    bench = session_of_retractions()
    fact = bench.verdict(retraction(9, 1))
    assert fact["transitions"] == []
    assert fact["state"] is None
    assert fact["packet"] is None
    assert fact["fault"] is None
    assert bench.verdict(packet("IDEA", 9))["verdict"] == "accepted"


@pytest.mark.parametrize("nack", [False, True])
@pytest.mark.parametrize(
    ("of", "agent", "rule"),
    [
        (1, "sentinel-1", "accepted"),
        (1, "x", "accepted"),
        (1, "stranger", "ack_not_recipient"),
        (1, "builder-1", "ack_not_recipient"),
        (77, "sentinel-1", "ack_target_unknown"),
        (9, "sentinel-1", "ack_target_unknown"),
    ],
)
def test_ack_rules(nack: bool, of: int, agent: str, rule: str) -> None:
    fact = session_with_target().verdict(ack(9, of, agent, nack=nack))
    assert fact["rule"] == rule


def test_acks_are_of_one_session() -> None:
    bench = session_with_target()
    assert bench.verdict(ack(9, 1, "x", session="sess-02"))["rule"] == "ack_target_unknown"


def test_ids_in_payloads_are_compared_in_lower_case() -> None:
    bench = session_with_target()
    named = ack(9, 1, "x")
    named["payload"]["acked_packet_id"] = pid(1).upper()
    verdict, effect = bench.give(named)
    assert verdict["packet"]["payload"]["acked_packet_id"] == pid(1)
    assert (effect["packet_id"], effect["rule"]) == (pid(1), "ack_recorded")


def test_checks_of_a_type_are_numbered_in_order() -> None:
    for packet_type in PHASE_OF:
        numbers = [check.number for check in CHECKS if packet_type in check.types]
        assert numbers == sorted(numbers)


def test_a_rejected_id_is_taken() -> None:
    bench = Bench()
    bench.give(evaluation(1, run_phase="RESEARCH"))
    assert bench.verdict(evaluation(1))["rule"] == "packet_conflict"
