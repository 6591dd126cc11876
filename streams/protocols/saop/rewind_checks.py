"""The checks of the log of rewinds: shape, position, and the state of each rewind.

Not derived again: which tasks were set back, which depends on the session's state, and when a
prepared rewind had to expire (a setting).

Source: SAOP guide, 4.6 and 5.3.
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
from topology.machine import step
from topology.machines.saop_rewind import MACHINE
from topology.saop import REWINDS

LAPSE = "lapse"
"""The phase of a fact about an expired rewind, besides the verdict on its command."""
_MISPLACED = ("key_mismatch", "partition_mismatch")
_STANDING = frozenset(
    rule.code
    for rule in (
        rules.REWIND_DUPLICATE,
        rules.REWIND_CONFLICT,
        rules.REWIND_UNKNOWN,
        rules.REWIND_ALREADY_APPLIED,
        rules.REWIND_ABORTED,
        rules.REWIND_LAPSED,
    )
)
"""Rules about the state of the rewind."""


def logged(fact: Fact, command: Message | None, context: CheckContext) -> Problems:
    """Check a fact of `saop.rewind-log`."""
    value = fact.value or {}
    if value["phase"] != LAPSE and command is not None:
        yield from _sent(fact, command, context)
    key = composite(value["session_id"], value["rewind_id"].lower())
    state = context.seen.get("rewind", key)
    if state is None and fact.cut_off:
        state = value["state"]
    state = state or MACHINE.initial
    if value["verdict"] == "accepted":
        after = step(MACHINE, state, value["phase"])
        message = f"{value['phase']} does not lead from {state} to {value['state']}"
        yield from check_that(fact.cut_off or after == value["state"], message)
        context.seen.put(value["state"], "rewind", key)
        context.owed.row(REWINDS, key, fact)
    elif value["rule"] in _STANDING:
        yield from check_equal("state", value["state"], state)


def _sent(fact: Fact, command: Message, context: CheckContext) -> Problems:
    value, sent, record = fact.value or {}, command.value, command.record
    named = ("rewind_id", "session_id", "phase", "requested_by")
    expected = {name: sent[name] for name in named}
    yield from check_members(value, {**expected, "at": record.timestamp})
    problems = saop.validate_rewind(to_json("headrace.saop.SaopRewind", sent))
    if problems:
        yield from check_equal("rule", value["rule"], problems[0].rule)
        return
    mismatch = partition_mismatch(record.key, sent["session_id"], record.partition, context)
    if mismatch or value["rule"] in _MISPLACED:
        yield from check_equal("rule", value["rule"], mismatch)


def rewinds(rows: Rows, context: CheckContext) -> RowProblems:
    for key, row in rows:
        state = context.seen.get("rewind", key)
        if state != row["state"]:
            yield key, f"it is {row['state']}, the facts make it {state}"
