"""Warnings name oddities and change no verdict."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocols.apc.processor.packets import PASSING, THRESHOLDS, Bench, Json, packet

FALSIFIER = {"id": "f", "target_claim_id": "c", "test": "t", "fail_if": "x", "cost": "low"}


def transfer(payload: Json | None = None, **lineage: Any) -> Json:
    return packet("TRANSFER", 1, payload=payload, lineage={"protocol_id": "px", **lineage})


@pytest.mark.parametrize(
    ("made", "warnings"),
    [
        (packet("CLAIM", 1, proof_bundle={}), ["proof_bundle_empty"]),
        (packet("CLAIM", 1, proof_bundle={"evidence_refs": []}), ["proof_bundle_empty"]),
        (packet("CLAIM", 1, proof_bundle={"signatures": []}), ["proof_bundle_empty"]),
        (packet("CLAIM", 1, proof_bundle={"falsifiers": [FALSIFIER]}), []),
        (packet("EVAL", 1, proof_bundle={}), ["proof_bundle_empty"]),
        (packet("IDEA", 1, proof_bundle={}), []),
        (packet("IDEA", 1, to=("a", "b", "a")), ["recipient_repeated"]),
        (packet("EVAL", 1, payload={"pass": False}), ["eval_pass_disagrees"]),
        (
            packet("EVAL", 1, payload={"thresholds": {**THRESHOLDS, "rtf": 1.1}}),
            ["eval_pass_disagrees"],
        ),
        (
            packet("EVAL", 1, payload={"thresholds": {**THRESHOLDS, "rtf": 1.1}, "pass": False}),
            [],
        ),
        (packet("EVAL", 1, payload={"metric_set": {**PASSING, "drift_risk": 1}}), []),
        (transfer(), []),
        (
            transfer({"to_swarm": "sw-a"}),
            ["self_transfer"],
        ),
        (transfer({"from_swarm": "sw-q"}), ["from_swarm_not_sender"]),
        (
            transfer({"from_swarm": "sw-q", "to_swarm": "sw-q"}, transfer_mode="COMMONS_SEED"),
            ["from_swarm_not_sender", "self_transfer", "transfer_mode_differs"],
        ),
        (transfer(transfer_mode="SELECTIVE_IMPORT"), []),
        (
            packet("IDEA", 1, to=("a", "a"), expires_at="2025-01-01T00:00:00Z"),
            ["expired_on_arrival", "recipient_repeated"],
        ),
    ],
)
def test_warnings(made: Json, warnings: list[str]) -> None:
    fact = Bench().verdict(made)
    assert fact["verdict"] == "accepted"
    assert fact["warnings"] == warnings


def test_a_refused_packet_shows_what_was_known() -> None:
    bench = Bench()
    fact = bench.verdict(packet("EVAL", 1, run_phase="RESEARCH", proof_bundle={}))
    assert (fact["rule"], fact["warnings"]) == ("phase_type", ["proof_bundle_empty"])
    fact = bench.verdict(packet("CLAIM", 2, proof_bundle={}, confidence=9))
    assert (fact["rule"], fact["warnings"]) == ("number_range", [])
