"""The settings of ASAP."""

from __future__ import annotations

from dataclasses import dataclass

from streams.settings.service import ServiceSettings, number, setting
from streams.settings.values import Format

RECIPIENT_CHECK = ("auto", "always", "never")


def _is_urn(text: str) -> bool:
    from schemas.asap.base import is_urn  # loading it takes longer than a command that asks

    return is_urn(text)


_URN = Format("an agent URN", _is_urn)


@dataclass(frozen=True, kw_only=True)
class AsapSettings(ServiceSettings):
    """The settings of ASAP."""

    asap_service_urn: str = setting(
        "ASAP_SERVICE_URN",
        "urn:asap:agent:headrace",
        "agent URN of the service, the sender of its envelopes",
        "agent URN",
        format=_URN,
        work=True,
    )
    asap_recipient_check: str = setting(
        "ASAP_RECIPIENT_CHECK",
        "auto",
        "whether recipients must have a manifest: as soon as any agent has one, always, or never",
        choices=RECIPIENT_CHECK,
        work=True,
        rules=("agent_not_found",),
    )
    asap_skill_check: bool = setting(
        "ASAP_SKILL_CHECK",
        False,
        "reject tasks for a skill that the worker's manifest does not list, if it lists any",
        "true or false",
        work=True,
        rules=("skill_not_found",),
    )
    asap_timeout_seconds: int = number(
        "ASAP_TIMEOUT_SECONDS",
        600,
        "timeout in seconds of a task that names none",
        1,
        31_536_000,
        True,
        rules=("task_timeout",),
    )
    asap_call_timeout_seconds: int = number(
        "ASAP_CALL_TIMEOUT_SECONDS",
        600,
        "timeout of an MCP call, in seconds",
        1,
        31_536_000,
        True,
        rules=("call_timeout",),
    )
    asap_max_depth: int = number(
        "ASAP_MAX_DEPTH",
        10,
        "largest depth of a sub-task below its root task",
        0,
        1_000_000,
        True,
        rules=("depth_exceeded",),
    )
    asap_idempotency_hours: int = number(
        "ASAP_IDEMPOTENCY_HOURS",
        24,
        "hours an idempotency key stays valid",
        1,
        87_600,
        True,
        rules=("same_idempotency_key",),
    )
    asap_dedupe_hours: int = number(
        "ASAP_DEDUPE_HOURS",
        168,
        "hours for which envelope ids, redirects and closed calls are remembered",
        1,
        87_600,
        True,
        rules=("same_envelope",),
    )
    asap_max_retention_hours: int = number(
        "ASAP_MAX_RETENTION_HOURS",
        8760,
        "longest retention in hours that a task may ask for its events",
        1,
        87_600,
        True,
        rules=("bad_config",),
    )
    asap_max_envelope_bytes: int = number(
        "ASAP_MAX_ENVELOPE_BYTES",
        900_000,
        "largest ASAP envelope, in bytes of canonical JSON",
        1,
        1_000_000,
        True,
        rules=("envelope_too_large",),
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
        "longest wait in seconds that `Prefer: wait` may ask for at `/asap`",
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
