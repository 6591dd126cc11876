"""What one key asks of another by records of `asap.links`: a depth, a claim, a response again.

A claim says which task an idempotency key stands for.  It lives under a key of its own, made of
sender, skill and idempotency key, so that requests of all partitions meet there.  It is granted to
the first request and, as long as it lives, to that one only.  Times are those of the requests.  A
request that comes later is redirected to the task that holds the claim.

Source: ASAP spec, 5.3, 5.7 and 9.7.
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
    """Ask another key about a request, in the request's own name and time."""
    about = {"from_key": command.key, "envelope_id": command.id, "sender": command.sender}
    _send_link(key, {"kind": kind, **about, "at": command.at, **members}, ctx)


def answer(
    kind: str, asked: dict[str, Any], own_key: str, ctx: DecisionContext, **members: Any
) -> None:
    """Answer a link to the key that it came from.  asked: AsapLink."""
    about = {name: asked[name] for name in ("envelope_id", "sender", "at")}
    _send_link(asked["from_key"], {"kind": kind, "from_key": own_key, **about, **members}, ctx)


def _send_link(key: str, link: dict[str, Any], ctx: DecisionContext) -> None:
    ctx.send(ASAP_LINKS, key, link, ctx.cause)


def claim_key_of(command: Command, idempotency_key: str) -> str:
    """Where the claim of a request is decided."""
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
    """A `claim_ask`: grant the claim, or name the task that holds it."""
    rows = ctx.work.rows(ASAP_CLAIMS)
    row = rows.get(claim_key)
    lifetime = ctx.setting("IDEMPOTENCY_HOURS") * HOUR_MS
    if row is None or link["at"] - row["claimed_at"] > lifetime:
        row = {"task_id": link["from_key"], "payload_hash": link["payload_hash"]}
        rows.put(claim_key, {**row, "claimed_at": link["at"]})
        expire_later(CLAIM, claim_key, ctx)
    held_by_it = row["task_id"] == link["from_key"]
    answer(
        "claim_answer",
        link,
        claim_key,
        ctx,
        granted=held_by_it,
        task_id=row["task_id"],
        content_differs=row["payload_hash"] != link["payload_hash"],
    )


def redirect(command: Command, link: AvroValue, ctx: DecisionContext) -> Outcome:
    """An older task answers this request: have its response sent again, if there is one."""
    holder = link["task_id"]
    key, row = composite(command.key), {"task_id": holder, "at": ctx.at}
    ctx.work.rows(ASAP_REDIRECTS).put(key, row)
    expire_later(REDIRECT, key, ctx)
    ctx.draw(LineageEdge(envelope_node(command.id), "part_of", task_node(holder)))
    ask("resend", holder, command, ctx)
    return verdicts.duplicate(
        "same_idempotency_key", task_id=holder, content_differs=link["content_differs"]
    )


def redirect_of(ctx: DecisionContext, key: str) -> str | None:
    """The task that answers the request of this key, while that is remembered."""
    row = ctx.work.rows(ASAP_REDIRECTS).get(composite(key))
    if row is None or ctx.at - row["at"] > ctx.setting("DEDUPE_HOURS") * HOUR_MS:
        return None
    task_id: str = row["task_id"]
    return task_id


def answer_depth(key: str, link: AvroValue, ctx: DecisionContext) -> None:
    """Nobody waits for a parent that is itself held, so two that name each other do not block."""
    found = find_task(key, ctx)
    depth = None if found is None else found.row["depth"]
    answer("depth_answer", link, key, ctx, known=found is not None, depth=depth)


def resend(key: str, link: AvroValue, ctx: DecisionContext) -> None:
    """Deliver a task's response again; one that is not there yet is delivered when it comes."""
    found = find_task(key, ctx)
    response = None if found is None else found.response
    if found is not None and response is not None:
        headers = [(ANSWERS.name, link["envelope_id"].encode())]
        ctx.deliver(found.requester, response, response["id"], headers)
