"""The stateless rules (ASAP guide, 3.1), the same for the gateway and the processor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeGuard

from pydantic import ValidationError

from schemas.asap import rules
from schemas.asap.config import config_problems
from schemas.asap.constants import (
    ASAP_PROTOCOL_VERSION,
    EXT_SNAPSHOT,
    MAX_ENVELOPE_BYTES,
    MAX_ID_LENGTH,
    MAX_RETENTION_HOURS,
    SERVICE_URN,
)
from schemas.asap.envelope import Envelope, json_form
from schemas.asap.extensions import extension_problems
from schemas.asap.forms import canonical_form, iso_utc
from schemas.asap.open_json import JsonPath, open_member_problem, open_members
from schemas.asap.payloads import PAYLOADS
from schemas.asap.problems import Violation, unknown_type_problem, validation_problems
from schemas.asap.spelling import normalize_payload_type
from schemas.canonical import canonical_json
from schemas.problems import Problem, pointer
from schemas.rules import Rule

JsonObject = dict[str, Any]
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_PAYLOAD_IDS = (
    "task_id",
    "conversation_id",
    "parent_task_id",
    "skill_id",
    "message_id",
    "artifact_id",
    "snapshot_id",
    "request_id",
)
_ENVELOPE_IDS = ("id", "correlation_id", "trace_id")
_RULE_ORDER = {code: rank for rank, code in enumerate(rules.REFUSING)}
_GENERAL_RULES = (rules.MALFORMED_ENVELOPE.code, rules.BAD_PAYLOAD.code)
_NOT_FOR_SERVICE = frozenset(
    {"TaskRequest", "McpToolCall", "McpToolResult", "McpResourceFetch", "McpResourceData"}
)


class Limits(NamedTuple):
    """The settings that the stateless rules use."""

    service_urn: str = SERVICE_URN
    max_envelope_bytes: int = MAX_ENVELOPE_BYTES
    max_retention_hours: int = MAX_RETENTION_HOURS


_DEFAULT = Limits()


def validate(obj: object, limits: Limits = _DEFAULT) -> list[Problem]:
    """Return the violations of the stateless rules in an envelope's JSON, the deciding one first.

    id and timestamp may be missing: the gateway adds them.
    """
    return envelope_problems(_json_of(obj), limits)


def _json_of(obj: object) -> Any:
    return json_form(obj) if isinstance(obj, Envelope) else obj


def envelope_problems(envelope: Any, limits: Limits, size: int | None = None) -> list[Problem]:
    """Return the violations in order.  size: bytes of the canonical form, if known."""
    if not isinstance(envelope, dict):
        return [_problem(rules.MALFORMED_ENVELOPE, (), "must be an object")]
    problems = [
        *_check_members(envelope),
        *_check_type_and_version(envelope),
        *_check_ids(envelope),
    ]
    name = _canonical_name(envelope)
    problems += _check_open_members(envelope, name)
    if name is not None:
        problems += _check_payload(envelope, name)
        problems += _check_roles(envelope, name, limits)
        problems += _check_config_and_extensions(envelope, name, limits)
    problems += _check_size(envelope, size, limits, sound=not problems)
    return _sort_problems(problems)


def _canonical_name(envelope: JsonObject) -> str | None:
    text = envelope.get("payload_type")
    return normalize_payload_type(text) if isinstance(text, str) else None


def _sort_problems(problems: list[Problem]) -> list[Problem]:
    """Sort by rule and path; drop a general problem where a special one exists."""
    if not problems:
        return problems
    special = {problem.path for problem in problems if problem.rule not in _GENERAL_RULES}
    remaining = [p for p in problems if p.rule not in _GENERAL_RULES or p.path not in special]
    return sorted(remaining, key=lambda problem: (_RULE_ORDER[problem.rule], problem.path))


def _problem(rule: Rule, path: JsonPath, what: str) -> Problem:
    return _problem_at(rule, pointer(*path), what)


def _problem_at(rule: Rule, path: str, what: str) -> Problem:
    name = path.rpartition("/")[2].replace("~1", "/") or "The envelope"
    return Violation(rule.code, path, f"{name} {what}.")


def _check_members(envelope: JsonObject) -> Iterator[Problem]:
    """Check the envelope's own members."""
    try:
        read = Envelope.model_validate(envelope)
    except ValidationError as exc:
        yield from validation_problems(exc)
        return
    try:
        iso_utc(read.timestamp)
    except OverflowError:
        yield _problem(rules.MALFORMED_ENVELOPE, ("timestamp",), "must be a time that UTC has")


def _check_type_and_version(envelope: JsonObject) -> Iterator[Problem]:
    text = envelope.get("payload_type")
    if isinstance(text, str) and normalize_payload_type(text) is None:
        yield unknown_type_problem(PAYLOADS)
    version = envelope.get("asap_version")
    if isinstance(version, str) and version != ASAP_PROTOCOL_VERSION:
        yield _problem(
            rules.VERSION_MISMATCH, ("asap_version",), f"must be {ASAP_PROTOCOL_VERSION}"
        )


