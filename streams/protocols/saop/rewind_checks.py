"""The log of rewinds: shape, place, and where each rewind stands.

Not derived again: which tasks moved, which rests on where the session stood, and when a prepared
rewind had to lapse (a setting).

Source: SAOP/RTES spec, 4.6 and 5.3.
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
"""Of a rewind that was prepared and never came: a fact besides the verdict on its command."""
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
"""Rules that speak of where the rewind stands."""


def logged(fact: Fact, command: Message | None, given: CheckContext) -> Problems:
    """`saop.rewind-log`."""
    value = fact.value or {}
    if value["phase"] != LAPSE and command is not None:
        yield from _sent(fact, command, given)
    key = composite(value["session_id"], value["rewind_id"].lower())
    stands = given.seen.get("rewind", key)
    if stands is None and fact.cut_off:
        stands = value["state"]
    stands = stands or MACHINE.initial
    if value["verdict"] == "accepted":
        after = step(MACHINE, stands, value["phase"])
        told = f"{value['phase']} does not lead from {stands} to {value['state']}"
        yield from check_that(fact.cut_off or after == value["state"], told)
        given.seen.put(value["state"], "rewind", key)
        given.owed.row(REWINDS, key, fact)
    elif value["rule"] in _STANDING:
        yield from check_equal("state", value["state"], stands)


def _sent(fact: Fact, command: Message, given: CheckContext) -> Problems:
    value, sent, record = fact.value or {}, command.value, command.record
    named = ("rewind_id", "session_id", "phase", "requested_by")
    told = {name: sent[name] for name in named}
    yield from check_members(value, {**told, "at": record.timestamp})
    problems = saop.validate_rewind(to_json("headrace.saop.SaopRewind", sent))
    if problems:
        yield from check_equal("rule", value["rule"], problems[0].rule)
        return
    misplaced = partition_mismatch(record.key, sent["session_id"], record.partition, given)
    if misplaced or value["rule"] in _MISPLACED:
        yield from check_equal("rule", value["rule"], misplaced)


def rewinds(rows: Rows, given: CheckContext) -> RowProblems:
    for key, row in rows:
        state = given.seen.get("rewind", key)
        if state != row["state"]:
            yield key, f"it is {row['state']}, the facts make it {state}"
