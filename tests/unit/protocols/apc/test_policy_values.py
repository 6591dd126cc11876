"""The values of a policy by which APC decides: each changes what it is for, and nothing else."""

from __future__ import annotations

from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import pytest

from schemas.apc.vocabulary import PacketType, RunPhase, TransferMode
from streams.protocols.apc.policy_values import GATES, ApcPolicy
from streams.protocols.apc.settings import ALWAYS_ALLOWED, PHASE_TYPES, TRANSFER_MODES
from streams.replay.violations import ViolationKind
from streams.settings import Settings
from tests.unit.protocols.apc.processor.packets import (
    DECAYED,
    PASSING,
    THRESHOLDS,
    Bench,
    Json,
    lineage_row,
    packet,
    transfer,
)
from tests.unit.verify.played import Played

DEFAULTS = ApcPolicy.of(Settings().as_work())


CASES: dict[str, tuple[str, Any, str, str, Json]] = {
    "factor": (
        "APC_TRANSFER_REFINEMENT_MULTIPLIER",
        Decimal("1.3"),
        "accepted",
        "phase_guard_score",
        transfer(1, scores=(0.5, 0.4), generation=21, phase="REFINEMENT"),
    ),
    "top_k": (
        "APC_TRANSFER_CONVERGENCE_TOP_K",
        1,
        "accepted",
        "phase_guard_top_k",
        transfer(1, phase="CONVERGENCE", policy={"top_k": 2}),
    ),
    "modes": (
        "APC_TRANSFER_PROMOTION_MODES",
        "SELECTIVE_IMPORT",
        "phase_guard_mode",
        "accepted",
        transfer(1, phase="PROMOTION", policy={"mode": "SELECTIVE_IMPORT"}),
    ),
    "late": (
        "APC_DECAY_LATE_FROM",
        22,
        "protocol_decayed",
        "accepted",
        transfer(1, generation=21),
    ),
    "phase": (
        "APC_PHASES_DISCOVERY",
        "TASK_IR,CLAIM",
        "accepted",
        "phase_type",
        packet("IDEA", 1, run_phase="DISCOVERY"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_verdict_follows_each_value(name: str) -> None:
    setting, value, before, after, sent = CASES[name]
    for values, rule in (({}, before), ({setting: value}, after)):
        bench = Bench(**values)
        if "protocol_decayed" in (before, after):
            bench.reads(lineage_row(**DECAYED))
        assert bench.verdict(sent)["rule"] == rule


@pytest.mark.parametrize("metric", [metric for metric, _ in GATES])
def test_the_gates_follow_each_bound(metric: str) -> None:
    name = f"APC_GATES_{metric.upper()}"
    metrics = {**PASSING, metric: 0.5}
    unmet = packet("EVAL", 1, payload={"metric_set": metrics, "thresholds": THRESHOLDS})
    met = metric == "outcome"
    assert Bench().verdict(unmet)["gates"]["met"] is met
    changed: Json = {name: Decimal("0.6" if met else "0.5")}
    gates = Bench(**changed).verdict(unmet)["gates"]
    assert gates["met"] is not met
    (check,) = (check for check in gates["checks"] if check["metric"] == metric)
    assert check["threshold"] == (0.6 if met else 0.5)


@pytest.mark.parametrize("phase", get_args(RunPhase))
def test_a_phase_allows_the_types_of_the_policy_and_those_that_all_allow(phase: str) -> None:
    for packet_type in PHASE_TYPES:
        policy = ApcPolicy.of({**Settings().as_work(), f"APC_PHASES_{phase}": packet_type})
        assert policy.phases[phase] == {packet_type, *ALWAYS_ALLOWED}
        others = {other: types for other, types in policy.phases.items() if other != phase}
        assert others == {other: DEFAULTS.phases[other] for other in others}
    empty = ApcPolicy.of({**Settings().as_work(), f"APC_PHASES_{phase}": ""})
    assert empty.phases[phase] == set(ALWAYS_ALLOWED)


def test_the_words_of_the_settings_are_those_of_the_vocabulary() -> None:
    types = get_args(PacketType)
    assert tuple(name for name in types if name not in ALWAYS_ALLOWED) == PHASE_TYPES
    assert set(ALWAYS_ALLOWED) <= set(types)
    assert get_args(TransferMode) == TRANSFER_MODES


def test_the_values_are_made_once_for_equal_settings() -> None:
    assert ApcPolicy.of(Settings().as_work()) is ApcPolicy.of(Settings().as_work())


def test_the_messages_and_figures_name_the_values_of_the_policy() -> None:
    bench = Bench(APC_TRANSFER_REFINEMENT_MULTIPLIER=Decimal("1.50"))
    fact = bench.verdict(transfer(1, scores=(0.5, 0.4), generation=21, phase="REFINEMENT"))
    assert fact["message"].endswith("not above 0.6, which is 1.50 times the receiver score 0.4.")
    assert fact["throttle"]["required_above"] == 0.6


def test_facts_are_derived_by_the_policy_that_decided_them(tmp_path: Path) -> None:
    types = ",".join(PHASE_TYPES)
    changes: Json = {f"apc_phases_{phase.lower()}": types for phase in get_args(RunPhase)}
    with closing(Played("refusals", tmp_path, **changes)) as played:
        assert played.verify().clean
        played.settings = Settings(partitions=played.settings.partitions)
        findings = played.verify().findings
        assert findings.counts.keys() == {ViolationKind.NOT_BORNE_OUT}
        assert all("allowed in its phase" in message for _, _, message in findings.shown)


def test_verification_is_derived_by_the_policy_that_decided_it(tmp_path: Path) -> None:
    changes: Json = {"apc_verification_deferred_types": ",".join(PHASE_TYPES)}
    with closing(Played("promotion", tmp_path, **changes)) as played:
        assert played.verify().clean
        played.settings = Settings(partitions=played.settings.partitions)
        findings = played.verify().findings
        assert findings.counts.keys() == {ViolationKind.NOT_BORNE_OUT}
        assert all("verification.mode" in message for _, _, message in findings.shown)


def test_windows_are_named_by_their_generations() -> None:
    text = (
        '[{"from":0,"enabled":true,"cross_use_case":false,"multiplier":3},'
        '{"from":5,"enabled":false,"cross_use_case":true,"top_k_limit":4}]'
    )
    settings = Settings.load({"HEADRACE_APC_WINDOW": text})
    bounds = ApcPolicy.of(settings.as_work()).transfers
    names = {generation: bounds.window_of(generation).name for generation in (0, 4, 5, 99)}
    early, late = "generation_0_4", "generation_5_plus"
    assert names == {0: early, 4: early, 5: late, 99: late}
    assert bounds.first_enabled == 0
    closed = Settings.load({"HEADRACE_APC_WINDOW": text.replace("true", "false")})
    assert ApcPolicy.of(closed.as_work()).transfers.first_enabled is None


def test_transfers_follow_the_windows_of_the_policy() -> None:
    text = (
        '[{"from":0,"enabled":true,"cross_use_case":false,"multiplier":3,"top_k_limit":1},'
        '{"from":5,"enabled":false,"cross_use_case":true}]'
    )
    bench = Bench(APC_WINDOW=text)
    one = {"min_generation": 0, "top_k": 1}
    fact = bench.verdict(transfer(1, generation=4, scores=(0.9, 0.3), policy=one))
    assert (fact["rule"], fact["message"]) == (
        "score_below_window",
        "Sender score 0.9 is not above 0.9, which is 3 times the receiver score 0.3.",
    )
    assert fact["throttle"]["window"] == "generation_0_4"
    fact = bench.verdict(transfer(2, generation=4, scores=(0.91, 0.3), policy=one))
    assert fact["rule"] == "accepted"
    fact = bench.verdict(transfer(3, generation=5, policy=one))
    assert fact["message"] == "generation_5_plus allows no transfer; this is generation 5."
