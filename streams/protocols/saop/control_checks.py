"""The checks of the log of controls: shape, position, repetition, and what was moved.

Not derived again: the state of the task, which the events of its session tell.

Source: SAOP guide, 4.8.
"""

from __future__ import annotations

from schemas import saop, to_json
from schemas.saop import rules
from streams.engine.processor import Message
from streams.replay.checks import (
    CheckContext,
    Problems,
    RowProblems,
    Rows,
    check_equal,
    check_members,
    check_that,
    partition_mismatch,
)
from streams.replay.facts import Fact
from topology.keys import composite
from topology.saop import CONTROLS

_MISPLACED = ("key_mismatch", "partition_mismatch")
_NAMED = ("control_id", "session_id", "task_id", "action", "requested_by", "reason")
_ACCEPTED = {
    "pause": rules.TASK_PAUSED_BY_OPERATOR.code,
    "resume": rules.TASK_RESUMED.code,
}


def logged(fact: Fact, command: Message | None, context: CheckContext) -> Problems:
    """Check a fact of `saop.control-log`."""
    value = fact.value or {}
    key = composite(value["session_id"], value["control_id"].lower())
    known = context.seen.get("control", key)
    if command is not None:
        yield from _sent(fact, command, context)
        if value["verdict"] == "duplicate" and not fact.cut_off:
            digest = saop.control_hash(command.value)
            yield from check_equal("the control known by this id", known, digest)
    if value["verdict"] == "accepted":
        yield from check_that(known is None, "a control of this id was accepted before")
        yield from check_equal("rule", value["rule"], _ACCEPTED[value["action"]])
        yield from check_that(
            value["sequence"] is not None, "no event is named that moved the task"
        )
        if command is not None:
            context.seen.put(saop.control_hash(command.value), "control", key)
        context.owed.row(CONTROLS, key, fact)
    elif value["rule"] == rules.CONTROL_CONFLICT.code and not fact.cut_off:
        yield from check_that(known is not None, "no other control of this id was accepted")


def _sent(fact: Fact, command: Message, context: CheckContext) -> Problems:
    value, sent, record = fact.value or {}, command.value, command.record
    expected = {name: sent[name] for name in _NAMED}
    yield from check_members(value, {**expected, "at": record.timestamp})
    problems = saop.validate_control(to_json("headrace.saop.SaopControl", sent))
    if problems:
        yield from check_equal("rule", value["rule"], problems[0].rule)
        return
    mismatch = partition_mismatch(record.key, sent["session_id"], record.partition, context)
    if mismatch or value["rule"] in _MISPLACED:
        yield from check_equal("rule", value["rule"], mismatch)


def controls(rows: Rows, context: CheckContext) -> RowProblems:
    for key, row in rows:
        if context.seen.get("control", key) != row["digest"]:
            yield key, "no accepted control of this id has its hash"
