"""The settings of APC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

from streams.settings.service import ServiceSettings, number, setting
from streams.settings.tables import Column, Columns, Table, TableProblem, tables_text

DECAY_MODES = ("late", "always", "flag")
PROOF_MODES = ("warn", "critical", "refuse")
SESSION_MODES = ("observe", "declared", "enforce")
AGENT_MODES = ("observe", "halt", "enforce")
ALWAYS_ALLOWED = ("SIGNAL", "HEARTBEAT", "ACK", "NACK")
"""Types that every phase allows, whatever the settings say."""
PHASE_TYPES = (
    "TASK_IR", "IDEA", "CLAIM", "ARTIFACT", "EVAL", "TRANSFER", "ARBITRATION", "DECISION",
    "RETRACTION", "ERROR",
)  # fmt: skip
TRANSFER_MODES = ("WINNER_TO_LOSERS", "CROSS_USE_CASE", "COMMONS_SEED", "SELECTIVE_IMPORT")
"""As the vocabulary of the schemas has them, which a command that only reads does not load."""


def phase_types(phase: str, types: str) -> Any:
    return setting(
        f"APC_PHASES_{phase}",
        types,
        f"packet types that phase {phase} allows besides {', '.join(ALWAYS_ALLOWED)}",
        "set of words",
        choices=PHASE_TYPES,
        work=True,
        rules=("phase_type",),
    )


def gate_bound(metric: str, bound: str, default: str) -> Any:
    return setting(
        f"APC_GATES_{metric.upper()}",
        Decimal(default),
        f"{bound} {metric} with which an EVAL meets the promotion gates",
        "decimal",
        high=2,
        work=True,
    )


def proof_mode(packet_type: str, critical: str, default: str) -> Any:
    return setting(
        f"APC_PROOF_{packet_type}",
        default,
        f"what happens to a {packet_type} without evidence: a warning, a refusal where it bears on"
        f" a decision ({critical}), or always a refusal",
        choices=PROOF_MODES,
        work=True,
        rules=("proof_empty",),
    )


def _in_order(windows: Sequence[Table]) -> Iterator[TableProblem]:
    starts = [window["from"] for window in windows]
    if not starts or starts[0] != 0:
        yield "window_order", "/0/from" if starts else "", "begins with from = 0"
    for index, (before, after) in enumerate(pairwise(starts), 1):
        if after <= before:
            yield "window_order", f"/{index}/from", f"is above {before}, the one before"


WINDOW = Columns(
    (
        Column("from", "whole number"),
        Column("enabled", "true or false"),
        Column("selector", "text", choices=TRANSFER_MODES, required=False),
        Column("multiplier", "decimal", 1, 10, required=False),
        Column("top_k_limit", "whole number", 1, 10, required=False),
        Column("cross_use_case", "true or false"),
    ),
    check=_in_order,
)
"""A window of generations: `from` is its first, and it ends before that of the next."""
WINDOWS = tables_text(
    [
        {"from": 0, "enabled": False, "cross_use_case": False},
        {
            "from": 11,
            "enabled": True,
            "selector": "SELECTIVE_IMPORT",
            "multiplier": Decimal("1.2"),
            "top_k_limit": 2,
            "cross_use_case": False,
        },
        {
            "from": 21,
            "enabled": True,
            "selector": "WINNER_TO_LOSERS",
            "top_k_limit": 2,
            "cross_use_case": True,
        },
    ]
)


def session_budget(name: str, meaning: str, kind: str = "whole number") -> Any:
    smallest = Decimal("0.000001")
    return setting(
        f"APC_BUDGET_{name.upper()}",
        None,
        f"{meaning}, above which the session is halted; if unset, no limit",
        kind,
        low=1 if kind == "whole number" else smallest,
        high=10**15 - 1 if kind == "whole number" else 10**9,
        work=True,
        rules=("session_budget",) if name == "seconds" else (),
    )


def prior_count(name: str, what: str) -> Any:
    return setting(
        f"APC_PRIORS_{name}",
        Decimal(1),
        f"{what} with which the prior of a strategy begins, before its first attempt",
        "decimal",
        low=Decimal("0.001"),
        high=1000,
        work=True,
    )


@dataclass(frozen=True, kw_only=True)
class ApcSettings(ServiceSettings):
    """The settings of APC."""

    apc_max_packet_bytes: int = number(
        "APC_MAX_PACKET_BYTES",
        524_288,
        "largest APC packet, in bytes of canonical JSON",
        1,
        1 << 24,
        True,
        rules=("packet_too_large",),
    )
    apc_require_anti_drift: bool = setting(
        "APC_REQUIRE_ANTI_DRIFT",
        False,
        "reject APC packets that lack required anti-drift checks",
        "true or false",
        work=True,
        rules=("drift_check_missing",),
    )
    apc_decay_min_samples: int = number(
        "APC_DECAY_MIN_SAMPLES",
        5,
        "transfers before a protocol can decay",
        1,
        1_000_000,
        True,
        rules=("protocol_decayed",),
    )
    apc_decay_min_score: Decimal = setting(
        "APC_DECAY_MIN_SCORE",
        Decimal("0.35"),
        "effectiveness below which a protocol has decayed",
        "decimal",
        high=1,
        work=True,
        rules=("protocol_decayed",),
    )
    apc_decay_max_drift: Decimal = setting(
        "APC_DECAY_MAX_DRIFT",
        Decimal("0.75"),
        "average drift risk above which a protocol has decayed",
        "decimal",
        high=1,
        work=True,
        rules=("protocol_decayed",),
    )
    apc_decay_mode: str = setting(
        "APC_DECAY_MODE",
        "late",
        "when transfers of a decayed protocol are refused: from a late generation on, always, or"
        " never",
        choices=DECAY_MODES,
        work=True,
        rules=("protocol_decayed",),
    )
    apc_decay_late_from: int = number(
        "APC_DECAY_LATE_FROM",
        21,
        "generation from which mode `late` refuses transfers of a decayed protocol",
        0,
        1_000_000_000,
        True,
        rules=("protocol_decayed",),
    )
    apc_gate_min_samples: int = number(
        "APC_GATE_MIN_SAMPLES",
        3,
        "transfers before a protocol can fail its gate",
        1,
        1_000_000,
        True,
    )
    apc_gate_min_score: Decimal = setting(
        "APC_GATE_MIN_SCORE",
        Decimal("0.50"),
        "effectiveness below which an arbitration blocks a transfer",
        "decimal",
        high=1,
        work=True,
    )
    apc_arbitration_top_k: int = number(
        "APC_ARBITRATION_TOP_K", 1, "transfers that an arbitration selects", 0, 1000, True
    )
    apc_window: str = setting(
        "APC_WINDOW",
        WINDOWS,
        "windows of generations, in order, and what each demands of transfers",
        "list of tables",
        columns=WINDOW,
        work=True,
        rules=(
            "generation_disabled",
            "score_below_window",
            "top_k_missing",
            "top_k_over_limit",
            "cross_use_case_not_allowed",
        ),
    )
    apc_transfer_refinement_multiplier: Decimal = setting(
        "APC_TRANSFER_REFINEMENT_MULTIPLIER",
        Decimal("1.2"),
        "factor of the receiver's score above which the sender's must be in phase REFINEMENT",
        "decimal",
        low=1,
        high=10,
        work=True,
        rules=("phase_guard_score",),
    )
    apc_transfer_convergence_top_k: int = number(
        "APC_TRANSFER_CONVERGENCE_TOP_K",
        2,
        "largest top_k in phase CONVERGENCE",
        1,
        10,
        True,
        rules=("phase_guard_top_k",),
    )
    apc_transfer_promotion_modes: str = setting(
        "APC_TRANSFER_PROMOTION_MODES",
        "WINNER_TO_LOSERS,COMMONS_SEED",
        "modes of a transfer in phase PROMOTION",
        "set of words",
        choices=TRANSFER_MODES,
        work=True,
        rules=("phase_guard_mode",),
    )
    apc_coordination_session: str = setting(
        "APC_COORDINATION_SESSION",
        "declared",
        "whether packets that would commit a session need its state: never, once its research"
        " briefs are dispatched, or always",
        choices=SESSION_MODES,
        work=True,
        rules=("coordination_event_illegal", "session_state", "decision_vetoed"),
    )
    apc_coordination_agent: str = setting(
        "APC_COORDINATION_AGENT",
        "halt",
        "whether packets need the state of their sender: never, only that it is not halted, or"
        " for each step",
        choices=AGENT_MODES,
        work=True,
        rules=("agent_halted", "agent_state"),
    )
    apc_budget_packets: int | None = session_budget(
        "packets", "accepted packets of a session, but ACK, NACK and HEARTBEAT"
    )
    apc_budget_generations: int | None = session_budget(
        "generations", "largest generation of a session"
    )
    apc_budget_seconds: Decimal | None = session_budget(
        "seconds", "seconds since a session's first packet", "decimal"
    )
    apc_budget_tokens: int | None = session_budget(
        "tokens", "tokens in `metadata.usage` of a session"
    )
    apc_budget_cost_usd: Decimal | None = session_budget(
        "cost_usd", "dollars in `metadata.usage` of a session", "decimal"
    )
    apc_proof_claim: str = proof_mode("CLAIM", "phases ARBITRATION and VALIDATION", "critical")
    apc_proof_eval: str = proof_mode("EVAL", "phase VALIDATION", "warn")
    apc_verification_deferred_types: str = setting(
        "APC_VERIFICATION_DEFERRED_TYPES",
        "",
        "packet types that only an EVAL or ARBITRATION verifies, whatever their metadata say",
        "set of words",
        choices=(*PHASE_TYPES, *ALWAYS_ALLOWED),
        work=True,
        rules=("verified", "evaluated_fail", "superseded", "outcome_kept"),
    )
    apc_priors_alpha: Decimal = prior_count("ALPHA", "successes")
    apc_priors_beta: Decimal = prior_count("BETA", "failures")
    apc_gates_rtf: Decimal = gate_bound("rtf", "least", "1.0")
    apc_gates_stability: Decimal = gate_bound("stability", "least", "0.9")
    apc_gates_audit: Decimal = gate_bound("audit", "least", "1.0")
    apc_gates_outcome: Decimal = gate_bound("outcome", "least", "0.5")
    apc_gates_learnability: Decimal = gate_bound("learnability", "least", "0.7")
    apc_gates_generalization_ratio: Decimal = gate_bound("generalization_ratio", "least", "0.8")
    apc_gates_drift_risk: Decimal = gate_bound("drift_risk", "largest", "0.3")
    apc_phases_research: str = phase_types("RESEARCH", "TASK_IR,IDEA,CLAIM")
    apc_phases_discovery: str = phase_types("DISCOVERY", "TASK_IR,IDEA,CLAIM,ARTIFACT")
    apc_phases_refinement: str = phase_types("REFINEMENT", "IDEA,CLAIM,TRANSFER,ARBITRATION")
    apc_phases_convergence: str = phase_types("CONVERGENCE", "TRANSFER,ARBITRATION,DECISION")
    apc_phases_arbitration: str = phase_types("ARBITRATION", "CLAIM,ARBITRATION,DECISION")
    apc_phases_execution: str = phase_types("EXECUTION", "ARTIFACT,EVAL,DECISION,ERROR")
    apc_phases_validation: str = phase_types("VALIDATION", "CLAIM,EVAL,DECISION,RETRACTION")
    apc_phases_promotion: str = phase_types("PROMOTION", "ARTIFACT,TRANSFER,DECISION")
