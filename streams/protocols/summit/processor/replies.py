"""The decisions on replies: progress, results and errors from agents, verifications from critics.

For every record of `summit.replies`, in this order, the first that applies decides:

1. its shape, its key, its partition;
2. the run is unknown;
3. its replyId is known in this run: `reply.duplicate`, or `reply.conflict` for other content;
4. the sender is not the run's agent;
5. the run's time is over: the run times out first;
6. the run has ended;
7. the rules of its kind.

A critic's verification of a completed run has its own order after step 3.  A run has at most one,
and the agent's own verification stays beside it.  Only accepted replies are stored.

A progress reply keeps the run going unless it exceeds the budget.  A result or an error always ends
the run.  The reply decides how: by the first violated rule of its content, then by the budget, then
by the output, for which the run's manifest has a schema.  The output of a run that does not
complete is withheld, but its hash is stored.

Source: Summit guide, 5.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from schemas import Problem, canonical_json, summit
from schemas.summit import rules
from schemas.summit.words import BUDGET_EXCEEDED, VERIFICATION
from streams.processing.graph import LineageEdge
from streams.protocols.summit.processor import judging, manifests, runs, timeouts, trees, usage
from streams.protocols.summit.processor.decision import DecisionContext, reply_node, run_node
from streams.protocols.summit.processor.inbound import Reply
from streams.protocols.summit.processor.runs import Run, find_run, refusing_rule
from streams.protocols.summit.processor.verdicts import (
    MAX_TEXT,
    Errors,
    Verdict,
    accept,
    duplicate,
    malformed,
    refuse,
)
from topology.keys import composite
from topology.machines.summit_run import RunEvent
from topology.summit import SUMMIT_REPLIES_KNOWN

_AFTER_SCHEMA = frozenset({rules.REPLY_RESULT.code, rules.OUTPUT_SCHEMA.code})
"""Rules of verdicts that depend on the manifest's schema."""


class RunEnd(NamedTuple):
    """The end that a final reply gives its run.

    path, errors: the violation of the rule.
    """

    event: RunEvent
    rule: str
    path: str | None = None
    errors: Errors = ()


def judge(reply: Reply, ctx: DecisionContext) -> Verdict:
    """Decide on a reply that has passed step 1."""
    run = find_run(reply.run_id, ctx)
    if run is None:
        return refuse(rules.RUN_UNKNOWN.code, "/runId")
    verdict = _known_reply_verdict(reply, run) or _decide(reply, run)
    if verdict.verdict == "accepted":
        known = {"replyHash": reply.hash, "position": ctx.cause}
        ctx.work.rows(SUMMIT_REPLIES_KNOWN).put(reply_key(reply), known)
    return verdict


def reply_key(reply: Reply) -> str:
    """Return the key of the row of an accepted reply."""
    return composite(reply.run_id, reply.reply_id)


def _known_reply_verdict(reply: Reply, run: Run) -> Verdict | None:
    known = run.ctx.work.rows(SUMMIT_REPLIES_KNOWN).get(reply_key(reply))
    if known is None:
        return None
    if known["replyHash"] == reply.hash:
        return duplicate(rules.REPLY_DUPLICATE.code, run)
    return refuse(rules.REPLY_CONFLICT.code, "/replyId", run=run)


def _decide(reply: Reply, run: Run) -> Verdict:
    if reply.kind == VERIFICATION:
        timeouts.catch_up(run)
        return _decide_verification(reply, run)
    if reply.agent_id != run.agent_id:
        return refuse(rules.REPLY_AGENT.code, "/agentId", run=run)
    timeouts.catch_up(run)
    content = summit.reply_content(reply.json, run.kind)
    if (ended := refusing_rule(run, RunEvent.PROGRESS)) is not None:
        return refuse(ended, run=run, figures=_late_cost(content))
    return _DECISIONS[reply.kind](reply, content, run)


def _late_cost(content: summit.Content) -> dict[str, float]:
    """Return the cost and the tokens that a reply reports after the end of its run."""
    if content.metrics is None:
        return {}
    return {name: content.metrics[name] for name in ("cost_usd", "tokens")}


def _decide_progress(reply: Reply, content: summit.Content, run: Run) -> Verdict:
    if content.problem is not None:
        return malformed(content.problem, run)
    usage.take(reply, content, run)
    rule = usage.overspent(content, run)
    figures = usage.spent(run)
    if rule is None:
        rule = rules.REPLY_PROGRESS.code
        run.move(RunEvent.PROGRESS, rule)
    else:
        runs.end(run, RunEvent.OVERSPEND, rule, origin_run=_origin_of(rule, run))
        runs.deliver_stop(run)
        figures["elapsed_ms"] = runs.elapsed_ms(run)
    run.save()
    judging.conclude(run)
    trees.settle(run)
    tree_figures, members = trees.tree_members(run, rule)
    members = {**members, "replyMessage": reply.value["message"]}
    return accept(rule, run, figures | tree_figures, **members)


def _decide_result(reply: Reply, content: summit.Content, run: Run) -> Verdict:
    end = _result_end(content, run)
    more: dict[str, Any] = {}
    if run.kind == "invoke" and end.rule in _AFTER_SCHEMA:
        more |= run.contract
    if end.event is RunEvent.RESULT:
        more["output_json"] = canonical_json(content.output).decode()
    verdict = _end_run(reply, content, run, end)
    if run.row["judgeRunId"] is not None:
        more["judgeRunId"] = run.row["judgeRunId"]
    return verdict._replace(more={**verdict.more, **more})


def _decide_error(reply: Reply, content: summit.Content, run: Run) -> Verdict:
    return _end_run(reply, content, run, _error_end(reply, content, run))


