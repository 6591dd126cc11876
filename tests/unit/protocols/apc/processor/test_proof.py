"""Refuse a CLAIM or EVAL that has no evidence, where the policy says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streams.protocols.apc.settings import PHASE_TYPES, PROOF_MODES
from streams.replay.violations import ViolationKind
from streams.settings import Settings
from streams.verify.run import verify
from tests.unit.protocols.apc.processor.packets import Bench, Json, packet
from tests.unit.protocols.apc.processor.test_policy import TABLE
from tests.unit.views.bench import Bench as ViewBench

FALSIFIER: Json = {"id": "f", "target_claim_id": "c", "test": "t", "fail_if": "x", "cost": "low"}
CRITICAL = {("CLAIM", "ARBITRATION"), ("CLAIM", "VALIDATION"), ("EVAL", "VALIDATION")}
ANY_PHASE: Json = {f"APC_PHASES_{phase}": ",".join(PHASE_TYPES) for phase in TABLE}
CASES = [
    (mode, kind, phase) for mode in PROOF_MODES for kind in ("CLAIM", "EVAL") for phase in TABLE
]


@pytest.mark.parametrize(("mode", "packet_type", "phase"), CASES)
def test_each_mode_refuses_an_empty_proof_in_its_phases(
    mode: str, packet_type: str, phase: str
) -> None:
    changes: Json = {**ANY_PHASE, f"APC_PROOF_{packet_type}": mode}
    bench = Bench(**changes)
    fact = bench.verdict(packet(packet_type, 1, run_phase=phase, proof_bundle={}))
    refused = mode == "refuse" or (mode == "critical" and (packet_type, phase) in CRITICAL)
    assert fact["rule"] == ("proof_empty" if refused else "accepted")
    assert fact["warnings"] == ["proof_bundle_empty"]


@pytest.mark.parametrize(
    ("bundle", "is_empty"),
    [
        ({"evidence_refs": []}, True),
        ({"evidence_refs": ["", " \t"]}, True),
        ({"signatures": []}, True),
        ({"evidence_refs": [" ", "log:1"]}, False),
        ({"falsifiers": [FALSIFIER]}, False),
    ],
)
def test_a_proof_is_empty_without_falsifiers_and_with_blank_references_only(
    bundle: Json, is_empty: bool
) -> None:
    fact = Bench().verdict(packet("CLAIM", 1, run_phase="VALIDATION", proof_bundle=bundle))
    assert fact["rule"] == ("proof_empty" if is_empty else "accepted")


def test_by_default_a_claim_is_refused_where_it_bears_on_a_decision_and_an_eval_is_not() -> None:
    for packet_type, phase in CRITICAL:
        fact = Bench().verdict(packet(packet_type, 1, run_phase=phase, proof_bundle={}))
        assert fact["rule"] == ("proof_empty" if packet_type == "CLAIM" else "accepted")


def test_a_refusal_names_the_member_and_other_checks_come_first() -> None:
    empty = packet("CLAIM", 1, run_phase="VALIDATION", proof_bundle={})
    fact = Bench().verdict(empty)
    message = "CLAIM in VALIDATION needs evidence or falsifiers."
    assert (fact["state"], fact["fault"], fact["message"]) == ("REJECTED_POLICY", "sender", message)
    assert fact["errors"] == [{"rule": "proof_empty", "path": "/proof_bundle", "message": message}]
    drifted = {**empty, "metadata": {"anti_drift": {"ci_verifiable": False}}}
    assert Bench().verdict(drifted)["rule"] == "drift_check_failed"
    bench = Bench(APC_PHASES_VALIDATION="", APC_PROOF_CLAIM="refuse")
    assert bench.verdict(empty)["rule"] == "phase_type"


def test_what_was_accepted_before_stays_and_a_refusal_is_derived_again(tmp_path: Path) -> None:
    bench = ViewBench(tmp_path, apc_proof_claim="warn")
    empty = packet("CLAIM", 1, run_phase="VALIDATION", proof_bundle={})
    bench.send("apc.packets", empty)
    by_default = Settings(partitions=bench.settings.partitions)
    assert verify(bench.log, by_default, tmp_path / "accepted").clean
    bench.close()
    bench = ViewBench(tmp_path / "refusing")
    bench.send("apc.packets", empty)
    assert verify(bench.log, by_default, tmp_path / "refused").clean
    findings = verify(bench.log, replace(by_default, apc_proof_claim="warn"), tmp_path / "warned")
    assert findings.findings.counts == {ViolationKind.NOT_BORNE_OUT: 1}
    bench.close()
