"""A call makes a run, once, or is refused with a reason; a cancel ends an open run.

For every call that is no cancel, in this order, the first that applies decides:

1. its shape, its key, its partition;
2. its runId is known: `call.duplicate`, or `run.conflict` for another call;
3. the agent is not there, or was withdrawn;
4. it offers no such tool;
5. the inputs, once defaults are filled in, are too large or break the schema.

Else the run is queued.  A refused call leaves nothing behind: its runId is free.

A run is cancelled by its caller or an operator, while it is open.

Source: Summit 5.2 and 5.3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas import canonical_json, summit
from schemas.summit import rules
from schemas.summit.manifest_schema import Schema
from schemas.summit.words import MAX_INPUTS_BYTES
from streams.engine.processor import AvroValue
from streams.processing.graph import LineageEdge
from streams.protocols.summit.processor import manifests, runs
from streams.protocols.summit.processor.decision import (
    DecisionContext,
    call_node,
    manifest_node,
    run_node,
    trace_node,
)
from streams.protocols.summit.processor.inbound import Call, extra_json
from streams.protocols.summit.processor.runs import (
    NO_STATE,
    Run,
    find_run,
    refusing_rule,
    repeating_rule,
)
from streams.protocols.summit.processor.verdicts import (
    Verdict,
    accept,
    duplicate,
    refuse,
    refuse_schema,
)
from topology.machine import step
from topology.machines.summit_run import MACHINE, RunEvent

_INVOKED = "headrace.rtes.ToolInvoked"
_OPERATOR = "operator"
"""The caller that may cancel any run."""
_CONTEXT = frozenset({"traceId", "parentRunId", "budget"})


class Offer(NamedTuple):
    """What a call is made of.  path: of its inputs.  schema: what they keep to, a JSON text."""

    path: str
    inputs: summit.JsonObject
    schema: str


class Inputs(NamedTuple):
    """Effective: with defaults.  text: the same in RFC 8785."""

    value: summit.JsonObject
    text: str


def judge(call: Call, ctx: DecisionContext) -> Verdict:
    """A call that makes a run, its step 1 passed."""
    known = find_run(call.run_id, ctx)
    if known is not None:
        return _repeated(call, known)
    agent_id = call.agent_id
    assert agent_id is not None, "a call names its agent"
    agent = manifests.current_agent(agent_id, ctx.work)
    refused = manifests.unusable(agent, ctx.work)
    if refused is not None:
        return refused
    assert agent is not None
    seen = manifests.agent_members(agent)
    offer = _offer(call, agent)
    if offer is None:
        return refuse(rules.TOOL_UNKNOWN.code, "/params/toolCall/name", **seen)
    schema = summit.schema_of(offer.schema)
    inputs = _filled(offer, schema)
    if inputs is None:
        return refuse(rules.INPUTS_SIZE.code, offer.path, **seen)
    errors = schema.errors(inputs.value, offer.path)
    if errors:
        return refuse_schema(rules.INPUTS_SCHEMA.code, errors, **seen)
    return _accept(call, agent, inputs, ctx)


def _repeated(call: Call, run: Run) -> Verdict:
    if run.evidence["callHash"] == call.hash:
        return duplicate(rules.CALL_DUPLICATE.code, run)
    return refuse(rules.RUN_CONFLICT.code, "/params/runId", run=run)


def _offer(call: Call, agent: AvroValue) -> Offer | None:
    """None: the agent has no such tool.  agent: SummitAgent."""
    spec, params = agent["manifest"]["spec"], call.params
    if call.method == "agent.invoke":
        return Offer("/params/inputs", params["inputs"], spec["interface"]["inputSchema_json"])
    tool_call = params["toolCall"]
    for tool in spec["tools"]:
        if tool["name"] == tool_call["name"]:
            path = "/params/toolCall/arguments"
            return Offer(path, tool_call["arguments"], tool["arguments_json"])
    return None


def _filled(offer: Offer, schema: Schema) -> Inputs | None:
    """With defaults; None if that is too large."""
    try:
        value = schema.filled(offer.inputs)
    except summit.DefaultsTooLarge:
        return None
    text = canonical_json(value)
    return Inputs(value, text.decode()) if len(text) <= MAX_INPUTS_BYTES else None


def _accept(call: Call, agent: AvroValue, inputs: Inputs, ctx: DecisionContext) -> Verdict:
    row = _row(call, agent, inputs, ctx)
    run = Run(row, ctx)
    run.before = NO_STATE
    runs.set_timer(run)
    run.report(NO_STATE, run.state)
    if run.kind == "tool":
        payload = {
            "call_id": runs.call_id(row),
            "tool": row["toolName"],
            "arguments_json": inputs.text,
        }
        ctx.report(run.session_id, _INVOKED, payload)
    runs.deliver_call(run, _effective(call, inputs, row))
    ctx.draw(*_edges(row))
    run.save()
    budget = row["budget"] or {}
    limits = {"usd": budget.get("usd"), "tokens_budget": budget.get("tokens")}
    figures = {name: limit for name, limit in limits.items() if limit is not None}
    return accept(
        rules.CALL_ACCEPTED.code,
        run,
        {"dueAt": row["dueAt"], **figures},
        inputs_json=inputs.text,
        **manifests.agent_members(agent),
    )


def _row(call: Call, agent: AvroValue, inputs: Inputs, ctx: DecisionContext) -> AvroValue:
    """SummitRun of an accepted call."""
    params = call.avro_params
    context = params["context"] or {}
    tool = params.get("toolCall") or {}
    budget = context.get("budget")
    state = step(MACHINE, NO_STATE, RunEvent.CALL)
    assert state is not None
    return {
        "runId": call.run_id,
        "kind": "tool" if tool else "invoke",
        "agentId": agent["agentId"],
        "caller": call.caller,
        "traceId": context.get("traceId"),
        "parentRunId": context.get("parentRunId"),
        "contextExtra_json": _extra(call),
        "toolName": tool.get("name"),
        "toolCallId": tool.get("id"),
        "state": state.value,
        "reason": rules.CALL_ACCEPTED.code,
        "version": 1,
        "createdAt": ctx.at,
        "startedAt": None,
        "updatedAt": ctx.at,
        "finishedAt": None,
        "dueAt": ctx.at + summit.timeout_ms(budget, ctx.setting("RUN_TIMEOUT_S")),
        "budget": budget,
        "metrics": {"tokens": 0, "cost_usd": 0.0, "latency_ms": None},
        "provenance": None,
        "message": None,
        "verification": None,
        "judge": None,
        "verificationStatus": None,
        "error": None,
        "cancel": None,
        "evidence": {
            "callPosition": ctx.cause,
            "callHash": call.hash,
            "inputHash": summit.json_hash(inputs.value),
            "manifestVersion": agent["version"],
            "manifestHash": agent["manifestHash"],
            "manifestPosition": agent["position"],
            "replyPosition": None,
            "replyHash": None,
            "outputHash": None,
        },
    }


def _extra(call: Call) -> str | None:
    return extra_json(call.params.get("context") or {}, _CONTEXT)


def _effective(call: Call, inputs: Inputs, row: AvroValue) -> AvroValue:
    """The call as sent, with effective inputs.  row: SummitRun."""
    record, params = call.value["params"]
    changed: dict[str, Any]
    if "toolCall" in params:
        changed = {"toolCall": {**params["toolCall"], "arguments_json": inputs.text}}
    else:
        changed = {"inputs_json": inputs.text}
    if params["context"] is not None:
        changed["context"] = {**params["context"], "extra_json": row["contextExtra_json"]}
    return {**call.value, "params": (record, {**params, **changed})}


def _edges(row: AvroValue) -> list[LineageEdge]:
    own, edges = run_node(row["runId"]), []
    if row["parentRunId"] is not None:
        edges.append(LineageEdge(own, "child_of", run_node(row["parentRunId"])))
    if row["traceId"] is not None:
        edges.append(LineageEdge(own, "same_trace", trace_node(row["traceId"])))
    manifest = manifest_node(row["agentId"], row["evidence"]["manifestVersion"])
    return [*edges, LineageEdge(own, "derived_from", manifest)]


def judge_cancel(call: Call, ctx: DecisionContext) -> Verdict:
    """An agent.cancel, its step 1 passed."""
    run = find_run(call.run_id, ctx)
    if run is None:
        return refuse(rules.RUN_UNKNOWN.code, "/params/runId")
    if call.agent_id not in (None, run.agent_id):
        return refuse(rules.CANCEL_AGENT.code, "/params/agentId", run=run)
    owner = run.row["caller"]
    if owner is not None and call.caller not in (owner, _OPERATOR):
        return refuse(rules.CANCEL_NOT_CALLER.code, "/caller", run=run)
    runs.catch_up(run)
    if (repeated := repeating_rule(run, RunEvent.CANCEL)) is not None:
        return duplicate(repeated, run)
    if (refused := refusing_rule(run, RunEvent.CANCEL)) is not None:
        return refuse(refused, run=run)
    return _cancel(call, run)


def _cancel(call: Call, run: Run) -> Verdict:
    ctx, rule = run.ctx, rules.CANCEL_ACCEPTED.code
    run.row["cancel"] = {
        "caller": call.caller,
        "reason": call.avro_params["reason"],
        "position": ctx.cause,
        "at": ctx.at,
    }
    runs.end(run, RunEvent.CANCEL, rule)
    runs.deliver_stop(run)
    ctx.draw(LineageEdge(call_node(ctx.cause), "retracts", run_node(run.run_id)))
    run.save()
    return accept(rule, run, {"elapsed_ms": runs.elapsed_ms(run)})