def _result_end(content: summit.Content, run: Run) -> RunEnd:
    if content.problem is not None:
        return _fault_end(content.problem)
    overspent = usage.overspent(content, run)
    if overspent is not None:
        return RunEnd(RunEvent.OVERSPEND, overspent)
    if content.late is not None:
        return _fault_end(content.late)
    errors = _output_errors(content, run)
    if errors:
        return RunEnd(RunEvent.FAULT, rules.OUTPUT_SCHEMA.code, errors[0]["path"], errors)
    return RunEnd(RunEvent.RESULT, rules.REPLY_RESULT.code)


def _error_end(reply: Reply, content: summit.Content, run: Run) -> RunEnd:
    if content.problem is not None:
        return _fault_end(content.problem)
    stopped = reply.value["status"] == BUDGET_EXCEEDED
    if stopped and not summit.has_budget(run.row["budget"]):
        return RunEnd(RunEvent.FAULT, rules.BUDGET_NONE.code, "/status")
    overspent = usage.overspent(content, run)
    if overspent is not None:
        return RunEnd(RunEvent.OVERSPEND, overspent)
    if stopped:
        return RunEnd(RunEvent.BUDGET_STOP, rules.BUDGET_AGENT_STOP.code)
    return RunEnd(RunEvent.ERROR, rules.REPLY_ERROR.code)


def _fault_end(problem: Problem) -> RunEnd:
    return RunEnd(RunEvent.FAULT, problem.rule, problem.path[:MAX_TEXT] or None)


def _output_errors(content: summit.Content, run: Run) -> Errors:
    """Validate the output by the manifest's schema; that of a tool run has none."""
    if run.kind == "tool":
        return ()
    version = run.evidence["manifestVersion"]
    agent = manifests.agent_version(run.agent_id, version, run.ctx.work)
    assert agent is not None, "a run's manifest is kept for ever"
    schema = agent["manifest"]["spec"]["interface"]["outputSchema_json"]
    return summit.schema_of(schema).errors(content.output, "/output")


def _end_run(reply: Reply, content: summit.Content, run: Run, end: RunEnd) -> Verdict:
    row, ctx = run.row, run.ctx
    usage.take(reply, content, run)
    run.evidence.update(
        replyPosition=ctx.cause, replyHash=reply.hash, outputHash=content.output_hash
    )
    if content.verification is not None:
        row["verification"] = usage.verification_row(content.verification)
        usage.set_status(row)
    runs.end(
        run,
        end.event,
        end.rule,
        path=end.path,
        errors=end.errors,
        agent_error=content.error,
        origin_run=_origin_of(end.rule, run),
    )
    node = reply_node(reply.run_id, reply.reply_id)
    ctx.emit_edge(LineageEdge(node, "answers", run_node(run.run_id)))
    if end.event is RunEvent.RESULT:
        judging.call_critic(run, content.output)
    run.save()
    judging.conclude(run, reply.reply_id, content.output)
    trees.settle(run)
    tree_figures, members = trees.tree_members(run, end.rule)
    figures = {**usage.spent(run), **tree_figures, "elapsed_ms": runs.elapsed_ms(run)}
    return accept(end.rule, run, figures, end.path, end.errors, **members)


def _origin_of(rule: str, run: Run) -> str | None:
    """Return the run whose figures broke a budget of trees: the run itself; else None."""
    return run.run_id if rule in trees.TREE_BUDGETS else None


def _decide_verification(reply: Reply, run: Run) -> Verdict:
    """Decide on a verification of a run in any state."""
    if (refused := refusing_rule(run, RunEvent.VERIFICATION)) is not None:
        return refuse(refused, run=run)
    work = run.ctx.work
    sender = manifests.current_agent(reply.agent_id, work)
    if manifests.unusable(sender, work) is not None or sender is None:
        known = {} if sender is None else manifests.agent_members(sender)
        more = {**known, "agentsSeen": manifests.agents_seen(work)}
        return refuse(rules.JUDGE_NOT_CRITIC.code, "/agentId", run=run, **more)
    seen = manifests.agent_members(sender)
    if not manifests.is_critic(sender):
        return refuse(rules.JUDGE_NOT_CRITIC.code, "/agentId", run=run, **seen)
    if reply.agent_id == run.agent_id:
        return refuse(rules.JUDGE_SELF.code, "/agentId", run=run, **seen)
    if run.row["judge"] is not None:
        return refuse(rules.JUDGE_ALREADY.code, run=run, **seen)
    content = summit.reply_content(reply.json, run.kind)
    if content.problem is not None:
        return malformed(content.problem, run)._replace(more=seen)
    return _accept_verification(reply, content, run, seen)


def _accept_verification(
    reply: Reply, content: summit.Content, run: Run, seen: dict[str, Any]
) -> Verdict:
    row, ctx, rule = run.row, run.ctx, rules.REPLY_VERIFICATION.code
    assert content.verification is not None
    assert content.provenance is not None
    row["judge"] = {
        "agentId": reply.agent_id,
        "replyId": reply.reply_id,
        "position": ctx.cause,
        "at": ctx.at,
        "verification": usage.verification_row(content.verification),
        "provenance": usage.provenance_row(content.provenance),
        "metrics": None if content.metrics is None else usage.metrics_row(content.metrics),
    }
    usage.set_status(row)
    run.move(RunEvent.VERIFICATION, rule)
    node = reply_node(reply.run_id, reply.reply_id)
    ctx.emit_edge(LineageEdge(node, "evaluates", run_node(run.run_id)))
    run.save()
    return accept(rule, run, {}, **seen)


_DECISIONS: Mapping[str, Callable[[Reply, summit.Content, Run], Verdict]] = {
    "progress": _decide_progress,
    "result": _decide_result,
    "error": _decide_error,
}
