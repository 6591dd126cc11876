"""The fold of `summit.runs` from `summit.events` and the calls and replies that they accept.

A fact contains the rule by which a record was accepted and the new state of the run; other data of
the run is read from the record.

Source: Summit guide, 4.1, 5.2 to 5.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from schemas import summit
from schemas.summit import RunError, rules
from schemas.summit.words import COMPLETED, TERMINAL, VERIFICATION
from streams.engine.headers import iso
from streams.protocols.summit.processor import usage
from streams.protocols.summit.processor.inbound import extra_json
from streams.replay.fold.fold import CommandGone, Commands, Fact, Fold, Row
from topology.declarations import Topic
from topology.summit import SUMMIT_AUTO_CALLS, SUMMIT_EVENTS, SUMMIT_RUNS_TABLE

_CONTEXT_MEMBERS = frozenset({"traceId", "parentRunId", "budget"})
_CANCEL = "agent.cancel"


def row_key(topic: Topic, fact: Fact) -> str | None:
    run_id: str | None = fact["runId"]
    takes = fact["verdict"] in ("accepted", "fired") and fact["subject"] != "manifest"
    changes = fact["subject"] != "tree" or fact["runVersion"] is not None
    return run_id if takes and changes else None


def step(row: Row | None, topic: Topic, fact: Fact, commands: Commands) -> Row | None:
    if fact["subject"] == "call" and fact["method"] != _CANCEL:
        return _first_row(fact, _read_command(fact, commands))
    if row is None:
        return None
    changes = {"version": fact["runVersion"], "updatedAt": fact["at"]}
    if fact["toState"] is not None:
        changes |= {"state": fact["toState"], "reason": _reason(fact)}
    after = {**row, **changes, "evidence": dict(row["evidence"])}
    match fact["subject"]:
        case "call":
            _apply_cancel(after, fact, _read_command(fact, commands))
        case "reply":
            _apply_reply(after, fact, _read_command(fact, commands))
            if fact.get("judgeRunId") is not None:
                after["judgeRunId"] = fact["judgeRunId"]
        case "judge":
            after["judge"] = fact["judge"]
            usage.set_status(after)
        case _:
            _apply_end(after, fact)
    return after


def _reason(fact: Fact) -> str:
    """Return the rule of the last change of state: a stop is accepted, and ends by another rule."""
    stopped = fact["rule"] == rules.TREE_STOPPED.code
    return rules.BUDGET_TREE.code if stopped else str(fact["rule"])


def _read_command(fact: Fact, commands: Commands) -> Mapping[str, Any]:
    command = commands(fact["cause"])
    if command is None:
        raise CommandGone(fact["cause"])
    return command


def _first_row(fact: Fact, call: Mapping[str, Any]) -> Row:
    params, json_params = call["params"][1], summit.judge_call(dict(call)).json["params"]
    context, tool = params["context"] or {}, params.get("toolCall") or {}
    return {
        "runId": fact["runId"],
        "kind": "tool" if tool else "invoke",
        "agentId": fact["agentId"],
        "caller": call["caller"],
        "traceId": context.get("traceId"),
        "parentRunId": context.get("parentRunId"),
        "contextExtra_json": extra_json(json_params.get("context") or {}, _CONTEXT_MEMBERS),
        "toolName": tool.get("name"),
        "toolCallId": tool.get("id"),
        "state": fact["toState"],
        "reason": fact["rule"],
        "version": fact["runVersion"],
        "createdAt": fact["at"],
        "startedAt": None,
        "updatedAt": fact["at"],
        "finishedAt": None,
        "dueAt": int(fact["figures"]["dueAt"]),
        "budget": context.get("budget"),
        "metrics": {"tokens": 0, "cost_usd": 0.0, "latency_ms": None},
        **dict.fromkeys(("provenance", "message", "verification", "judge")),
        **dict.fromkeys(("verificationStatus", "error", "cancel")),
        "evidence": {
            "callPosition": fact["cause"],
            "callHash": fact["contentHash"],
            "inputHash": summit.json_hash(orjson.loads(fact["inputs_json"])),
            "manifestVersion": fact["manifestVersion"],
            "manifestHash": fact["manifestHash"],
            "manifestPosition": "",
            **dict.fromkeys(("replyPosition", "replyHash", "outputHash")),
        },
        "judgeRunId": None,
        "judges": json_params["inputs"]["runId"] if _is_automatic(fact["cause"]) else None,
    }


def _is_automatic(position: str) -> bool:
    """Return whether the service made the call there, to judge a run."""
    return position.rsplit("/", 2)[0].endswith(SUMMIT_AUTO_CALLS.name)


def _apply_cancel(row: Row, fact: Fact, call: Mapping[str, Any]) -> None:
    reason = call["params"][1]["reason"]
    row["cancel"] = {
        "caller": call["caller"],
        "reason": reason,
        "position": fact["cause"],
        "at": fact["at"],
    }
    _apply_end(row, fact)


def _apply_reply(row: Row, fact: Fact, reply: Mapping[str, Any]) -> None:
    content = summit.reply_content(summit.judge_reply(dict(reply)).json, row["kind"])
    if reply["kind"] == VERIFICATION:
        row["judge"] = _judge_row(fact, content)
        usage.set_status(row)
        return
    _apply_report(row, fact, reply, content)
    if reply["kind"] != "progress":
        row["evidence"] |= {
            "replyPosition": fact["cause"],
            "replyHash": fact["contentHash"],
            "outputHash": content.output_hash,
        }
        if content.verification is not None:
            row["verification"] = usage.verification_row(content.verification)
            usage.set_status(row)
    if fact["toState"] in TERMINAL:
        _apply_end(row, fact, content.error if reply["kind"] != "progress" else None)


def _apply_report(row: Row, fact: Fact, reply: Mapping[str, Any], content: summit.Content) -> None:
    """Store the valid parts of a reply in the row."""
    row["startedAt"] = fact["at"] if row["startedAt"] is None else row["startedAt"]
    if content.metrics is not None:
        row["metrics"] = usage.metrics_row(content.metrics, row["metrics"])
    if content.provenance is not None:
        row["provenance"] = usage.provenance_row(content.provenance)
    if reply["message"] is not None:
        row["message"] = reply["message"]


def _judge_row(fact: Fact, content: summit.Content) -> Row:
    assert content.verification is not None, "a critic's reply that was accepted has one"
    assert content.provenance is not None, "and says who made it"
    return {
        "agentId": fact["agentId"],
        "replyId": fact["replyId"],
        "position": fact["cause"],
        "at": fact["at"],
        "verification": usage.verification_row(content.verification),
        "provenance": usage.provenance_row(content.provenance),
        "metrics": None if content.metrics is None else usage.metrics_row(content.metrics),
    }


def _apply_end(row: Row, fact: Fact, agent_error: summit.JsonObject | None = None) -> None:
    row["finishedAt"] = fact["at"]
    if row["provenance"] is None:
        timestamp = iso(fact["at"]).decode()
        row["provenance"] = {"model": "unknown", "timestamp": timestamp, "extra_json": None}
    if row["state"] == COMPLETED:
        return
    error = agent_error
    if fact["rule"] != rules.REPLY_ERROR.code or error is None:
        errors = [dict(each) for each in fact["errors"]]
        error = summit.run_error(
            _reason(fact),
            path=fact["path"],
            errors=errors,
            agent_error=agent_error,
            origin_run=fact.get("originRunId"),
        )
    row["error"] = RunError.from_json(error).to_avro()


FOLD = Fold(
    SUMMIT_RUNS_TABLE, (SUMMIT_EVENTS,), row_key, step, frozenset({"evidence.manifestPosition"})
)
