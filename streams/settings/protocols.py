"""The settings of the protocols; `streams.settings` has them with the rest."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from streams.settings.service import ServiceSettings, number, setting

DECAY_MODES = ("late", "always", "flag")
PAST_DEADLINE = ("ignore", "timeout")
LEARNING = ("apply", "observe")
RECIPIENT_CHECK = ("auto", "always", "never")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolSettings(ServiceSettings):
    """What the protocols leave to whoever runs them."""

    apc_max_packet_bytes: int = number(
        "APC_MAX_PACKET_BYTES", 524_288, "largest APC packet, as canonical JSON", 1, 1 << 24, True
    )
    apc_require_anti_drift: bool = setting(
        "APC_REQUIRE_ANTI_DRIFT",
        False,
        "refuse APC packets without anti-drift checks where they are due",
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
    saop_hold_turns: int = number(
        "SAOP_HOLD_TURNS", 64, "turns of a task that wait for those before them", 1, 10_000, True
    )
    saop_hold_s: int = number("SAOP_HOLD_S", 60, "seconds for which a turn waits", 1, 86_400, True)
    saop_max_ahead: int = number(
        "SAOP_MAX_AHEAD", 1000, "how far ahead of the turn due a turn may be", 1, 1_000_000, True
    )
    saop_confidence_window: int = number(
        "SAOP_CONFIDENCE_WINDOW", 5, "turns over which confidence has its slope", 2, 1000, True
    )
    saop_confidence_slope: Decimal = setting(
        "SAOP_CONFIDENCE_SLOPE",
        Decimal("-0.05"),
        "slope per turn, at or below which falling confidence counts",
        "decimal",
        low=-1,
        high=1,
        work=True,
    )
    saop_confidence_ceiling: Decimal = setting(
        "SAOP_CONFIDENCE_CEILING",
        Decimal("0.6"),
        "confidence at or below which its slope counts",
        "decimal",
        high=1,
        work=True,
    )
    saop_confidence_declines: int = number(
        "SAOP_CONFIDENCE_DECLINES", 3, "falls in a row that count as a drop", 1, 1000, True
    )
    saop_confidence_drop: Decimal = setting(
        "SAOP_CONFIDENCE_DROP",
        Decimal("0.25"),
        "by how much confidence falls in a drop",
        "decimal",
        high=1,
        work=True,
    )
    saop_repeats: int = number(
        "SAOP_REPEATS", 3, "equal observations in a row that are escalated", 2, 1000, True
    )
    saop_failures: int = number(
        "SAOP_FAILURES", 5, "failures of a task that are escalated", 1, 1_000_000, True
    )
    saop_rewind_lapse_s: int = number(
        "SAOP_REWIND_LAPSE_S", 600, "seconds in which a rewind must be confirmed", 1, 86_400, True
    )
    rtes_profile: str = setting(
        "RTES_PROFILE", "devs", "task profile of tasks that no prefix names", work=True
    )
    rtes_profiles: str = setting(
        "RTES_PROFILES", "", "task profiles by prefix of the task id: prefix=profile,…", work=True
    )
    rtes_dedupe_ids: int = number(
        "RTES_DEDUPE_IDS", 10_000, "event ids remembered per session", 1, 10_000_000, True
    )
    rtes_dedupe_s: int = number(
        "RTES_DEDUPE_S", 86_400, "seconds for which event ids are remembered", 1, 315_360_000, True
    )
    rtes_heartbeat_s: int = number(
        "RTES_HEARTBEAT_S", 15, "seconds without output after which a live tail says so", 1, 3600
    )
    rtes_tail_records: int = number(
        "RTES_TAIL_RECORDS",
        1000,
        "records that may wait for one client of the live tail",
        1,
        1 << 20,
    )
    rtes_tail_bytes: int = number(
        "RTES_TAIL_BYTES",
        4_194_304,
        "bytes that may wait for one client of the live tail",
        1024,
        1 << 30,
    )
    rtes_raw_retention_h: int = number(
        "RTES_RAW_RETENTION_H", 24, "hours for which rtes.raw is kept, set at its creation", 1, 8784
    )
    rtes_mask_arguments: bool = setting(
        "RTES_MASK_ARGUMENTS",
        True,
        "mask secrets in the arguments of tool calls",
        "true or false",
        work=True,
    )
    mask_key: str | None = setting(
        "MASK_KEY",
        None,
        "key of the fingerprints in replacements; unset, they have none",
        secret=True,
        work=True,
    )
    rtes_pem_lines: int = number(
        "RTES_PEM_LINES", 400, "pulses after which a private key block ends", 1, 1_000_000, True
    )
    rtes_pem_s: int = number(
        "RTES_PEM_S", 600, "seconds after which a private key block ends", 1, 86_400, True
    )
    sap_constitution: Path | None = setting(
        "SAP_CONSTITUTION",
        None,
        "file of principles, constraints, essence and denylist; unset, the one shipped",
        "path",
        work=True,
    )
    sap_authorization: Path | None = setting(
        "SAP_AUTHORIZATION",
        None,
        "file that says who may issue tasks for what; unset, everyone may",
        "path",
        work=True,
    )
    sap_rate: Decimal = setting(
        "SAP_RATE",
        Decimal(0),
        "tasks per second of one issuer; 0 is no limit",
        "decimal",
        high=1_000_000,
        work=True,
    )
    sap_burst: Decimal | None = setting(
        "SAP_BURST",
        None,
        "tasks that an issuer may send at once; unset, as many as in a second, at least one",
        "decimal",
        high=1_000_000_000,
        work=True,
    )
    sap_past_deadline: str = setting(
        "SAP_PAST_DEADLINE",
        "ignore",
        "what becomes of a task that is sent after its deadline",
        choices=PAST_DEADLINE,
        work=True,
    )
    sap_single_flight: bool = setting(
        "SAP_SINGLE_FLIGHT",
        True,
        "let one task compute what others ask for at the same time",
        "true or false",
        work=True,
    )
    sap_flight_wait_s: int = number(
        "SAP_FLIGHT_WAIT_S",
        30,
        "seconds for which a task waits for another's answer",
        0,
        86_400,
        True,
    )
    sap_flight_lease_s: int = number(
        "SAP_FLIGHT_LEASE_S",
        300,
        "seconds after which a task that computes is given up",
        1,
        86_400,
        True,
    )
    sap_flight_max_waiters: int = number(
        "SAP_FLIGHT_MAX_WAITERS", 100, "tasks that wait for one answer at most", 0, 100_000, True
    )
    sap_cache_scan: int = number(
        "SAP_CACHE_SCAN", 5, "newest versions of an answer that are looked at", 1, 1000, True
    )
    sap_producer_binding: bool = setting(
        "SAP_PRODUCER_BINDING",
        True,
        "only the agent that reported first may report on",
        "true or false",
        work=True,
    )
    sap_learning: str = setting(
        "SAP_LEARNING",
        "apply",
        "what becomes of what is learned: it is applied, or published only",
        choices=LEARNING,
        work=True,
    )
    sap_max_wait_s: int = number(
        "SAP_MAX_WAIT_S", 60, "seconds for which `Prefer: wait` may hold a request", 0, 600
    )
    asap_service_urn: str = setting(
        "ASAP_SERVICE_URN",
        "urn:asap:agent:headrace",
        "sender of what the service writes",
        "agent URN",
        work=True,
    )
    asap_recipient_check: str = setting(
        "ASAP_RECIPIENT_CHECK",
        "auto",
        "whether recipients must have a manifest: as soon as any agent has one, always, or never",
        choices=RECIPIENT_CHECK,
        work=True,
    )
    asap_skill_check: bool = setting(
        "ASAP_SKILL_CHECK",
        False,
        "refuse tasks for a skill that the worker's manifest does not list, if it lists any",
        "true or false",
        work=True,
    )
    asap_timeout_seconds: int = number(
        "ASAP_TIMEOUT_SECONDS", 600, "seconds of a task that names no timeout", 1, 31_536_000, True
    )
    asap_call_timeout_seconds: int = number(
        "ASAP_CALL_TIMEOUT_SECONDS",
        600,
        "seconds in which an MCP call must be answered",
        1,
        31_536_000,
        True,
    )
    asap_max_depth: int = number(
        "ASAP_MAX_DEPTH", 10, "deepest task below one without parent", 0, 1_000_000, True
    )
    asap_idempotency_hours: int = number(
        "ASAP_IDEMPOTENCY_HOURS", 24, "hours for which an idempotency key holds", 1, 87_600, True
    )
    asap_dedupe_hours: int = number(
        "ASAP_DEDUPE_HOURS",
        168,
        "hours for which envelope ids, redirects and closed calls are remembered",
        1,
        87_600,
        True,
    )
    asap_max_retention_hours: int = number(
        "ASAP_MAX_RETENTION_HOURS",
        8760,
        "longest time for which a task may ask that its events are kept",
        1,
        87_600,
        True,
    )
    asap_max_envelope_bytes: int = number(
        "ASAP_MAX_ENVELOPE_BYTES",
        900_000,
        "largest ASAP envelope, as canonical JSON",
        1,
        1_000_000,
        True,
    )
    asap_verdict_timeout_ms: int = number(
        "ASAP_VERDICT_TIMEOUT_MS",
        5000,
        "milliseconds that `POST /asap` waits for a verdict",
        1,
        600_000,
    )
    asap_max_wait_seconds: int = number(
        "ASAP_MAX_WAIT_SECONDS",
        60,
        "seconds for which `Prefer: wait` may hold a request to `/asap`",
        0,
        600,
    )
    asap_call_wait_seconds: int = number(
        "ASAP_CALL_WAIT_SECONDS",
        30,
        "seconds that `POST /asap` waits for the answer to an MCP call",
        0,
        600,
    )
