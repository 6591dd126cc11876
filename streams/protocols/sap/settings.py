"""The settings of SAP."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from streams.settings.service import ServiceSettings, number, setting

PAST_DEADLINE = ("ignore", "timeout")
LEARNING = ("apply", "observe")


@dataclass(frozen=True, kw_only=True)
class SapSettings(ServiceSettings):
    """The settings of SAP."""

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
