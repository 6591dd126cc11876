"""A critic's word on a completed run, once; the agent's own stays beside it.

Source: Summit 5.4, step 10.
"""

from __future__ import annotations

from typing import Any

from schemas import summit
from schemas.summit import rules
from streams.processing.graph import Edge
from streams.protocols.summit.processor import agents, lineage, runs, usage, verifications
from streams.protocols.summit.processor.inbound import Reply
from streams.protocols.summit.processor.rulings import Ruling, accept, malformed, refuse
from streams.protocols.summit.processor.runs import Run
from topology.machines.summit_run import RunEvent

_CRITIC = "critic"


def judge(reply: Reply, run: Run) -> Ruling:
    """A verification of a run, which may be any."""
    if (refused := runs.refused(run, RunEvent.VERIFICATION)) is not None:
        return refuse(refused, run=run)
    work = run.scene.work
    sender = agents.current(reply.agent_id, work)
    if agents.unusable(sender, work) is not None or sender is None:
        known = {} if sender is None else agents.figures(sender)
        more = {**known, "agentsSeen": agents.seen(work)}
        return refuse(rules.JUDGE_NOT_CRITIC.code, "/agentId", run=run, **more)
    seen = agents.figures(sender)
    if sender["manifest"]["spec"]["role"] != _CRITIC:
        return refuse(rules.JUDGE_NOT_CRITIC.code, "/agentId", run=run, **seen)
    if reply.agent_id == run.agent_id:
        return refuse(rules.JUDGE_SELF.code, "/agentId", run=run, **seen)
    if run.row["judge"] is not None:
        return refuse(rules.JUDGE_ALREADY.code, run=run, **seen)
    content = summit.reply_content(reply.json, run.kind)
    if content.problem is not None:
        return malformed(content.problem, run)._replace(more=seen)
    return _accept(reply, content, run, seen)


def _accept(reply: Reply, content: summit.Content, run: Run, seen: dict[str, Any]) -> Ruling:
    row, scene, rule = run.row, run.scene, rules.REPLY_VERIFICATION.code
    assert content.verification is not None
    assert content.provenance is not None
    row["judge"] = {
        "agentId": reply.agent_id,
        "replyId": reply.reply_id,
        "position": scene.cause,
        "at": scene.at,
        "verification": verifications.row_of(content.verification),
        "provenance": usage.provenance(content.provenance),
        "metrics": None if content.metrics is None else usage.metrics(content.metrics),
    }
    verifications.sum_up(row)
    run.move(RunEvent.VERIFICATION, rule)
    own = lineage.reply(reply.run_id, reply.reply_id)
    scene.draw(Edge(own, "evaluates", lineage.run(run.run_id)))
    run.save()
    return accept(rule, run, {}, **seen)
