"""Acknowledgements, verdicts of the cache, outcomes: shapes, hashes, places, repetitions, ends.

Not derived again: the constitution's findings, whose text may have changed (`headrace sap-explain`
judges a task by the present one), rate limits, authorizations, and what was learned.

Source: SAP spec, 3.1, 5.2 to 5.4.
"""

from __future__ import annotations

import orjson

from schemas import sap
from streams.engine.processor import Message
from streams.protocols.sap.processor.commands import Command
from streams.replay.checking import (
    Given,
    Said,
    in_place,
    members,
    numbered,
    reachable,
    same,
    unless,
)
from streams.replay.facts import Fact
from topology.machines.sap_task import MACHINE

_MISPLACED = ("key_mismatch", "partition_mismatch")
_QUEUED = "QUEUED"


def ack(fact: Fact, message: Message | None, given: Given) -> Said:
    """`sap.acks`."""
    value = fact.value or {}
    status = "NACK" if value["verdict"] == "rejected" else "ACK"
    yield from same("status", value["status"], status)
    code = sap.nack_code(value["rule"], value["subject"]) if status == "NACK" else None
    yield from same("code", value["code"], code)
    if message is None or value["fault"] == "service":
        return
    command, record = Command(message), message.record
    told = {
        "at": command.at,
        "subject": command.subject,
        "messageId": command.message_id,
        "taskId": command.task_id,
        "correlationId": command.correlation_id,
        "envelopeSha256": command.sha256,
    }
    yield from members(value, told)
    if command.problems:
        yield from same("rule", value["rule"], command.problems[0].rule)
        return
    misplaced = in_place(record.key, command.known_id, record.partition, given)
    if misplaced or value["rule"] in _MISPLACED:
        yield from same("rule", value["rule"], misplaced)
        return
    yield from _repeated(fact, command, given)


def _repeated(fact: Fact, command: Command, given: Given) -> Said:
    """A duplicate names the record that was accepted, which says the same."""
    value = fact.value or {}
    if value["verdict"] == "accepted":
        given.seen.put(command.sha256, "sap", command.cause)
        if command.kind == "task":
            told = "this task was accepted before"
            place = ("sap-state", command.known_id)
            yield from unless(given.seen.get(*place) is None, told)
            given.seen.put(_QUEUED, *place)
    elif value["verdict"] == "duplicate":
        known = given.seen.get("sap", value["duplicateOf"])
        told = f"it does not say the same as {value['duplicateOf']}"
        yield from unless(known in (None, command.sha256), told)


def outcome(fact: Fact, message: Message | None, given: Given) -> Said:
    """`sap.outcomes`: numbered, one after another along the machine, none after the end."""
    value = fact.value or {}
    said = orjson.loads(value["meta_json"])["headrace"]
    task_id, state = value["taskId"].lower(), value["status"]
    yield from numbered("outcome", (task_id,), said["seq"], given)
    before = given.seen.get("sap-state", task_id)
    if before is not None and before != state:
        told = f"no step leads from {before} to {state}"
        yield from unless(reachable(MACHINE, before, state), told)
    elif before is not None:
        yield from unless(state not in MACHINE.terminal, "the task had ended")
    given.seen.put(state, "sap-state", task_id)
