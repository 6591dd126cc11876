"""Checks of turns, their log, and events of sessions: shapes, hashes, order, numbers.

Not derived again: how far ahead a turn may be and how long it is held (settings), missing
escalations, and the masking of events, whose originals are not on the log.

Source: SAOP guide, 2 to 5.
"""

from __future__ import annotations

from schemas import saop
from streams.engine.processor import Message
from streams.protocols.saop.processor.detectors import decline_of, slope_of
from streams.protocols.saop.processor.turn import TurnRecord
from streams.replay.checks import (
    CheckContext,
    Problems,
    check_equal,
    check_members,
    check_sequence,
    check_that,
    partition_mismatch,
)
from streams.replay.facts import Fact
from topology.core import RTES_RAW

_BOUNDED = frozenset({"output_too_large"})
OF_SERVICE = frozenset({"paused", "resumed"})
"""Rules of events that the service adds to those that were sent."""
_MISPLACED = ("key_mismatch", "partition_mismatch")


def verdict(fact: Fact, command: Message | None, context: CheckContext) -> Problems:
    """Check a fact of `saop.verdicts`."""
    value = fact.value or {}
    if command is None or value["rule"] in _BOUNDED:
        return
    turn, record = TurnRecord(command), command.record
    expected = {"at": turn.at, "turn_index": turn.turn_index, "agent_id": turn.value["agent_id"]}
    yield from check_members(value, {**expected, "task_id": turn.valid_task_id})
    problems = saop.validate_turn(turn.json, avro=True)
    if problems:
        yield from check_equal("rule", value["rule"], problems[0].rule)
        return
    yield from check_equal("canonical_hash", value["canonical_hash"], turn.canonical_hash)
    mismatch = partition_mismatch(record.key, turn.task_id, record.partition, context)
    if mismatch or value["rule"] in _MISPLACED:
        yield from check_equal("rule", value["rule"], mismatch)
        return
    turn_id = ("turn", turn.task_id, turn.turn_index)
    known = context.seen.get(*turn_id)
    if value["verdict"] == "accepted":
        yield from check_that(known is None, "this turn was accepted before")
        context.seen.put(turn.canonical_hash, *turn_id)
        if fact.settled:
            context.promised.put(fact.place, fact.cause)
    elif value["verdict"] == "duplicate" and (known is not None or not fact.cut_off):
        yield from check_that(known == turn.canonical_hash, "no such turn was accepted before")


def logged(fact: Fact, command: Message | None, context: CheckContext) -> Problems:
    """Check a fact of `saop.log`: ascending, each accepted turn at most once, with its hash."""
    value = fact.value or {}
    turn = value["turn"]
    task_id, index = turn["metadata"]["task_id"], turn["turn_index"]
    last = context.seen.get("logged", task_id)
    yield from check_that(last is None or index > last, f"turn {index} is logged after {last}")
    context.seen.put(index, "logged", task_id)
    context.outcomes.put(fact.place, fact.cause)
    context.seen.put(turn["metadata"]["confidence"], "confidence", task_id, index)
    hash = saop.turn_hash(saop.turn_json(turn))
    yield from check_equal("canonical_hash", value["canonical_hash"], hash)
    known = context.seen.get("turn", task_id, index)
    yield from check_that(known in (None, hash), "it is not the turn that was accepted")


def escalation(fact: Fact, command: Message | None, context: CheckContext) -> Problems:
    """Check a fact of `saop.escalations`: its figures meet the thresholds of the rules it names."""
    value = fact.value or {}
    limits, confidences = value["thresholds"], value["confidences"]
    if "window" in limits:
        seen = confidences[-int(limits["window"]) :]
        yield from check_equal("slope", value["slope"], slope_of(seen))
        holds = value["slope"] <= limits["slope"] and seen[-1] <= limits["ceiling"]
        yield from check_that(holds, "the slope is no reason, or the last confidence is none")
    if "declines" in limits:
        decline = decline_of(confidences[-int(limits["declines"]) - 1 :])
        yield from check_equal("decline", value["decline"], decline)
        yield from check_that(decline is not None and decline >= limits["drop"], "no such decline")
    for number, limit in (("run_length", "repeats"), ("failures", "failures")):
        if limit in limits:
            yield from check_that(
                value[number] >= limits[limit], f"{number} is below {limits[limit]}"
            )
    for index, confidence in zip(value["turn_indexes"], confidences, strict=False):
        logged_as = context.seen.get("confidence", value["task_id"], index)
        if logged_as is not None:
            yield from check_equal(f"the confidence of turn {index}", confidence, logged_as)


def event(fact: Fact, command: Message | None, context: CheckContext) -> Problems:
    """Check a fact of `rtes.events`."""
    value = fact.value or {}
    session = value["session_id"]
    if command is not None and command.topic is RTES_RAW and value["rule"] not in OF_SERVICE:
        sent = {name: command.value[name] for name in ("event_id", "session_id", "origin")}
        yield from check_members(value, sent)
        yield from check_equal("payload", value["payload"][0], command.value["payload"][0])
    yield from check_sequence("sequence", (session,), value["sequence"], context)
    last = context.seen.get("recorded", session)
    ordered = last is None or value["recorded_at"] >= last
    yield from check_that(ordered, f"it is recorded at {value['recorded_at']}, after {last}")
    context.seen.put(value["recorded_at"], "recorded", session)
    known = context.seen.get("event", session, value["event_id"])
    yield from check_that(known is None, f"the event was recorded before, at {known}")
    context.seen.put(fact.place, "event", session, value["event_id"])


def rejection(fact: Fact, command: Message | None, context: CheckContext) -> Problems:
    """Check a fact of `rtes.rejections`."""
    value = fact.value or {}
    if value["verdict"] == "duplicate":
        message = "it repeats no event that is recorded"
        yield from check_that(value["first_sequence"] is not None, message)
