"""The settings of SAP."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from streams.settings.service import ServiceSettings, number, setting

PAST_DEADLINE = ("ignore", "timeout")
LEARNING = ("apply", "observe")
PAYLOAD_SECRETS = ("warn", "refuse")
EVIDENCE_WORDS = ("map", "strict")
SEVERITIES = ("low", "medium", "high", "critical")
"""Those of the schemas, which the command line does not load for its settings."""


@dataclass(frozen=True, kw_only=True)
class SapSettings(ServiceSettings):
    """The settings of SAP."""

    sap_constitution: Path | None = setting(
        "SAP_CONSTITUTION",
        None,
        "constitution file (principles, constraints, essence, denylist); if unset, the built-in",
        "path",
        work=True,
        rules=("alignment_refused", "precheck_refused", "precheck_escalated"),
    )
    sap_authorization: Path | None = setting(
        "SAP_AUTHORIZATION",
        None,
        "file of the issuers and the capabilities each may use; if unset, every issuer may use all",
        "path",
        work=True,
        rules=("unauthorized", "forbidden"),
    )
    sap_rate: Decimal = setting(
        "SAP_RATE",
        Decimal(0),
        "tasks per second that one issuer may send; 0 means no limit",
        "decimal",
        high=1_000_000,
        work=True,
        rules=("rate_limited",),
    )
    sap_burst: Decimal | None = setting(
        "SAP_BURST",
        None,
        "tasks that an issuer may send in one burst; if unset, those of one second, at least one",
        "decimal",
        high=1_000_000_000,
        work=True,
        rules=("rate_limited",),
    )
    sap_payload_secrets: str = setting(
        "SAP_PAYLOAD_SECRETS",
        "refuse",
        "what happens to a task whose payload has what looks like a secret",
        choices=PAYLOAD_SECRETS,
        work=True,
        rules=("payload_secret", "payload_secret_suspected"),
    )
    sap_evidence_words: str = setting(
        "SAP_EVIDENCE_WORDS",
        "map",
        "words for the status of a check and the severity of a violation: any, read by the tables "
        "of the guide, or only the service's own",
        choices=EVIDENCE_WORDS,
        work=True,
        rules=("bad_enum", "status_unmapped", "severity_unmapped"),
    )
    sap_evidence_unknown_severity: str = setting(
        "SAP_EVIDENCE_UNKNOWN_SEVERITY",
        "high",
        "severity of a violation whose word for it is not known",
        choices=SEVERITIES,
        work=True,
        rules=("alignment_refused", "alignment_escalated"),
    )
    sap_past_deadline: str = setting(
        "SAP_PAST_DEADLINE",
        "ignore",
        "what happens to a task that is sent after its deadline",
        choices=PAST_DEADLINE,
        work=True,
        rules=("deadline_already_past", "deadline_passed"),
    )
    sap_single_flight: bool = setting(
        "SAP_SINGLE_FLIGHT",
        True,
        "let one task compute an answer that several tasks need at the same time",
        "true or false",
        work=True,
        rules=("not_dispatched",),
    )
    sap_flight_wait_s: int = number(
        "SAP_FLIGHT_WAIT_S",
        30,
        "seconds a task waits for the answer that another task computes",
        0,
        86_400,
        True,
        rules=("not_dispatched",),
    )
    sap_flight_lease_s: int = number(
        "SAP_FLIGHT_LEASE_S",
        300,
        "seconds after which the lease of the computing task expires",
        1,
        86_400,
        True,
    )
    sap_flight_max_waiters: int = number(
        "SAP_FLIGHT_MAX_WAITERS",
        100,
        "largest number of tasks that wait for one answer",
        0,
        100_000,
        True,
        rules=("not_dispatched",),
    )
    sap_cache_scan: int = number(
        "SAP_CACHE_SCAN",
        5,
        "number of newest versions of a cached answer that a lookup examines",
        1,
        1000,
        True,
    )
    sap_cache_copy: bool = setting(
        "SAP_CACHE_COPY",
        False,
        "answer a task at its admission where a worker's copy of the cache has the answer",
        "true or false",
        work=True,
    )
    sap_cache_copy_bytes: int = number(
        "SAP_CACHE_COPY_BYTES",
        256 << 20,
        "bytes of rows in a worker's copy of the cache; answers stored longest ago are left out",
        0,
        1 << 40,
    )
    sap_producer_binding: bool = setting(
        "SAP_PRODUCER_BINDING",
        True,
        "accept results only from the agent that reported first",
        "true or false",
        work=True,
        rules=("producer_mismatch",),
    )
    sap_learning: str = setting(
        "SAP_LEARNING",
        "apply",
        "whether learned heuristics are applied, or only published",
        choices=LEARNING,
        work=True,
    )
    sap_max_wait_s: int = number(
        "SAP_MAX_WAIT_S", 60, "longest wait in seconds that `Prefer: wait` may ask for", 0, 600
    )
