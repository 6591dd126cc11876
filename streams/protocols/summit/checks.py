"""Calls, replies and manifests: shape, hash, place, versions and steps of runs, timeouts.

Not derived again: schemas of manifests that an input or an output was held against; the comparison
of rows bears out what came of them.

Source: Summit 5.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemas import summit
from schemas.summit import rules
from streams.engine.processor import Message
from streams.protocols.summit.processor.inbound import Call, Reply
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
from topology.keys import composite
from topology.machines.summit_run import MACHINE
from topology.summit import SUMMIT_AGENTS_TABLE, SUMMIT_CALLS

_BUDGETS = (rules.BUDGET_USD.code, rules.BUDGET_TOKENS.code)
_MISPLACED = (rules.KEY_MISMATCH.code, rules.PARTITION_MISMATCH.code)


def check(fact: Fact, command: Message | None, given: CheckContext) -> Problems:
    value = fact.value or {}
    if value["verdict"] == "rejected":
        yield from check_equal("fault", value["fault"], rules.fault_of(value["rule"]))
    if value["subject"] == "manifest":
        yield from _manifest(fact, command, given)
        return
    yield from _run(fact, given)
    if command is not None and value["subject"] in ("call", "reply"):
        inbound = Call(command) if command.topic is SUMMIT_CALLS else Reply(command)
        yield from _record(fact, inbound, command, given)


def _manifest(fact: Fact, command: Message | None, given: CheckContext) -> Problems:
    value = fact.value or {}
    if value["verdict"] == "accepted" and value["toState"] is not None:
        given.seen.put(value["toState"], "agent", value["agentId"])
    if value["verdict"] == "accepted":
        given.owed.row(SUMMIT_AGENTS_TABLE, value["agentId"], fact)
        version = composite(value["agentId"], value["manifestVersion"])
        given.owed.row(SUMMIT_AGENTS_TABLE, version, fact)
    if command is None or command.record.value is None:
        return
    judged = summit.judge_manifest(command.value)
    yield from check_equal("contentHash", value["contentHash"], judged.hash)
    if value["verdict"] == "accepted":
        problem = None if judged.problem is None else judged.problem.rule
        yield from check_equal("the broken rule", None, problem)


def _record(fact: Fact, inbound: Call | Reply, command: Message, given: CheckContext) -> Problems:
    value, record = fact.value or {}, command.record
    told = {**inbound.members, "at": record.timestamp, "subject": inbound.subject}
    if inbound.agent_id is None:
        told.pop("agentId")  # then it is the run's
    yield from check_members(value, told)
    if inbound.problem is not None:
        yield from check_equal("rule", value["rule"], inbound.problem.rule)
        return
    if value["rule"] in _BUDGETS:
        yield from check_equal("rule", value["rule"], _broken_budget(value["figures"]))
    misplaced = partition_mismatch(record.key, inbound.run_id, record.partition, given)
    if misplaced is not None:
        misplaced = dict(zip(("key_mismatch", "partition_mismatch"), _MISPLACED, strict=True))[
            misplaced
        ]
    if misplaced or value["rule"] in _MISPLACED:
        yield from check_equal("rule", value["rule"], misplaced)


def _broken_budget(figures: Mapping[str, float]) -> str | None:
    """By the totals and limits that the fact records."""
    budget = {"usd": figures.get("usd"), "tokens": figures.get("tokens_budget")}
    return summit.broken_budget(budget, {"cost_usd": 0, "tokens": 0, **figures})


def _run(fact: Fact, given: CheckContext) -> Problems:
    """Versions count up; steps lead on from where the run stands."""
    value = fact.value or {}
    if value["verdict"] not in ("accepted", "fired"):
        return
    if value["runVersion"] is not None:
        yield from check_sequence("runVersion", (value["runId"],), value["runVersion"], given)
    start, end = value["fromState"], value["toState"]
    if end is None:
        return
    before = given.seen.get("summit", value["runId"])
    if before is not None:
        yield from check_equal("fromState", start, before)
    yield from check_that(reachable(MACHINE, start, end), f"no step leads from {start} to {end}")
    given.seen.put(end, "summit", value["runId"])
