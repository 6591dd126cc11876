"""The links between keys, on `asap.links`: requests for a depth, a claim, or a response again.

A claim maps an idempotency key to a task.  Its key consists of sender, skill and idempotency key,
so that requests of all partitions meet there.  It is granted to the first request and, until it
expires, to no other.  Times are those of the requests.  A later request is redirected to the task
that holds the claim.

Source: ASAP guide, 5.3, 5.7 and 5.4.
"""

from __future__ import annotations

from typing import Any

from schemas import asap
from streams.engine.processor import AvroValue
from streams.processing.graph import LineageEdge
from streams.protocols.asap.processor import verdicts
from streams.protocols.asap.processor.command import Command
from streams.protocols.asap.processor.decision import (
    CLAIM,
    HOUR_MS,
    REDIRECT,
    DecisionContext,
    envelope_node,
    expire_later,
    task_node,
)
from streams.protocols.asap.processor.task import find_task
from streams.protocols.asap.processor.verdicts import Outcome
from topology.asap import ANSWERS, ASAP_CLAIMS, ASAP_LINKS, ASAP_REDIRECTS
from topology.keys import composite


def ask(kind: str, key: str, command: Command, ctx: DecisionContext, **members: Any) -> None:
    """Ask another key about a request, with the request's sender and time."""
    request = {"from_key": command.key, "envelope_id": command.id, "sender": command.sender}
    _send_link(key, {"kind": kind, **request, "at": command.at, **members}, ctx)


def answer(
    kind: str, link: dict[str, Any], from_key: str, ctx: DecisionContext, **members: Any
) -> None:
    """Answer a link to the key that sent it.  link: AsapLink."""
    request = {name: link[name] for name in ("envelope_id", "sender", "at")}
    _send_link(link["from_key"], {"kind": kind, "from_key": from_key, **request, **members}, ctx)


def _send_link(key: str, link: dict[str, Any], ctx: DecisionContext) -> None:
    ctx.send(ASAP_LINKS, key, link, ctx.cause)


def claim_key_of(command: Command, idempotency_key: str) -> str:
    """Return the key of a request's claim."""
    return asap.claim_key(command.sender, command.body["skill_id"], idempotency_key)


def ask_claim(command: Command, idempotency_key: str, ctx: DecisionContext) -> None:
    ask(
        "claim_ask",
        claim_key_of(command, idempotency_key),
        command,
        ctx,
        skill_id=command.body["skill_id"],
        idempotency_key=idempotency_key,
        payload_hash=asap.payload_hash(command.json),
    )


def decide_claim(claim_key: str, link: AvroValue, ctx: DecisionContext) -> None:
    """Answer a `claim_ask`: grant the claim, or name the task that holds it."""
    rows = ctx.work.rows(ASAP_CLAIMS)
    row = rows.get(claim_key)
    lifetime = ctx.setting("IDEMPOTENCY_HOURS") * HOUR_MS
    if row is None or link["at"] - row["claimed_at"] > lifetime:
        row = {"task_id": link["from_key"], "payload_hash": link["payload_hash"]}
        rows.put(claim_key, {**row, "claimed_at": link["at"]})
        expire_later(CLAIM, claim_key, ctx)
    granted = row["task_id"] == link["from_key"]
    answer(
        "claim_answer",
        link,
        claim_key,
        ctx,
        granted=granted,
        task_id=row["task_id"],
        content_differs=row["payload_hash"] != link["payload_hash"],
    )


def redirect(command: Command, link: AvroValue, ctx: DecisionContext) -> Outcome:
    """Redirect the request to an older task, and have its response sent again, if it has one."""
    holder = link["task_id"]
    key, row = composite(command.key), {"task_id": holder, "at": ctx.at}
    ctx.work.rows(ASAP_REDIRECTS).put(key, row)
    expire_later(REDIRECT, key, ctx)
    ctx.emit_edge(LineageEdge(envelope_node(command.id), "part_of", task_node(holder)))
    ask("resend", holder, command, ctx)
    return verdicts.duplicate(
        "same_idempotency_key", task_id=holder, content_differs=link["content_differs"]
    )


def redirect_of(ctx: DecisionContext, key: str) -> str | None:
    """Return the task that a request was redirected to, until that expires."""
    row = ctx.work.rows(ASAP_REDIRECTS).get(composite(key))
    if row is None or ctx.at - row["at"] > ctx.setting("DEDUPE_HOURS") * HOUR_MS:
        return None
    task_id: str = row["task_id"]
    return task_id


def answer_depth(key: str, link: AvroValue, ctx: DecisionContext) -> None:
    """Answer a `depth_ask` at once, also for a held parent, so that a cycle cannot block."""
    task = find_task(key, ctx)
    depth = None if task is None else task.row["depth"]
    answer("depth_answer", link, key, ctx, known=task is not None, depth=depth)


def resend(key: str, link: AvroValue, ctx: DecisionContext) -> None:
    """Deliver a task's response again; if there is none yet, it is delivered when it comes."""
    task = find_task(key, ctx)
    response = None if task is None else task.response
    if task is not None and response is not None:
        headers = [(ANSWERS.name, link["envelope_id"].encode())]
        ctx.deliver(task.requester, response, response["id"], headers)
