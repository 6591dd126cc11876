"""The stateless rules (spec 3.1): one function for the edges and the processor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import ValidationError

from schemas.asap import rules
from schemas.asap.config import broken_config
from schemas.asap.envelope import Envelope, json_form
from schemas.asap.extensions import broken_extensions
from schemas.asap.faults import Violation, unknown_type, validation_problems
from schemas.asap.forms import canonical_form, iso_utc
from schemas.asap.open_json import Place, fault, open_members
from schemas.asap.payloads import PAYLOADS
from schemas.asap.spelling import normalize_payload_type
from schemas.asap.words import (
    ASAP_PROTOCOL_VERSION,
    EXT_SNAPSHOT,
    MAX_ENVELOPE_BYTES,
    MAX_ID_LENGTH,
    MAX_RETENTION_HOURS,
    SERVICE_URN,
)
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
_RANK = {code: rank for rank, code in enumerate(rules.REFUSING)}
_GENERAL = (rules.MALFORMED_ENVELOPE.code, rules.BAD_PAYLOAD.code)
_NOT_FOR_SERVICE = frozenset(
    {"TaskRequest", "McpToolCall", "McpToolResult", "McpResourceFetch", "McpResourceData"}
)


class Limits(NamedTuple):
    """The settings that stateless rules know of."""

    service_urn: str = SERVICE_URN
    max_envelope_bytes: int = MAX_ENVELOPE_BYTES
    max_retention_hours: int = MAX_RETENTION_HOURS


_DEFAULT = Limits()


def validate(obj: object, limits: Limits = _DEFAULT) -> list[Problem]:
    """What breaks the stateless rules in an envelope's JSON, what decides first; none if valid.

    An envelope without id or timestamp is as valid as with them: it gets them.
    """
    return problems_of(_json_of(obj), limits)


def _json_of(obj: object) -> Any:
    return json_form(obj) if isinstance(obj, Envelope) else obj


def problems_of(envelope: Any, limits: Limits, size: int | None = None) -> list[Problem]:
    """size: bytes of the canonical form, where they are known."""
    if not isinstance(envelope, dict):
        return [_problem(rules.MALFORMED_ENVELOPE, (), "must be an object")]
    found = [*_form(envelope), *_name(envelope), *_ids(envelope)]
    name = _known(envelope)
    found += _open(envelope, name)
    if name is not None:
        found += _payload(envelope, name)
        found += _roles(envelope, name, limits)
        found += _reserved(envelope, name, limits)
    found += _size(envelope, size, limits, sound=not found)
    return _in_order(found)


def _known(envelope: JsonObject) -> str | None:
    told = envelope.get("payload_type")
    return normalize_payload_type(told) if isinstance(told, str) else None


def _in_order(problems: list[Problem]) -> list[Problem]:
    """By the spec's table, then by path; what is special goes before what is general."""
    if not problems:
        return problems
    special = {problem.path for problem in problems if problem.rule not in _GENERAL}
    kept = [p for p in problems if p.rule not in _GENERAL or p.path not in special]
    return sorted(kept, key=lambda problem: (_RANK[problem.rule], problem.path))


def _problem(rule: Rule, place: Place, what: str) -> Problem:
    return _at(rule, pointer(*place), what)


def _at(rule: Rule, path: str, what: str) -> Problem:
    name = path.rpartition("/")[2].replace("~1", "/") or "The envelope"
    return Violation(rule.code, path, f"{name} {what}.")


def _form(envelope: JsonObject) -> Iterator[Problem]:
    """The envelope's own members."""
    try:
        read = Envelope.model_validate(envelope)
    except ValidationError as exc:
        yield from validation_problems(exc)
        return
    try:
        iso_utc(read.timestamp)
    except OverflowError:
        yield _problem(rules.MALFORMED_ENVELOPE, ("timestamp",), "must be a time that UTC has")


