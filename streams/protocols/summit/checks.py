"""Checks of facts about calls, replies and manifests.

They cover shape, hash, partition, the versions and transitions of runs, and timeouts.  Validation
by the schemas of manifests is not repeated; the comparison of rows covers its outcome.

Source: Summit guide, 5.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemas import summit
from schemas.summit import rules
from streams.engine.processor import Message
from streams.protocols.summit import tree_checks
from streams.protocols.summit.policy_values import budget_caps
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
from topology.summit import SUMMIT_AGENTS_TABLE

_BUDGETS = (rules.BUDGET_USD.code, rules.BUDGET_TOKENS.code)
_CAPS = (rules.BUDGET_MISSING.code, rules.BUDGET_CAP.code)
_MISMATCHES = (rules.KEY_MISMATCH.code, rules.PARTITION_MISMATCH.code)


def check(fact: Fact, command: Message | None, ctx: CheckContext) -> Problems:
    value = fact.value or {}
    if value["verdict"] == "rejected":
        yield from check_equal("fault", value["fault"], rules.fault_of(value["rule"]))
    if value["subject"] == "manifest":
        yield from _check_manifest(fact, command, ctx)
        return
    yield from _check_run(fact, ctx)
    if value["verdict"] == "accepted":
        yield from tree_checks.check(value, ctx)
    if command is not None and value["subject"] in ("call", "reply"):
        is_call = value["subject"] == "call"
        inbound = Call(command, budget_caps(ctx.settings)) if is_call else Reply(command)
        yield from _check_record(fact, inbound, command, ctx)


def _check_manifest(fact: Fact, command: Message | None, ctx: CheckContext) -> Problems:
    value = fact.value or {}
    if value["verdict"] == "accepted" and value["toState"] is not None:
        ctx.seen.put(value["toState"], "agent", value["agentId"])
    if value["verdict"] == "accepted":
        ctx.owed.row(SUMMIT_AGENTS_TABLE, value["agentId"], fact)
        version = composite(value["agentId"], value["manifestVersion"])
        ctx.owed.row(SUMMIT_AGENTS_TABLE, version, fact)
    if command is None or command.record.value is None:
        return
    validated = summit.judge_manifest(command.value)
    yield from check_equal("contentHash", value["contentHash"], validated.hash)
    if value["verdict"] == "accepted":
        problem = None if validated.problem is None else validated.problem.rule
        if problem != rules.MANIFEST_JUDGE.code:  # earlier releases took any value for a judge
            yield from check_equal("the broken rule", None, problem)


def _check_record(
    fact: Fact, inbound: Call | Reply, command: Message, ctx: CheckContext
) -> Problems:
    value, record = fact.value or {}, command.record
    expected = {**inbound.members, "at": record.timestamp, "subject": inbound.subject}
    if inbound.agent_id is None:
        expected.pop("agentId")  # then the fact has that of the run
    yield from check_members(value, expected)
    if inbound.problem is not None:
        yield from check_equal("rule", value["rule"], inbound.problem.rule)
        return
    if value["rule"] in _CAPS:
        yield from check_equal("the broken rule", value["rule"], None)
    if value["rule"] in _BUDGETS:
        yield from check_equal("rule", value["rule"], _exceeded_budget(value["figures"]))
    mismatch = partition_mismatch(record.key, inbound.run_id, record.partition, ctx)
    if mismatch is not None:
        mismatch = dict(zip(("key_mismatch", "partition_mismatch"), _MISMATCHES, strict=True))[
            mismatch
        ]
    if mismatch or value["rule"] in _MISMATCHES:
        yield from check_equal("rule", value["rule"], mismatch)


def _exceeded_budget(figures: Mapping[str, float]) -> str | None:
    """Return the budget rule violated by the totals and limits that the fact records."""
    budget = {"usd": figures.get("usd"), "tokens": figures.get("tokens_budget")}
    return summit.broken_budget(budget, {"cost_usd": 0, "tokens": 0, **figures})


def _check_run(fact: Fact, ctx: CheckContext) -> Problems:
    """Check that versions count up and that transitions start from the run's current state."""
    value = fact.value or {}
    if value["verdict"] not in ("accepted", "fired"):
        return
    if value["runVersion"] is not None:
        yield from check_sequence("runVersion", (value["runId"],), value["runVersion"], ctx)
    start, end = value["fromState"], value["toState"]
    if end is None:
        return
    before = ctx.seen.get("summit", value["runId"])
    if before is not None:
        yield from check_equal("fromState", start, before)
    yield from check_that(reachable(MACHINE, start, end), f"no step leads from {start} to {end}")
    ctx.seen.put(end, "summit", value["runId"])
