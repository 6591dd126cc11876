"""A run is cancelled by its caller or an operator, while it is open.

Source: Summit 5.3.
"""

from __future__ import annotations

from schemas.summit import rules
from streams.processing.graph import Edge
from streams.protocols.summit.processor import endings, inbox, lineage, runs, timers
from streams.protocols.summit.processor.inbound import Call
from streams.protocols.summit.processor.rulings import Ruling, accept, duplicate, refuse
from streams.protocols.summit.processor.runs import Run
from streams.protocols.summit.processor.scene import Scene
from topology.machines.summit_run import RunEvent

_OPERATOR = "operator"
"""The caller that may cancel any run."""


def judge(call: Call, scene: Scene) -> Ruling:
    """An agent.cancel, its step 1 passed."""
    run = runs.find(call.run_id, scene)
    if run is None:
        return refuse(rules.RUN_UNKNOWN.code, "/params/runId")
    if call.agent_id not in (None, run.agent_id):
        return refuse(rules.CANCEL_AGENT.code, "/params/agentId", run=run)
    owner = run.row["caller"]
    if owner is not None and call.caller not in (owner, _OPERATOR):
        return refuse(rules.CANCEL_NOT_CALLER.code, "/caller", run=run)
    timers.catch_up(run)
    if (repeated := runs.repeated(run, RunEvent.CANCEL)) is not None:
        return duplicate(repeated, run)
    if (refused := runs.refused(run, RunEvent.CANCEL)) is not None:
        return refuse(refused, run=run)
    return _cancel(call, run)


def _cancel(call: Call, run: Run) -> Ruling:
    scene, rule = run.scene, rules.CANCEL_ACCEPTED.code
    run.row["cancel"] = {
        "caller": call.caller,
        "reason": call.avro_params["reason"],
        "position": scene.cause,
        "at": scene.at,
    }
    endings.end(run, RunEvent.CANCEL, rule)
    inbox.stop(run)
    scene.draw(Edge(lineage.call(scene.cause), "retracts", lineage.run(run.run_id)))
    run.save()
    return accept(rule, run, {"elapsed_ms": endings.elapsed_ms(run)})
