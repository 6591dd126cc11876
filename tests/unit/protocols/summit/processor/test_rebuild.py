"""The facts and the commands that they name are enough to rebuild the rows (system.md 4)."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from schemas import summit, to_json
from schemas.summit.words import RUN_RECORD
from streams.engine.headers import iso
from streams.engine.records import position
from tests.examples import example_count
from tests.unit.protocols.summit.processor.support import Bench, Json, present
from tests.unit.protocols.summit.processor.test_any_record import HISTORIES
from topology.machines.summit_run import MACHINE
from topology.summit import SUMMIT_REPLIES_KNOWN, SUMMIT_RUNS_TABLE

SOUND = ("accepted", "fired")


def rebuilt(facts: list[Json], commands: dict[str, Json]) -> Json:
    """A run's row by its own facts and those of manifests, without a rule of Summit."""
    row: Json = {}
    manifests: dict[str, str] = {}
    for fact in facts:
        if fact["verdict"] not in SOUND:
            continue
        if fact["subject"] == "manifest":
            manifests[fact["contentHash"]] = fact["cause"]
            continue
        command = {} if fact["subject"] == "timer" else commands[fact["cause"]]
        if fact["rule"] == "call.accepted":
            row = created(fact, command, manifests)
        elif fact["subject"] == "call":
            cancel_json = {
                "caller": command.get("caller"),
                "reason": command["params"].get("reason"),
            }
            row["cancel"] = present({**cancel_json, "position": fact["cause"], "at": fact["at"]})
        elif fact["subject"] == "reply":
            replied(row, fact, command)
        row |= {"version": fact["runVersion"], "updatedAt": fact["at"]}
        if fact["toState"] is not None:
            row |= {"state": fact["toState"], "reason": fact["rule"]}
        if fact["toState"] in MACHINE.terminal:
            ended(row, fact, command)
    return row


def created(fact: Json, call: Json, manifests: dict[str, str]) -> Json:
    params = call["params"]
    context, tool = params.get("context", {}), params.get("toolCall", {})
    row = {
        "runId": fact["runId"],
        "kind": "tool" if tool else "invoke",
        "agentId": fact["agentId"],
        "caller": fact["caller"],
        "budget": context.get("budget"),
        "toolName": tool.get("name"),
        "toolCallId": tool.get("id"),
        "createdAt": fact["at"],
        "dueAt": summit_time(fact["figures"]["dueAt"]),
        "metrics": {"tokens": 0, "cost_usd": 0.0},
        "evidence": {
            "callPosition": fact["cause"],
            "callHash": fact["contentHash"],
            "inputHash": summit.json_hash(fact["inputs"]),
            "manifestVersion": fact["manifestVersion"],
            "manifestHash": fact["manifestHash"],
            "manifestPosition": manifests[fact["manifestHash"]],
        },
    }
    return present(row)


def replied(row: Json, fact: Json, reply: Json) -> None:
    content = summit.reply_content(reply, row["kind"])
    if reply["kind"] == "verification":
        assert content.verification is not None
        judge = {
            "agentId": fact["agentId"],
            "replyId": fact["replyId"],
            "position": fact["cause"],
            "at": fact["at"],
            "verification": verification_row(content.verification),
            "provenance": content.provenance,
            "metrics": content.metrics,
        }
        row["judge"] = present(judge)
    else:
        row.setdefault("startedAt", fact["at"])
        row["metrics"] = {name: fact["figures"][name] for name in ("tokens", "cost_usd")}
        if content.provenance is not None:
            row["provenance"] = content.provenance
        if content.verification is not None:
            row["verification"] = verification_row(content.verification)
        if reply["kind"] != "progress":
            hashes = {"replyHash": fact["contentHash"], "outputHash": content.output_hash}
            row["evidence"] |= present({"replyPosition": fact["cause"], **hashes})
    spoken = [row.get("verification"), row.get("judge", {}).get("verification")]
    named = [one["status"] for one in spoken if one]
    if named:
        row["verificationStatus"] = summit.strictest(*named)


def ended(row: Json, fact: Json, command: Json) -> None:
    row["finishedAt"] = fact["at"]
    row.setdefault("provenance", {"model": "unknown", "timestamp": fact["at"]})
    if fact["rule"] == "reply.error":
        row["error"] = command["error"]
    elif fact["rule"] != "reply.result":
        agent_error = None
        if command.get("kind") == "error":
            agent_error = summit.reply_content(command, row["kind"]).error
        errors = fact["errors"] or None
        details = {"path": fact["path"], "errors": errors, "agent_error": agent_error}
        row["error"] = summit.run_error(fact["rule"], **details)


def verification_row(verification: Json) -> Json:
    return {"checks": [], **summit.row_verification(verification)}


def summit_time(ms: float) -> str:
    return iso(int(ms)).decode()


@settings(max_examples=example_count(120), deadline=None)
@given(HISTORIES)
def test_the_facts_are_enough(history: list[tuple[tuple[Any, Json], int]]) -> None:
    bench, commands = Bench(), {}
    replies: dict[str, Json] = {}
    for (topic, value), wait in history:
        message = bench.record(topic, value, bench.now + wait)
        commands[position(message.record)] = value
        bench.decide(message)
    facts = bench.facts()
    for run_id, row in bench.rows(SUMMIT_RUNS_TABLE).items():
        run_facts = [f for f in facts if f["subject"] == "manifest" or f["runId"] == run_id]
        assert rebuilt(run_facts, commands) == present(to_json(RUN_RECORD, row))
    for fact in facts:
        if fact["subject"] == "reply" and fact["verdict"] == "accepted":
            known = {"replyHash": fact["contentHash"], "position": fact["cause"]}
            replies[f"{fact['runId']}/{fact['replyId']}"] = known
    assert bench.rows(SUMMIT_REPLIES_KNOWN) == replies
