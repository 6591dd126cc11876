"""The settings of SAOP and RTES."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from streams.settings.service import ServiceSettings, number, setting
from streams.settings.values import Format

TASK_PROFILES = ("devs", "open")
"""The profiles that a setting may name (SAOP guide, 4.3).  Loading all profiles takes too long."""


def _is_list_of_profiles(text: str) -> bool:
    entries = [entry.rpartition("=") for entry in text.split(",") if entry]
    return all(equals and name in TASK_PROFILES for _, equals, name in entries)


_PREFIXES = Format(
    f"prefix=profile,… with the profiles {' and '.join(TASK_PROFILES)}", _is_list_of_profiles
)


@dataclass(frozen=True, kw_only=True)
class SaopSettings(ServiceSettings):
    """The settings of SAOP and RTES."""

    saop_hold_turns: int = number(
        "SAOP_HOLD_TURNS",
        64,
        "turns of a task that may be buffered until earlier ones arrive",
        1,
        10_000,
        True,
        rules=("turn_late",),
    )
    saop_hold_s: int = number(
        "SAOP_HOLD_S",
        60,
        "seconds a turn is buffered before the gap is given up",
        1,
        86_400,
        True,
        rules=("turn_late",),
    )
    saop_max_ahead: int = number(
        "SAOP_MAX_AHEAD",
        1000,
        "how far a turn's index may be ahead of the next expected one",
        1,
        1_000_000,
        True,
        rules=("turn_too_far",),
    )
    saop_confidence_window: int = number(
        "SAOP_CONFIDENCE_WINDOW",
        5,
        "number of turns over which the slope of confidence is computed",
        2,
        1000,
        True,
        rules=("confidence_slope",),
    )
    saop_confidence_slope: Decimal = setting(
        "SAOP_CONFIDENCE_SLOPE",
        Decimal("-0.05"),
        "slope of confidence per turn, at or below which a turn is escalated",
        "decimal",
        low=-1,
        high=1,
        work=True,
        rules=("confidence_slope",),
    )
    saop_confidence_ceiling: Decimal = setting(
        "SAOP_CONFIDENCE_CEILING",
        Decimal("0.6"),
        "confidence at or below which a falling slope is escalated",
        "decimal",
        high=1,
        work=True,
        rules=("confidence_slope",),
    )
    saop_confidence_declines: int = number(
        "SAOP_CONFIDENCE_DECLINES",
        3,
        "consecutive falls of confidence that count as a drop",
        1,
        1000,
        True,
        rules=("confidence_drop",),
    )
    saop_confidence_drop: Decimal = setting(
        "SAOP_CONFIDENCE_DROP",
        Decimal("0.25"),
        "total fall of confidence that counts as a drop",
        "decimal",
        high=1,
        work=True,
        rules=("confidence_drop",),
    )
    saop_repeats: int = number(
        "SAOP_REPEATS",
        3,
        "consecutive equal observations after which an agent is escalated",
        2,
        1000,
        True,
        rules=("observation_repeated",),
    )
    saop_failures: int = number(
        "SAOP_FAILURES",
        5,
        "failures after which a task is escalated",
        1,
        1_000_000,
        True,
        rules=("failures_reached",),
    )
    saop_on_failures: str = setting(
        "SAOP_ON_FAILURES",
        "report",
        "what happens to a task that has failed that often: it is reported, or paused too",
        choices=("report", "pause"),
        work=True,
        rules=("paused", "task_paused"),
    )
    saop_rewind_lapse_s: int = number(
        "SAOP_REWIND_LAPSE_S",
        600,
        "seconds within which a prepared rewind must be confirmed",
        1,
        86_400,
        True,
        rules=("lapsed", "rewind_lapsed"),
    )
    rtes_profile: str = setting(
        "RTES_PROFILE",
        "devs",
        "task profile of tasks that match no prefix of HEADRACE_RTES_PROFILES",
        choices=TASK_PROFILES,
        work=True,
        rules=("edge", "open_profile", "illegal_transition", "rewind_required"),
    )
    rtes_profiles: str = setting(
        "RTES_PROFILES",
        "",
        "task profile by prefix of the task id: prefix=profile,…",
        format=_PREFIXES,
        work=True,
        rules=("edge", "open_profile", "illegal_transition", "rewind_required"),
    )
    rtes_dedupe_ids: int = number(
        "RTES_DEDUPE_IDS",
        10_000,
        "event ids remembered per session",
        1,
        10_000_000,
        True,
        rules=("event_duplicate",),
    )
    rtes_dedupe_s: int = number(
        "RTES_DEDUPE_S",
        86_400,
        "seconds for which event ids are remembered",
        1,
        315_360_000,
        True,
        rules=("event_duplicate",),
    )
    rtes_heartbeat_s: int = number(
        "RTES_HEARTBEAT_S",
        15,
        "seconds without output after which a live tail sends a heartbeat",
        1,
        3600,
    )
    rtes_tail_records: int = number(
        "RTES_TAIL_RECORDS",
        1000,
        "records buffered for one client of the live tail",
        1,
        1 << 20,
    )
    rtes_tail_bytes: int = number(
        "RTES_TAIL_BYTES",
        4_194_304,
        "bytes buffered for one client of the live tail",
        1024,
        1 << 30,
    )
    rtes_raw_retention_h: int = setting(
        "RTES_RAW_RETENTION_H",
        24,
        "retention of rtes.raw in hours, set when the topic is created",
        "whole number",
        low=1,
        high=8784,
        retention_of="rtes.raw",
    )
