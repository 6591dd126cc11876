"""Idempotency keys: which task a key stands for, and requests that an older task answers.

A claim lives under a key of its own, made of sender, skill and idempotency key, so that requests
of all partitions meet there.  It is granted to the first request and, as long as it lives, to
that one only.  Times are those of the requests.

Source: ASAP spec, 5.3 and 9.7.
"""

from __future__ import annotations

from schemas import asap
from streams.engine.processor import AvroValue
from streams.processing.graph import Edge
from streams.protocols.asap.processor import asking, lineage, sweeping, verdicts
from streams.protocols.asap.processor.case import HOUR_MS
from streams.protocols.asap.processor.inbound import Command
from streams.protocols.asap.processor.scene import Scene
from streams.protocols.asap.processor.verdicts import Outcome
from topology.asap import ASAP_CLAIMS, ASAP_REDIRECTS
from topology.keys import composite


def key_of(command: Command, idempotency_key: str) -> str:
    """Where the claim of a request is decided."""
    return asap.claim_key(command.sender, command.body["skill_id"], idempotency_key)


def ask(command: Command, idempotency_key: str, scene: Scene) -> None:
    asking.ask(
        "claim_ask",
        key_of(command, idempotency_key),
        command,
        scene,
        skill_id=command.body["skill_id"],
        idempotency_key=idempotency_key,
        payload_hash=asap.payload_hash(command.json),
    )


def decide(claim_key: str, link: AvroValue, scene: Scene) -> None:
    """A `claim_ask`: grant the claim, or name the task that holds it."""
    rows = scene.work.rows(ASAP_CLAIMS)
    row = rows.get(claim_key)
    lifetime = scene.setting("IDEMPOTENCY_HOURS") * HOUR_MS
    if row is None or link["at"] - row["claimed_at"] > lifetime:
        row = {"task_id": link["from_key"], "payload_hash": link["payload_hash"]}
        rows.put(claim_key, {**row, "claimed_at": link["at"]})
        sweeping.later(sweeping.CLAIM, claim_key, scene)
    held_by_it = row["task_id"] == link["from_key"]
    asking.answer(
        "claim_answer",
        link,
        claim_key,
        scene,
        granted=held_by_it,
        task_id=row["task_id"],
        content_differs=row["payload_hash"] != link["payload_hash"],
    )


def redirect(command: Command, link: AvroValue, scene: Scene) -> Outcome:
    """An older task answers this request: have its response sent again, if there is one."""
    holder = link["task_id"]
    key, row = composite(command.key), {"task_id": holder, "at": scene.at}
    scene.work.rows(ASAP_REDIRECTS).put(key, row)
    sweeping.later(sweeping.REDIRECT, key, scene)
    scene.draw(Edge(lineage.envelope(command.id), "part_of", lineage.task(holder)))
    asking.ask("resend", holder, command, scene)
    return verdicts.duplicate(
        "same_idempotency_key", task_id=holder, content_differs=link["content_differs"]
    )


def redirect_of(scene: Scene, key: str) -> str | None:
    """The task that answers the request of this key, while that is remembered."""
    row = scene.work.rows(ASAP_REDIRECTS).get(composite(key))
    if row is None or scene.at - row["at"] > scene.setting("DEDUPE_HOURS") * HOUR_MS:
        return None
    task_id: str = row["task_id"]
    return task_id