def _name(envelope: JsonObject) -> Iterator[Problem]:
    told = envelope.get("payload_type")
    if isinstance(told, str) and normalize_payload_type(told) is None:
        yield unknown_type(PAYLOADS)
    version = envelope.get("asap_version")
    if isinstance(version, str) and version != ASAP_PROTOCOL_VERSION:
        yield _problem(
            rules.VERSION_MISMATCH, ("asap_version",), f"must be {ASAP_PROTOCOL_VERSION}"
        )


def _ids(envelope: JsonObject) -> Iterator[Problem]:
    for name in _ENVELOPE_IDS:
        if envelope.get(name) != "" or name != "correlation_id":
            yield from _id(envelope, name, ())
    payload = envelope.get("payload")
    if isinstance(payload, dict):
        for name in _PAYLOAD_IDS:
            yield from _id(payload, name, ("payload",))


def _id(owner: JsonObject, name: str, place: Place) -> Iterator[Problem]:
    told = owner.get(name)
    if not isinstance(told, str):
        return
    if not 1 <= len(told) <= MAX_ID_LENGTH or _CONTROL.search(told):
        what = f"must have 1 to {MAX_ID_LENGTH} characters, none of control"
        yield _problem(rules.BAD_ID, (*place, name), what)


def _open(envelope: JsonObject, name: str | None) -> Iterator[Problem]:
    for place, member in open_members(envelope, name):
        broken = fault(member)
        if broken:
            yield _problem(rules.BAD_JSON, place, broken)


def _payload(envelope: JsonObject, name: str) -> Iterator[Problem]:
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


def _roles(envelope: JsonObject, name: str, limits: Limits) -> Iterator[Problem]:
    """Who may send what to whom, as far as the envelope tells."""
    sender, recipient = envelope.get("sender"), envelope.get("recipient")
    payload = envelope.get("payload")
    if name == "MessageSend" and isinstance(payload, dict):
        told = payload.get("sender")
        if isinstance(told, str) and isinstance(sender, str) and told != sender:
            what = "must be the envelope's sender"
            yield _problem(rules.SENDER_MISMATCH, ("payload", "sender"), what)
    if sender == limits.service_urn:
        yield _problem(rules.RESERVED_URN, ("sender",), "must not be the service")
    if recipient == limits.service_urn and name in _NOT_FOR_SERVICE:
        what = f"must not be the service for a {name}"
        yield _problem(rules.RESERVED_URN, ("recipient",), what)


def _reserved(envelope: JsonObject, name: str, limits: Limits) -> Iterator[Problem]:
    """Config and extensions that mean something here."""
    payload, extensions = envelope.get("payload"), envelope.get("extensions")
    config = payload.get("config") if isinstance(payload, dict) else None
    if name == "TaskRequest" and isinstance(config, dict):
        for member, what in broken_config(config, limits.max_retention_hours):
            yield _problem(rules.BAD_CONFIG, ("payload", "config", member), what)
    told = extensions if isinstance(extensions, dict) else {}
    for path, what in broken_extensions(told, name):
        yield _at(rules.BAD_EXTENSION, path, what)
    to_service = envelope.get("recipient") == limits.service_urn
    if name == "TaskUpdate" and to_service and EXT_SNAPSHOT not in told:
        what = f"must have {EXT_SNAPSHOT} in a TaskUpdate to the service"
        yield _problem(rules.BAD_EXTENSION, ("extensions",), what)


def _size(
    envelope: JsonObject, size: int | None, limits: Limits, *, sound: bool
) -> Iterator[Problem]:
    """sound: nothing else is wrong, so that there is a canonical form to measure."""
    if size is None:
        try:
            size = len(canonical_json(canonical_form(envelope) if sound else envelope))
        except (ValueError, TypeError, RecursionError):
            return  # other rules say why
    if size > limits.max_envelope_bytes:
        what = f"has {size} bytes of canonical JSON, {limits.max_envelope_bytes} are allowed"
        yield _problem(rules.ENVELOPE_TOO_LARGE, (), what)
