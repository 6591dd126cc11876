"""The tools `explain` and `receipt`: the verdict on a record, why it is so, and what proves it."""

from __future__ import annotations

import base64
from hashlib import sha256
from typing import Any

from streams.doors.mcp.door import Door, ToolCall
from streams.doors.mcp.reading import check_kind, links_to
from streams.doors.mcp.records import (
    INTERNAL,
    TOO_LARGE,
    UNKNOWN,
    errors_of,
    find_verdict,
    is_fact,
    parts_of,
    read_effects,
    read_facts,
    read_record,
)
from streams.doors.mcp.results import Json, ToolRefused, refused, tool_result
from streams.doors.mcp.rules import meaning_of
from streams.engine.headers import CAUSE
from streams.engine.records import TopicPartition
from streams.view_store.receipts import find_receipt
from streams.view_store.transparency import followed_log
from streams.views.parse import parse_position

_MOST_FACTS = 20


async def explain(call: ToolCall) -> Json:
    """Return the verdict on a record with its figures and its proof.  Raises ToolRefused."""
    door, arguments = call.door, call.arguments
    if ("position" in arguments) == ("node" in arguments):
        raise refused(422, "exactly one of position and node is needed", "arguments_invalid")
    if "node" in arguments:
        check_kind(arguments["node"])
        verdict = await _latest_verdict(door, arguments["node"])
        cause = verdict["cause"]
    else:
        cause = await _command_of(door, arguments["position"])
        verdict = await find_verdict(door, cause) or {}
    explained = await _explain(door, cause, verdict)
    fact = verdict.get("fact")
    links = links_to(explained["node"], None if fact is None else door.short(fact))
    return tool_result(explained, links=links)


async def _latest_verdict(door: Door, node: str) -> Json:
    thing = await door.asker.get("things", node)
    for verdict in thing["verdicts"]:
        if verdict["cause"] is not None:
            return {**verdict, "node": node, "protocol": thing["protocol"]}
    raise refused(404, f"no record was decided about {node} that a client sent", UNKNOWN, "/node")


async def _command_of(door: Door, position: str) -> str:
    """Return the position of the command: the one given, or what a fact was decided on.

    What is not shown counts as a command.
    """
    try:
        record = await read_record(door, position)
    except ToolRefused as exc:
        if exc.body.get("rule") in (INTERNAL, TOO_LARGE):
            return door.full(door.short(position))
        raise
    cause = record["headers"].get(CAUSE) if is_fact(record, door) else None
    return str(cause or record["position"])


async def _explain(door: Door, cause: str, verdict: Json) -> Json:
    """Return what is known of the verdict on the command at `cause`."""
    command, value = await _describe_command(door, cause, verdict), None
    fact, node = verdict.get("fact"), verdict.get("node")
    facts = await _facts(door, cause)
    rederived = None
    if fact is not None:
        value = next(
            (each["value"] for each in facts if each["position"] == door.short(fact)), None
        )
        rederived = await _rederive(door, fact)
    about = await _verdict_of_thing(door, node, cause)
    protocol = verdict.get("protocol")
    return {
        "command": command,
        "verdict": verdict.get("verdict"),
        "rule": verdict.get("rule"),
        "rule_meaning": meaning_of(verdict.get("rule"), protocol),
        "fault": verdict.get("fault"),
        "detail": verdict.get("message"),
        "figures": about.get("figures", {}),
        "checks": about.get("checks", []),
        "errors": about.get("errors") or errors_of(value),
        "node": node,
        "cause": door.short(cause),
        "facts": facts,
        "rederived": rederived,
    }


async def _describe_command(door: Door, cause: str, verdict: Json) -> Json | None:
    """Return the command without its value; None where it is not shown, or gone."""
    try:
        record = await read_record(door, cause)
    except ToolRefused as exc:
        if exc.body.get("rule") in (INTERNAL, TOO_LARGE, UNKNOWN, "record_expired"):
            return None
        raise
    return {
        "position": door.short(record["position"]),
        "topic": door.short(record["topic"]),
        "key": record["key"],
        "at": record["timestamp"],
        "principal": verdict.get("principal"),
    }


async def _facts(door: Door, cause: str) -> list[Json]:
    """Return the facts that a command caused, with their values."""
    try:
        places = (await read_effects(door, cause))["facts"][:_MOST_FACTS]
    except ToolRefused as exc:
        if exc.body.get("rule") in (INTERNAL, "record_unknown", "record_expired"):
            return []
        raise
    return await read_facts(door, places)


async def _rederive(door: Door, fact: str) -> Json | None:
    proof = await _prove(door, fact)
    return None if proof is None else proof["rederived"]


async def _prove(door: Door, fact: str) -> Json | None:
    """Return what is proven of a fact; None if it is not kept, or not shown."""
    try:
        return await door.asker.get("records", *parts_of(fact), "proof")
    except ToolRefused as exc:
        if exc.body.get("status") in (403, 404, 410):
            return None
        raise


async def _verdict_of_thing(door: Door, node: str | None, cause: str) -> Json:
    """Return the verdict with its figures, as the thing that it is about shows it."""
    if node is None:
        return {}
    try:
        thing = await door.asker.get("things", node)
    except ToolRefused:  # what was refused at first has no thing of its own
        return {}
    verdicts: list[Json] = thing["verdicts"]
    return next((each for each in verdicts if each["cause"] == cause), {})


async def make_receipt(call: ToolCall) -> Json:
    """Return hashes of a record and of its verdict, and what proves these.  Raises ToolRefused."""
    door = call.door
    record = await read_record(door, call.arguments["position"], with_bytes=True)
    if is_fact(record, door):
        fact: str | None = record["position"]
    else:
        verdict = await find_verdict(door, record["position"])
        fact = None if verdict is None else verdict["fact"]
    proof = None if fact is None else await _prove(door, fact)
    return tool_result(
        {
            "position": door.short(record["position"]),
            "at": record["timestamp"],
            "key": record["key"],
            "value_sha256": _hash(record),
            "verdict": None if fact is None else await _hash_fact(door, fact),
            **{name: (proof or {}).get(name) for name in ("rederived", "sealed", "receipt")},
            "proof": None if fact is None else _read_receipt(door, fact, proof),
        },
        links=links_to(None, None if fact is None else door.short(fact)),
    )


def _read_receipt(door: Door, fact: str, proof: Json | None) -> str | None:
    """Return the receipt of a fact, a text; None while its proof names none."""
    log = followed_log(door.settings)
    if log is None or proof is None or proof["receipt"] is None:
        return None
    topic, partition, offset = parse_position(fact)
    with door.gateway.view.reader() as rows:
        receipt = find_receipt(log, rows, TopicPartition(topic, partition), offset)
    return None if receipt is None else receipt.decode()


async def _hash_fact(door: Door, fact: str) -> Json:
    record = await read_record(door, fact, with_bytes=True)
    return {"position": door.short(fact), "value_sha256": _hash(record)}


def _hash(record: Json) -> str | None:
    """Return the SHA-256 of a value as it lies on the log, in hex; None of a null value."""
    encoded: Any = record["value_base64"]
    return None if encoded is None else sha256(base64.b64decode(encoded)).hexdigest()
