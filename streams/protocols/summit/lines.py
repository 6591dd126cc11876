"""One line for each record of Summit's topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.summit.results import usd_text
from streams.api.lines import Line, LineOf, count_of, names, one_line, parts, short, verdict_line
from topology import summit as topics

Json = Mapping[str, Any]


def _run_name(value: Json) -> str:
    return f"run {short(value['runId'])}"


def _manifest(value: Json) -> Line:
    metadata, spec = value["metadata"], value["spec"]
    tools = len(spec.get("tools") or ())
    return Line(
        who=metadata["name"],
        what=spec["role"],
        text=f"version {metadata['version']}",
        reason=parts(names(spec["capabilities"]), count_of(tools, "tool") if tools else None),
    )


def _call(value: Json) -> Line:
    params = value["params"]
    tool = (params.get("toolCall") or {}).get("name")
    caller, agent = value.get("caller") or "-", params.get("agentId")
    return Line(
        who=_run_name(params),
        what=f"{caller} → {agent}" if agent else f"by {caller}",
        text=parts(value["method"], tool),
        reason=one_line(params.get("reason")),
    )


def _inbox(value: Json) -> Line:
    params, delivery = value["params"], value.get("delivery") or {}
    return Line(
        who=params.get("agentId") or "-",
        what=parts(_run_name(params), f"from {value.get('caller') or '-'}"),
        text=delivery.get("kind") or value["method"],
        reason=one_line(delivery.get("reason")) or f"due {delivery.get('dueAt', '-')}",
    )


def _cost(metrics: Json | None) -> str:
    if metrics is None:
        return ""
    return f"${usd_text(metrics['cost_usd'])}, {metrics['tokens']} tokens"


def _reply(value: Json) -> Line:
    error, verification = value.get("error") or {}, value.get("verification") or {}
    return Line(
        who=_run_name(value),
        what=f"by {value['agentId']}",
        text=parts(value["kind"], value.get("status") or verification.get("status")),
        reason=parts(
            one_line(value.get("message")),
            one_line(error.get("message")),
            _cost(value.get("metrics")),
        ),
    )


def _event(value: Json) -> Line:
    rule, message = value["rule"], value["message"].removeprefix(f"{value['rule']}: ")
    run_id, agent_id = value["runId"], value["agentId"]
    who = _run_name(value) if run_id else f"agent {short(agent_id)}"
    before, after = value["fromState"], value["toState"]
    what = parts(
        value["replyKind"] or value["method"] or value["subject"],
        f"{before} → {after}" if before and after else None,
    )
    return verdict_line(who, what, value["verdict"], rule, message)


def _run(value: Json) -> Line:
    return Line(
        who=_run_name(value),
        what=f"{value['caller'] or '-'} → {parts(value['agentId'], value['toolName'])}",
        text=value["state"],
        rule=value["reason"],
        reason=parts(one_line(value["message"]), _cost(value["metrics"])),
    )


def _tree(value: Json) -> Line:
    return Line(
        who=_run_name(value),
        what=f"{value['runs']} runs, {value['open']} open",
        text=one_line(f"${value['usd']}, {value['tokens']} tokens"),
    )


def _agent(value: Json) -> Line:
    return Line(
        who=value["agentId"],
        what=value["manifest"]["spec"]["role"],
        text=f"version {value['version']}, {value['state']}",
    )


LINES: Mapping[str, LineOf] = {
    topics.SUMMIT_MANIFESTS.name: _manifest,
    topics.SUMMIT_CALLS.name: _call,
    topics.SUMMIT_REPLIES.name: _reply,
    topics.SUMMIT_EVENTS.name: _event,
    topics.SUMMIT_INBOX.name: _inbox,
    topics.SUMMIT_RUNS.name: _run,
    topics.SUMMIT_AGENTS.name: _agent,
    topics.SUMMIT_TREES.name: _tree,
}
