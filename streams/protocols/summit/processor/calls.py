"""The decisions on calls, which make runs, and on cancels, which end open runs.

For every call that is no cancel, in this order, the first that applies decides:

1. its shape, its key, its partition;
2. its runId is known: `call.duplicate`, or `run.conflict` for another call;
3. the agent is unknown or withdrawn;
4. it offers no such tool;
5. the inputs with defaults are too large or violate the schema.

Else the run is queued.  A refused call leaves no row: its runId can be used again.

A run can be cancelled by its caller or an operator, while it is open.

Source: Summit guide, 5.2 and 5.3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas import canonical_json, summit
from schemas.summit import rules
from schemas.summit.manifest_schema import Schema
from schemas.summit.words import MAX_INPUTS_BYTES
from streams.engine.processor import AvroValue
from streams.processing.graph import LineageEdge
from streams.protocols.summit.processor import judging, manifests, runs, timeouts, trees
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

_TOOL_INVOKED = "headrace.rtes.ToolInvoked"
_OPERATOR = "operator"
"""The caller that may cancel any run."""
_CONTEXT_MEMBERS = frozenset({"traceId", "parentRunId", "budget"})


class SentInputs(NamedTuple):
    """The inputs of a call, and the schema that they must satisfy.

    path: that of the inputs.  schema: a JSON text.
    """

    path: str
    inputs: summit.JsonObject
    schema: str


class EffectiveInputs(NamedTuple):
    """The effective inputs of a call, with defaults.

    text: the same in RFC 8785.
    """

    value: summit.JsonObject
    text: str


def judge(call: Call, ctx: DecisionContext) -> Verdict:
    """Decide on a call that is no cancel and has passed step 1."""
    known = find_run(call.run_id, ctx)
    if known is not None:
        return _known_run_verdict(call, known)
    agent_id = call.agent_id
    assert agent_id is not None, "a call names its agent"
    agent = manifests.current_agent(agent_id, ctx.work)
    refused = manifests.unusable(agent, ctx.work)
    if refused is not None:
        return refused
    assert agent is not None
    seen = manifests.agent_members(agent)
    if call.is_automatic and not manifests.is_critic(agent):
        return refuse(rules.JUDGE_NOT_CRITIC.code, "/params/agentId", **seen)
    sent_inputs = _sent_inputs(call, agent)
    if sent_inputs is None:
        return refuse(rules.TOOL_UNKNOWN.code, "/params/toolCall/name", **seen)
    schema = summit.schema_of(sent_inputs.schema)
    inputs = _fill_defaults(sent_inputs, schema)
    if inputs is None:
        return refuse(rules.INPUTS_SIZE.code, sent_inputs.path, **seen)
    errors = schema.errors(inputs.value, sent_inputs.path)
    if errors:
        return refuse_schema(rules.INPUTS_SCHEMA.code, errors, **seen)
    return _accept(call, agent, inputs, ctx)


def _known_run_verdict(call: Call, run: Run) -> Verdict:
    if run.evidence["callHash"] == call.hash:
        return duplicate(rules.CALL_DUPLICATE.code, run)
    return refuse(rules.RUN_CONFLICT.code, "/params/runId", run=run)


def _sent_inputs(call: Call, agent: AvroValue) -> SentInputs | None:
    """Return the inputs of a call and their schema; None if the agent has no such tool.

    agent: SummitAgent.
    """
    spec, params = agent["manifest"]["spec"], call.params
    if call.method == "agent.invoke":
        return SentInputs("/params/inputs", params["inputs"], spec["interface"]["inputSchema_json"])
    tool_call = params["toolCall"]
    for tool in spec["tools"]:
        if tool["name"] == tool_call["name"]:
            path = "/params/toolCall/arguments"
            return SentInputs(path, tool_call["arguments"], tool["arguments_json"])
    return None


def _fill_defaults(sent_inputs: SentInputs, schema: Schema) -> EffectiveInputs | None:
    """Return the inputs with defaults; None if they are too large."""
    try:
        value = schema.filled(sent_inputs.inputs)
    except summit.DefaultsTooLarge:
        return None
    text = canonical_json(value)
    return EffectiveInputs(value, text.decode()) if len(text) <= MAX_INPUTS_BYTES else None


def _accept(call: Call, agent: AvroValue, inputs: EffectiveInputs, ctx: DecisionContext) -> Verdict:
    row = _new_row(call, agent, inputs, ctx)
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
        ctx.emit_event(run.session_id, _TOOL_INVOKED, payload)
    runs.deliver_call(run, _effective_call(call, inputs, row))
    ctx.emit_edge(*_lineage_edges(row))
    run.save()
    trees.link(run)
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


def _new_row(
    call: Call, agent: AvroValue, inputs: EffectiveInputs, ctx: DecisionContext
) -> AvroValue:
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
        "contextExtra_json": _context_extra(call),
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
        "judgeRunId": None,
        "judges": call.judged_run,
    }


def _context_extra(call: Call) -> str | None:
    return extra_json(call.params.get("context") or {}, _CONTEXT_MEMBERS)


def _effective_call(call: Call, inputs: EffectiveInputs, row: AvroValue) -> AvroValue:
    """Return the call as sent, but with effective inputs.

    row: SummitRun.
    """
    record, params = call.value["params"]
    changed: dict[str, Any]
    if "toolCall" in params:
        changed = {"toolCall": {**params["toolCall"], "arguments_json": inputs.text}}
    else:
        changed = {"inputs_json": inputs.text}
    if params["context"] is not None:
        changed["context"] = {**params["context"], "extra_json": row["contextExtra_json"]}
    return {**call.value, "params": (record, {**params, **changed})}


def _lineage_edges(row: AvroValue) -> list[LineageEdge]:
    node, edges = run_node(row["runId"]), []
    if row["parentRunId"] is not None:
        edges.append(LineageEdge(node, "child_of", run_node(row["parentRunId"])))
    if row["traceId"] is not None:
        edges.append(LineageEdge(node, "same_trace", trace_node(row["traceId"])))
    manifest = manifest_node(row["agentId"], row["evidence"]["manifestVersion"])
    return [*edges, LineageEdge(node, "derived_from", manifest)]


def judge_cancel(call: Call, ctx: DecisionContext) -> Verdict:
    """Decide on an agent.cancel that has passed step 1."""
    run = find_run(call.run_id, ctx)
    if run is None:
        return refuse(rules.RUN_UNKNOWN.code, "/params/runId")
    if call.agent_id not in (None, run.agent_id):
        return refuse(rules.CANCEL_AGENT.code, "/params/agentId", run=run)
    owner = run.row["caller"]
    if owner is not None and call.caller not in (owner, _OPERATOR):
        return refuse(rules.CANCEL_NOT_CALLER.code, "/caller", run=run)
    timeouts.catch_up(run)
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
    ctx.emit_edge(LineageEdge(call_node(ctx.cause), "retracts", run_node(run.run_id)))
    run.save()
    judging.conclude(run)
    trees.settle(run)
    return accept(rule, run, {"elapsed_ms": runs.elapsed_ms(run)})
