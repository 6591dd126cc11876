"""Checks of acks, cache verdicts and outcomes: shapes, hashes, partitions, duplicates, ends.

Not derived again: checks of the constitution, whose text may have changed (`headrace sap explain`
evaluates a task under the present one), rate limits, authorizations, and learned values.

Source: SAP guide, 3.1, 5.2 to 5.4.
"""

from __future__ import annotations

import orjson

from schemas import sap, to_json
from schemas.sap.rules import BAD_ENUM, PAYLOAD_SECRET
from streams.engine.processor import Message
from streams.masking.shapes import shapes_of
from streams.protocols.sap.payload_secrets import find_secret
from streams.protocols.sap.processor.commands import Command
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
from topology.machines.sap_task import MACHINE
from topology.sap import SAP_CACHE

_PARTITION_RULES = ("key_mismatch", "partition_mismatch")
_QUEUED = "QUEUED"
_CACHE_RECORD = SAP_CACHE.record or ""


def cache_verdict(fact: Fact, message: Message | None, context: CheckContext) -> Problems:
    """Check a fact of `sap.verdicts`: a hit carries the record that was stored.

    A hit at admission names its hash, and where the verdict lies that it was stored.  Facts are
    read partition by partition, so either of the two may come first.
    """
    value = fact.value or {}
    place = (value["cacheKey"], value["version"])
    if value["verdict"] == "stored" and value["recordSha256"] is not None:
        context.seen.put(value["recordSha256"], "stored", *place)
        context.seen.put(fact.place, "stored at", *place)
    elif value["verdict"] == "hit" and value["record"] is not None:
        sha256 = sap.record_sha256(to_json(_CACHE_RECORD, value["record"]))
        yield from _check_same("hash of the record", sha256, ("hit", *place), context)
        if value["recordSha256"] is not None:
            yield from check_equal("recordSha256", value["recordSha256"], sha256)
            named = ("named", *place)
            yield from _check_same("stored position", value["lookupId"], named, context)
    else:
        return
    stored, served = context.seen.get("stored", *place), context.seen.get("hit", *place)
    if stored is not None and served is not None:
        yield from check_equal("the hash of the record of a hit", served, stored)
    named, stored_at = context.seen.get("named", *place), context.seen.get("stored at", *place)
    if named is not None and stored_at is not None:
        yield from check_equal("the stored position of a hit", named, stored_at)


def _check_same(what: str, value: str, key: tuple[object, ...], context: CheckContext) -> Problems:
    """Check that this value is the one that an earlier fact had."""
    other = context.seen.get(*key)
    if other not in (None, value):
        yield from check_equal(f"the {what}", value, other)
    context.seen.put(value, *key)


def ack(fact: Fact, message: Message | None, context: CheckContext) -> Problems:
    """Check a fact of `sap.acks`."""
    value = fact.value or {}
    status = "NACK" if value["verdict"] == "rejected" else "ACK"
    yield from check_equal("status", value["status"], status)
    if message is not None and value["fault"] != "service":
        yield from _check_command(fact, message, context)
    code = sap.nack_code(value["rule"], value["subject"]) if status == "NACK" else None
    yield from check_equal("code", value["code"], code)


def _check_command(fact: Fact, message: Message, context: CheckContext) -> Problems:
    value, record = fact.value or {}, message.record
    # Earlier releases refused all words of evidence but their own, and their facts stay.
    own_words = context.settings["SAP_EVIDENCE_WORDS"] == "strict"
    command = Command(message, strict=own_words or value["rule"] == BAD_ENUM.code)
    expected = {
        "at": command.at,
        "subject": command.subject,
        "messageId": command.message_id,
        "taskId": command.task_id,
        "correlationId": command.correlation_id,
        "envelopeSha256": command.sha256,
    }
    yield from check_members(value, expected)
    if command.problems:
        yield from check_equal("rule", value["rule"], command.problems[0].rule)
        return
    mismatch = partition_mismatch(record.key, command.known_id, record.partition, context)
    if mismatch or value["rule"] in _PARTITION_RULES:
        yield from check_equal("rule", value["rule"], mismatch)
        return
    if value["rule"] == PAYLOAD_SECRET.code:
        # Not so of accepted tasks: earlier releases only warned, and their facts stay.
        refuses = context.settings["SAP_PAYLOAD_SECRETS"] == "refuse"
        has_secret = find_secret(command.json, shapes_of(context.settings)) is not None
        yield from check_that(refuses and has_secret, "the payload is not to be refused")
        return
    yield from _repeated(fact, command, context)


def _repeated(fact: Fact, command: Command, context: CheckContext) -> Problems:
    """Check that a duplicate names the accepted record, and that both have the same content."""
    value = fact.value or {}
    if value["verdict"] == "accepted":
        context.seen.put(command.sha256, "sap", command.cause)
        if command.kind == "task":
            state_key = ("sap-state", command.known_id)
            first = context.seen.get(*state_key) is None
            yield from check_that(first, "this task was accepted before")
            context.seen.put(_QUEUED, *state_key)
    elif value["verdict"] == "duplicate":
        known = context.seen.get("sap", value["duplicateOf"])
        message = f"it does not say the same as {value['duplicateOf']}"
        yield from check_that(known in (None, command.sha256), message)


def outcome(fact: Fact, message: Message | None, context: CheckContext) -> Problems:
    """Check a fact of `sap.outcomes`: numbered, along the machine, none after the end."""
    value = fact.value or {}
    meta = orjson.loads(value["meta_json"])["headrace"]
    task_id, state = value["taskId"].lower(), value["status"]
    yield from check_sequence("outcome", (task_id,), meta["seq"], context)
    before = context.seen.get("sap-state", task_id)
    if before is not None and before != state:
        problem = f"no step leads from {before} to {state}"
        yield from check_that(reachable(MACHINE, before, state), problem)
    elif before is not None:
        yield from check_that(state not in MACHINE.terminal, "the task had ended")
    context.seen.put(state, "sap-state", task_id)
