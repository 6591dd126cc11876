"""The members of `TaskRequest.config` that the log interprets (ASAP guide, 3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from schemas.asap.constants import (
    DEFAULT_RETENTION_HOURS,
    DEFAULT_TIMEOUT_SECONDS,
    EVENT_SOURCED_MODE,
    MAX_ID_LENGTH,
    MAX_TIMEOUT_SECONDS,
    SNAPSHOT_MODE,
    STATE_MODES,
)

JsonObject = dict[str, Any]


class TaskConfig(NamedTuple):
    """The configuration of a task.  event_retention_hours: None unless it is event-sourced."""

    timeout_ms: int
    idempotency_key: str | None
    state_mode: str
    event_retention_hours: int | None


def task_config(
    config: JsonObject | None, default_timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
) -> TaskConfig:
    """Read a valid config; a member that is null counts as absent."""
    members = config or {}
    seconds = members.get("timeout_seconds")
    mode = members.get("state_mode") or SNAPSHOT_MODE
    hours = members.get("event_retention_hours")
    if mode == EVENT_SOURCED_MODE:
        hours = DEFAULT_RETENTION_HOURS if hours is None else int(hours)
    else:
        hours = None
    return TaskConfig(
        round((default_timeout_seconds if seconds is None else seconds) * 1000),
        members.get("idempotency_key"),
        mode,
        hours,
    )


def config_problems(config: JsonObject, max_retention_hours: int) -> Iterator[tuple[str, str]]:
    """Yield the name of each ill-formed member, and what it must be."""
    seconds = config.get("timeout_seconds")
    if seconds is not None and not (is_number(seconds) and 1 <= seconds <= MAX_TIMEOUT_SECONDS):
        yield "timeout_seconds", f"must be a number from 1 to {MAX_TIMEOUT_SECONDS}"
    key = config.get("idempotency_key")
    if key is not None and not (isinstance(key, str) and 1 <= len(key) <= MAX_ID_LENGTH):
        yield "idempotency_key", f"must be a text of 1 to {MAX_ID_LENGTH} characters"
    mode = config.get("state_mode")
    if mode is not None and not (isinstance(mode, str) and mode in STATE_MODES):
        yield "state_mode", f"must be {' or '.join(STATE_MODES)}"
    hours = config.get("event_retention_hours")
    if hours is not None and not (is_integer(hours) and 1 <= hours <= max_retention_hours):
        yield "event_retention_hours", f"must be an integer from 1 to {max_retention_hours}"


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer, also if it is written as a float."""
    return is_number(value) and (isinstance(value, int) or value.is_integer())
