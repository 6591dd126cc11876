"""The settings of APC."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from streams.settings.service import ServiceSettings, number, setting

DECAY_MODES = ("late", "always", "flag")


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
    )
    apc_require_anti_drift: bool = setting(
        "APC_REQUIRE_ANTI_DRIFT",
        False,
        "reject APC packets that lack required anti-drift checks",
        "true or false",
        work=True,
    )
    apc_decay_min_samples: int = number(
        "APC_DECAY_MIN_SAMPLES", 5, "transfers before a protocol can decay", 1, 1_000_000, True
    )
    apc_decay_min_score: Decimal = setting(
        "APC_DECAY_MIN_SCORE",
        Decimal("0.35"),
        "effectiveness below which a protocol has decayed",
        "decimal",
        high=1,
        work=True,
    )
    apc_decay_max_drift: Decimal = setting(
        "APC_DECAY_MAX_DRIFT",
        Decimal("0.75"),
        "average drift risk above which a protocol has decayed",
        "decimal",
        high=1,
        work=True,
    )
    apc_decay_mode: str = setting(
        "APC_DECAY_MODE",
        "late",
        "when transfers of a decayed protocol are refused: from generation 21 on, always, or never",
        choices=DECAY_MODES,
        work=True,
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
