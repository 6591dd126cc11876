"""The values of a policy by which APC decides, as one frozen object.

It is made once for a set of values.  The processor, the queries about packets that are not sent,
and `headrace verify` read their limits from it and from nowhere else.

Source: APC guide, 3.3 to 3.5, 4.3 and 4.6 to 4.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple, Self, get_args

from schemas.apc.vocabulary import RunPhase, TransferMode
from streams.protocols.apc.settings import ALWAYS_ALLOWED
from streams.settings.tables import tables_of
from streams.settings.values import words_of

GATES = (
    ("rtf", ">="),
    ("stability", ">="),
    ("audit", ">="),
    ("outcome", ">="),
    ("learnability", ">="),
    ("generalization_ratio", ">="),
    ("drift_risk", "<="),
)
"""The metrics of the promotion gates, and how each is compared with its bound."""


BUDGETS = ("packets", "generations", "seconds", "tokens", "cost_usd")
"""The names of the limits of sessions, in the order in which they are compared."""
CRITICAL_PHASES: Mapping[str, frozenset[str]] = {
    "CLAIM": frozenset({"ARBITRATION", "VALIDATION"}),
    "EVAL": frozenset({"VALIDATION"}),
}
"""The phases in which a packet of a type bears on a decision."""


class Window(NamedTuple):
    """The demands on transfers of generations from `low` on, up to the next window.

    multiplier, top_k_limit: None where the window sets no such bound.  selector: a label; no
    packet is compared with it.
    """

    name: str
    low: int
    enabled: bool
    selector: str | None
    multiplier: Decimal | None
    top_k_limit: int | None
    cross_use_case: bool


def windows_of(text: str) -> tuple[Window, ...]:
    """Return the windows of the setting, each with the name that its generations make."""
    tables = tables_of(text)
    ends = [*(str(table["from"] - 1) for table in tables[1:]), "plus"]
    return tuple(
        Window(
            f"generation_{table['from']}_{end}",
            table["from"],
            table["enabled"],
            table.get("selector"),
            Decimal(table["multiplier"]) if "multiplier" in table else None,
            table.get("top_k_limit"),
            table["cross_use_case"],
        )
        for table, end in zip(tables, ends, strict=True)
    )


class TransferBounds(NamedTuple):
    """The bounds of transfers.

    first_enabled: the first generation whose window allows transfers; None if none does.
    late_from: the generation from which a decayed protocol is refused in mode `late`.
    refinement_multiplier: in REFINEMENT, the sender's score must be above the receiver's by this
    factor.  convergence_top_k: the largest top_k in CONVERGENCE.
    promotion_modes: the modes allowed in PROMOTION, in the order of the vocabulary.
    """

    windows: tuple[Window, ...]
    first_enabled: int | None
    late_from: int
    refinement_multiplier: Decimal
    convergence_top_k: int
    promotion_modes: tuple[str, ...]

    def window_of(self, generation: int) -> Window:
        """Return the window of a generation (≥ 0)."""
        return next(window for window in reversed(self.windows) if window.low <= generation)


class Gate(NamedTuple):
    """A bound of the promotion test: `metric op threshold`."""

    metric: str
    op: str
    threshold: float


@dataclass(frozen=True, slots=True)
class ApcPolicy:
    """The values by which APC decides.

    phases: the packet types that a phase allows.  decay_mode: `late`, `always` or `flag`.
    arbitration_top_k: the transfers that an arbitration selects.
    proof_phases: by packet type, the phases in which one without evidence is refused.
    deferred_types: the packet types whose verification is deferred, whatever their metadata say.
    budget: the limits of sessions, by name, where there is one.
    session_mode: `observe`, `declared` or `enforce`.  agent_mode: `observe`, `halt` or `enforce`.
    """

    max_packet_bytes: int
    require_anti_drift: bool
    phases: Mapping[str, frozenset[str]]
    transfers: TransferBounds
    gates: tuple[Gate, ...]
    decay_mode: str
    arbitration_top_k: int
    proof_phases: Mapping[str, frozenset[str]]
    deferred_types: frozenset[str]
    budget: Mapping[str, Decimal]
    session_mode: str
    agent_mode: str

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> ApcPolicy:
        """Return the values of these settings, by their names without HEADRACE_."""
        return _made(*[settings[name] for name in _NAMES])

    @classmethod
    def from_values(cls, value: Mapping[str, Any]) -> Self:
        """Make the object; value: each setting by its name."""
        promotion_modes = words_of(value["APC_TRANSFER_PROMOTION_MODES"])
        windows = windows_of(value["APC_WINDOW"])
        return cls(
            value["APC_MAX_PACKET_BYTES"],
            value["APC_REQUIRE_ANTI_DRIFT"],
            {
                phase: words_of(value[f"APC_PHASES_{phase}"]).union(ALWAYS_ALLOWED)
                for phase in get_args(RunPhase)
            },
            TransferBounds(
                windows,
                next((window.low for window in windows if window.enabled), None),
                value["APC_DECAY_LATE_FROM"],
                value["APC_TRANSFER_REFINEMENT_MULTIPLIER"],
                value["APC_TRANSFER_CONVERGENCE_TOP_K"],
                tuple(mode for mode in get_args(TransferMode) if mode in promotion_modes),
            ),
            tuple(
                Gate(metric, op, float(value[f"APC_GATES_{metric.upper()}"]))
                for metric, op in GATES
            ),
            value["APC_DECAY_MODE"],
            value["APC_ARBITRATION_TOP_K"],
            {
                packet_type: _proof_phases(value[f"APC_PROOF_{packet_type}"], critical)
                for packet_type, critical in CRITICAL_PHASES.items()
            },
            words_of(value["APC_VERIFICATION_DEFERRED_TYPES"]),
            {
                name: Decimal(value[f"APC_BUDGET_{name.upper()}"])
                for name in BUDGETS
                if value[f"APC_BUDGET_{name.upper()}"] is not None
            },
            value["APC_COORDINATION_SESSION"],
            value["APC_COORDINATION_AGENT"],
        )


def _proof_phases(mode: str, critical: frozenset[str]) -> frozenset[str]:
    every: frozenset[str] = frozenset(get_args(RunPhase))
    return {"warn": frozenset(), "critical": critical, "refuse": every}[mode]


_NAMES = (
    "APC_MAX_PACKET_BYTES",
    "APC_REQUIRE_ANTI_DRIFT",
    "APC_DECAY_MODE",
    "APC_DECAY_LATE_FROM",
    "APC_ARBITRATION_TOP_K",
    "APC_VERIFICATION_DEFERRED_TYPES",
    *(f"APC_BUDGET_{name.upper()}" for name in BUDGETS),
    "APC_COORDINATION_SESSION",
    "APC_COORDINATION_AGENT",
    *(f"APC_PROOF_{packet_type}" for packet_type in CRITICAL_PHASES),
    "APC_WINDOW",
    "APC_TRANSFER_REFINEMENT_MULTIPLIER",
    "APC_TRANSFER_CONVERGENCE_TOP_K",
    "APC_TRANSFER_PROMOTION_MODES",
    *(f"APC_GATES_{metric.upper()}" for metric, _ in GATES),
    *(f"APC_PHASES_{phase}" for phase in get_args(RunPhase)),
)


@lru_cache
def _made(*values: Any) -> ApcPolicy:
    return ApcPolicy.from_values(dict(zip(_NAMES, values, strict=True)))
