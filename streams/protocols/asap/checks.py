"""Checks of envelopes' facts: shape, hash, partition, refusal codes, sequences and transitions.

Not derived again: roles, claims, depth and manifests, which depend on rows of other keys at that
time; the comparison of rows covers their results.

Source: ASAP guide, 3, 5.2 and 5.3.
"""

from __future__ import annotations

import orjson

from schemas.asap import rules
from streams.engine.processor import Message
from streams.protocols.asap.processor.command import Command
from streams.replay.checks import (
    CheckContext,
    Problems,
    check_equal,
    check_members,
    check_sequence,
    check_that,
    partition_mismatch,
    reachable,
)
from streams.replay.facts import Fact
from topology.machines.asap_task import MACHINE

_LIMIT_RULES = frozenset({"envelope_too_large", "held_overflow"})
_NO_LIMITS = {
    "ASAP_SERVICE_URN": "",
    "ASAP_MAX_ENVELOPE_BYTES": 1 << 40,
    "ASAP_MAX_RETENTION_HOURS": 1 << 40,
}
_SETTING_RULES = frozenset({"envelope_too_large", "reserved_urn", "bad_config", "bad_extension"})
"""Rules of the shape that depend on settings, which may have changed since."""
_MISMATCH_RULES = ("key_mismatch", "partition_mismatch")


def check(fact: Fact, command: Message | None, context: CheckContext) -> Problems:
    value = fact.value or {}
    yield from _check_transitions(fact, context)
    if value["task_id"] is not None:
        _record_snapshots(fact, context)
    if value["sequence"] is not None:
        yield from check_sequence("sequence", (value["task_id"],), value["sequence"], context)
    if value["verdict"] == "rejected":
        expected = rules.ASAP_ERRORS.get(value["rule"])
        yield from check_equal("asap_error", value["asap_error"], expected)
    if value["kind"] == "envelope" and command is not None and value["rule"] not in _LIMIT_RULES:
        yield from _check_envelope(fact, command, context)


def _check_envelope(fact: Fact, message: Message, context: CheckContext) -> Problems:
    value = fact.value or {}
    command = Command.of(message, _NO_LIMITS)
    expected = {
        "at": command.at,
        "trace_id": command.trace_id,
        "envelope_id": command.id,
        "payload_type": command.kind,
        "sender": command.sender,
        "recipient": command.recipient,
    }
    yield from check_members(value, expected)
    violations = orjson.loads(value["figures_json"]).get("violations", [])
    codes = dict.fromkeys(problem.rule for problem in command.problems)
    derived = [code for code in codes if code not in _SETTING_RULES]
    yield from check_equal(
        "the broken rules", [c for c in violations if c not in _SETTING_RULES], derived
    )
    if violations:
        yield from check_equal("rule", value["rule"], violations[0])
        return
    yield from check_equal("envelope_hash", value["envelope_hash"], command.sha256)
    record = message.record
    mismatch = partition_mismatch(record.key, command.task_key, record.partition, context)
    if mismatch or value["rule"] in _MISMATCH_RULES:
        yield from check_equal("rule", value["rule"], mismatch)
    if value["verdict"] == "accepted":
        yield from check_equal("envelope", value["envelope"], command.canonical)
    yield from _check_repeat(fact, command, context)


def _check_repeat(fact: Fact, command: Command, context: CheckContext) -> Problems:
    """Check that an id that was accepted before is a duplicate or a conflict."""
    value = fact.value or {}
    key = ("asap", command.task_key, command.sender, command.id)
    known = context.seen.get(*key)
    if value["verdict"] == "accepted":
        yield from check_that(known is None, "its id was accepted before")
        context.seen.put(command.sha256, *key)
    elif value["rule"] == "same_envelope" and (known is not None or not fact.cut_off):
        is_same = known is not None and command.is_same_as(known)
        yield from check_that(is_same, "no such envelope was accepted before")


def _check_transitions(fact: Fact, context: CheckContext) -> Problems:
    """Check that each transition follows the one before and exists in the state machine."""
    value = fact.value or {}
    key = ("asap-status", value["task_id"])
    before = context.seen.get(*key)
    for transition in value["transitions"]:
        start, end = transition["from_status"] or MACHINE.initial, transition["to_status"]
        if before is not None:
            yield from check_equal("from_status", start, before)
        yield from check_that(
            reachable(MACHINE, start, end), f"no step leads from {start} to {end}"
        )
        before = end
    if value["transitions"]:
        context.seen.put(before, *key)
        yield from check_equal("status", value["status"], before)


def _record_snapshots(fact: Fact, context: CheckContext) -> None:
    """Record the versions that exist, with the cause of each."""
    value = fact.value or {}
    task_id = value["task_id"]
    if value["snapshot_version"] is not None:
        context.seen.put(fact.cause, "snapshot", task_id, value["snapshot_version"])
    for version in orjson.loads(value["figures_json"]).get("deleted", []):
        context.seen.put(None, "snapshot", task_id, version)