def _check_ids(envelope: JsonObject) -> Iterator[Problem]:
    for name in _ENVELOPE_IDS:
        if envelope.get(name) != "" or name != "correlation_id":
            yield from _check_id(envelope, name, ())
    payload = envelope.get("payload")
    if isinstance(payload, dict):
        for name in _PAYLOAD_IDS:
            yield from _check_id(payload, name, ("payload",))


def is_id(value: object) -> TypeGuard[str]:
    """Return whether a value is 1 to 256 characters, none of control."""
    return isinstance(value, str) and 1 <= len(value) <= MAX_ID_LENGTH and not _has_control(value)


def _has_control(text: str) -> bool:
    return _CONTROL.search(text) is not None


def _check_id(owner: JsonObject, name: str, path: JsonPath) -> Iterator[Problem]:
    text = owner.get(name)
    if isinstance(text, str) and not is_id(text):
        what = f"must have 1 to {MAX_ID_LENGTH} characters, none of control"
        yield _problem(rules.BAD_ID, (*path, name), what)


def _check_open_members(envelope: JsonObject, name: str | None) -> Iterator[Problem]:
    for path, member in open_members(envelope, name):
        what = open_member_problem(member)
        if what:
            yield _problem(rules.BAD_JSON, path, what)


def _check_payload(envelope: JsonObject, name: str) -> Iterator[Problem]:
    payload = envelope.get("payload")
    if not isinstance(payload, dict):
        return
    bare = {member: value for member, value in payload.items() if member != "payload_type"}
    try:
        PAYLOADS[name].model_validate(bare)
    except ValidationError as exc:
        yield from validation_problems(exc, "payload")
    version = payload.get("version")
    if type(version) is int and not -(1 << 63) <= version < 1 << 63:
        what = "must be an integer of 64 bits"
        yield _problem(rules.BAD_PAYLOAD, ("payload", "version"), what)
    parent = payload.get("parent_task_id")
    if parent is not None and parent == envelope.get("id"):
        what = "must be another task's id"
        yield _problem(rules.BAD_PAYLOAD, ("payload", "parent_task_id"), what)


def _check_roles(envelope: JsonObject, name: str, limits: Limits) -> Iterator[Problem]:
    """Check sender and recipient, as far as the envelope alone allows."""
    sender, recipient = envelope.get("sender"), envelope.get("recipient")
    payload = envelope.get("payload")
    if name == "MessageSend" and isinstance(payload, dict):
        author = payload.get("sender")
        if isinstance(author, str) and isinstance(sender, str) and author != sender:
            what = "must be the envelope's sender"
            yield _problem(rules.SENDER_MISMATCH, ("payload", "sender"), what)
    if sender == limits.service_urn:
        yield _problem(rules.RESERVED_URN, ("sender",), "must not be the service")
    if recipient == limits.service_urn and name in _NOT_FOR_SERVICE:
        what = f"must not be the service for a {name}"
        yield _problem(rules.RESERVED_URN, ("recipient",), what)


def _check_config_and_extensions(
    envelope: JsonObject, name: str, limits: Limits
) -> Iterator[Problem]:
    """Check the config and the extensions that the log interprets."""
    payload, extensions = envelope.get("payload"), envelope.get("extensions")
    config = payload.get("config") if isinstance(payload, dict) else None
    if name == "TaskRequest" and isinstance(config, dict):
        for member, what in config_problems(config, limits.max_retention_hours):
            yield _problem(rules.BAD_CONFIG, ("payload", "config", member), what)
    members = extensions if isinstance(extensions, dict) else {}
    for path, what in extension_problems(members, name):
        yield _problem_at(rules.BAD_EXTENSION, path, what)
    to_service = envelope.get("recipient") == limits.service_urn
    if name == "TaskUpdate" and to_service and EXT_SNAPSHOT not in members:
        what = f"must have {EXT_SNAPSHOT} in a TaskUpdate to the service"
        yield _problem(rules.BAD_EXTENSION, ("extensions",), what)


def _check_size(
    envelope: JsonObject, size: int | None, limits: Limits, *, sound: bool
) -> Iterator[Problem]:
    """Check the size.  sound: there is no other problem, so a canonical form exists."""
    if size is None:
        try:
            size = len(canonical_json(canonical_form(envelope) if sound else envelope))
        except (ValueError, TypeError, RecursionError):
            return  # other rules report it
    if size > limits.max_envelope_bytes:
        what = f"has {size} bytes of canonical JSON, {limits.max_envelope_bytes} are allowed"
        yield _problem(rules.ENVELOPE_TOO_LARGE, (), what)
