"""Critics that the service calls: the call for a completed run, and what comes of it.

An agent's manifest names a critic (`metadata.judge`), or `HEADRACE_SUMMIT_CRITICS` does.  When a
run of the agent is completed, the service calls the critic over `summit.auto-calls`, in the same
transaction.  The id of the critic's run is derived from that of the judged run, so there is one
only, and lies on the same partition, so that the end of the critic's run and the verification of
the judged one are written together.

Runs of critics are not judged.  A critic's run that is refused, fails, takes too long, or says no
verification leaves the judged run `flagged`.  A verification that another critic sent before stays.

Source: Summit guide, 5.8.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import orjson

from schemas import canonical_json, summit, uuid5_url
from schemas.objects import ABSENT
from schemas.summit import rule_message, rules
from schemas.summit.checker import ANY_ORDER, Checker
from schemas.summit.replies import check_verification
from schemas.summit.words import COMPLETED, FAILED, FLAGGED, PASSED, UNKNOWN_MODEL
from streams.engine.processor import AvroValue
from streams.processing.graph import LineageEdge
from streams.protocols.summit.processor import manifests, usage, verdicts
from streams.protocols.summit.processor.decision import DecisionContext, run_node
from streams.protocols.summit.processor.inbound import Call
from streams.protocols.summit.processor.runs import Run, find_run
from streams.protocols.summit.processor.verdicts import Verdict
from topology.keys import partition_of
from topology.machines.summit_run import RunEvent
from topology.summit import SUMMIT_AUTO_CALLS

Json = dict[str, Any]

CALLER = "service"
"""The caller of the runs that the service makes."""
_PARAMS = "headrace.summit.InvokeParams"
_FLAGGED: Json = {"status": FLAGGED, "score": None, "checks": []}
_NO_REPLY = "-"
"""The reply of a critic that sent none."""


def judge_run_id(run_id: str, partitions: int) -> str:
    """Return the id of the run that judges a run: the first of its names on the same partition."""
    partition = partition_of(run_id.encode(), partitions)
    names = (f"judge-{uuid5_url(f'headrace:summit:judge:{run_id}:{n}')}" for n in count())
    return next(name for name in names if partition_of(name.encode(), partitions) == partition)


def call_critic(run: Run, output: Any) -> None:
    """Call the critic of a run that has just been completed, if it has one."""
    agent = manifests.agent_version(run.agent_id, run.evidence["manifestVersion"], run.ctx.work)
    assert agent is not None, "a run's manifest is kept for ever"
    judge = _judge_of(agent, run)
    if judge is None:
        return
    judge_run = judge_run_id(run.run_id, run.ctx.work.partitions)
    run.row["judgeRunId"] = judge_run
    inputs = {"runId": run.run_id, "agentId": run.agent_id, "kind": run.kind, "output": output}
    context = {
        "traceId": run.session_id,
        "parentRunId": None,
        "budget": _budget_row(judge.get("budget")),
        "extra_json": None,
    }
    params = {
        "agentId": judge["agentId"],
        "inputs_json": canonical_json(inputs).decode(),
        "runId": judge_run,
        "context": context,
    }
    call = {
        "jsonrpc": "2.0",
        "id": judge_run,
        "method": "agent.invoke",
        "params": (_PARAMS, params),
        "caller": CALLER,
        "delivery": None,
    }
    run.ctx.send(SUMMIT_AUTO_CALLS, judge_run, call, judge_run)


def _judge_of(agent: AvroValue, run: Run) -> Json | None:
    """Return {agentId, budget?} of the critic for a run; None without one, or for a critic's run.

    agent: SummitAgent of the run's manifest.
    """
    if run.row["judges"] is not None or manifests.is_critic(agent):
        return None
    extra = orjson.loads(agent["manifest"]["metadata"]["extra_json"] or "{}")
    judge: Json | None = extra.get("judge")
    if summit.names_critic(judge, run.agent_id):  # earlier releases took any value
        return judge
    named = dict(pair.split("=") for pair in run.ctx.setting("CRITICS").split(",") if pair)
    critic = named.get(run.agent_id)
    return None if critic is None or critic == run.agent_id else {"agentId": critic}


def _budget_row(budget: Json | None) -> AvroValue | None:
    if budget is None:
        return None
    usd, tokens, seconds = (budget.get(name) for name in ("usd", "tokens", "seconds"))
    return {
        "usd": None if usd is None else float(usd),
        "tokens": None if tokens is None else int(tokens),
        "seconds": None if seconds is None else float(seconds),
    }


def conclude(run: Run, reply_id: str | None = None, output: Any = ABSENT) -> None:
    """Record what a critic's run says of the run that it judges, once it has ended.

    reply_id, output: of the reply that ended it, if one did.
    """
    judged_run = run.row["judges"]
    if judged_run is None or run.open:
        return
    row, ctx = run.row, run.ctx
    verification = _verification_of(output) if run.state == COMPLETED else None
    judge = {
        "agentId": run.agent_id,
        "replyId": reply_id or _NO_REPLY,
        "position": ctx.cause,
        "at": ctx.at,
        "verification": usage.verification_row(verification or _FLAGGED),
        "provenance": row["provenance"],
        "metrics": row["metrics"],
    }
    _record(judged_run, judge, verification is not None, row["evidence"]["callPosition"], ctx)


def flag_unjudged(call: Call, ctx: DecisionContext) -> None:
    """Flag the run that a refused call of a critic was to judge."""
    assert call.judged_run is not None
    assert call.agent_id is not None
    judge = {
        "agentId": call.agent_id,
        "replyId": _NO_REPLY,
        "position": ctx.cause,
        "at": ctx.at,
        "verification": usage.verification_row(_FLAGGED),
        "provenance": {"model": UNKNOWN_MODEL, "timestamp": ctx.time, "extra_json": None},
        "metrics": None,
    }
    _record(call.judged_run, judge, False, ctx.cause, ctx)


def _verification_of(output: Any) -> Json | None:
    """Return the verification that a critic's output is; None if it is none.

    Without a status, that of its checks counts.
    """
    if not isinstance(output, dict):
        return None
    verification = {
        name: output[name] for name in ("status", "score", "checks") if output.get(name) is not None
    }
    checks = verification.get("checks")
    if isinstance(checks, list):
        verification["checks"] = [
            {name: one[name] for name in ("name", "passed") if name in one}
            if isinstance(one, dict)
            else one
            for one in checks
        ]
        if "status" not in verification and checks:
            passed = all(isinstance(one, dict) and one.get("passed") is True for one in checks)
            verification["status"] = PASSED if passed else FAILED
    check = Checker("verification", ANY_ORDER)
    check_verification(check, verification, ())
    return None if check.problems() else verification


def _record(
    run_id: str, judge: AvroValue, is_verified: bool, call_position: str, ctx: DecisionContext
) -> None:
    """Write the verification of a judged run, and the one fact about it."""
    ctx = DecisionContext(ctx.work, ctx.cause, ctx.at, ctx.traceparent, f"{call_position}/judge")
    target = find_run(run_id, ctx)
    if target is None or target.row["judge"] is not None:
        return
    rule = (rules.JUDGE_RECORDED if is_verified else rules.JUDGE_FLAGGED).code
    target.row["judge"] = judge
    usage.set_status(target.row)
    target.move(RunEvent.VERIFICATION, rule)
    judge_run = target.row["judgeRunId"]
    ctx.emit_edge(LineageEdge(run_node(judge_run), "evaluates", run_node(run_id)))
    target.save()
    verdict = Verdict("fired", rule, rule_message(rule), run=target)
    members = {"runId": run_id, "agentId": judge["agentId"], "judge": judge}
    verdicts.write_fact(run_id, "judge", verdict, ctx, **members, **verdicts.run_members(verdict))
