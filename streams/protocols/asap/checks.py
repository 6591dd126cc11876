"""Envelopes: shape, hash, place, the code of each refusal, sequences and the steps of tasks.

Not derived again: roles, claims, depth and manifests, which rest on rows of other keys as they
stood then; the comparison of rows bears out what came of them.

Source: ASAP spec, 3, 5.2 and 5.3.
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

_BOUNDED = frozenset({"envelope_too_large", "held_overflow"})
_NO_LIMITS = {
    "ASAP_SERVICE_URN": "",
    "ASAP_MAX_ENVELOPE_BYTES": 1 << 40,
    "ASAP_MAX_RETENTION_HOURS": 1 << 40,
}
_SET = frozenset({"envelope_too_large", "reserved_urn", "bad_config", "bad_extension"})
"""Rules of the shape that settings have a part in, which may have been others then."""
_MISPLACED = ("key_mismatch", "partition_mismatch")


def check(fact: Fact, command: Message | None, given: CheckContext) -> Problems:
    value = fact.value or {}
    yield from _steps(fact, given)
    if value["task_id"] is not None:
        _snapshots(fact, given)
    if value["sequence"] is not None:
        yield from check_sequence("sequence", (value["task_id"],), value["sequence"], given)
    if value["verdict"] == "rejected":
        wanted = rules.ASAP_ERRORS.get(value["rule"])
        yield from check_equal("asap_error", value["asap_error"], wanted)
    if value["kind"] == "envelope" and command is not None and value["rule"] not in _BOUNDED:
        yield from _envelope(fact, command, given)


def _envelope(fact: Fact, message: Message, given: CheckContext) -> Problems:
    value = fact.value or {}
    command = Command.of(message, _NO_LIMITS)
    told = {
        "at": command.at,
        "trace_id": command.trace_id,
        "envelope_id": command.id,
        "payload_type": command.kind,
        "sender": command.sender,
        "recipient": command.recipient,
    }
    yield from check_members(value, told)
    violations = orjson.loads(value["figures_json"]).get("violations", [])
    codes = dict.fromkeys(problem.rule for problem in command.problems)
    derived = [code for code in codes if code not in _SET]
    yield from check_equal("the broken rules", [c for c in violations if c not in _SET], derived)
    if violations:
        yield from check_equal("rule", value["rule"], violations[0])
        return
    yield from check_equal("envelope_hash", value["envelope_hash"], command.sha256)
    record = message.record
    misplaced = partition_mismatch(record.key, command.task_key, record.partition, given)
    if misplaced or value["rule"] in _MISPLACED:
        yield from check_equal("rule", value["rule"], misplaced)
    if value["verdict"] == "accepted":
        yield from check_equal("envelope", value["envelope"], command.canonical)
    yield from _repeated(fact, command, given)


def _repeated(fact: Fact, command: Command, given: CheckContext) -> Problems:
    """An id that was accepted before is a duplicate, or a conflict."""
    value = fact.value or {}
    place = ("asap", command.task_key, command.sender, command.id)
    known = given.seen.get(*place)
    if value["verdict"] == "accepted":
        yield from check_that(known is None, "its id was accepted before")
        given.seen.put(command.sha256, *place)
    elif value["rule"] == "same_envelope" and (known is not None or not fact.cut_off):
        yield from check_that(known == command.sha256, "no such envelope was accepted before")


def _steps(fact: Fact, given: CheckContext) -> Problems:
    value = fact.value or {}
    place = ("asap-status", value["task_id"])
    before = given.seen.get(*place)
    for moved in value["transitions"]:
        start, end = moved["from_status"] or MACHINE.initial, moved["to_status"]
        if before is not None:
            yield from check_equal("from_status", start, before)
        yield from check_that(
            reachable(MACHINE, start, end), f"no step leads from {start} to {end}"
        )
        before = end
    if value["transitions"]:
        given.seen.put(before, *place)
        yield from check_equal("status", value["status"], before)


def _snapshots(fact: Fact, given: CheckContext) -> None:
    """Which versions there are, and by which cause."""
    value = fact.value or {}
    task_id = value["task_id"]
    if value["snapshot_version"] is not None:
        given.seen.put(fact.cause, "snapshot", task_id, value["snapshot_version"])
    for version in orjson.loads(value["figures_json"]).get("deleted", []):
        given.seen.put(None, "snapshot", task_id, version)
