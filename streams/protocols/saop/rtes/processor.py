"""Each observation of a session is recorded once, in one order, or refused with a reason.

For every record of `rtes.raw`, in this order, the first that applies decides:

1. its shape breaks a rule of the protocol;
2. `key_mismatch`, then `partition_mismatch`: another task keeps the session's order;
3. its id is known in the session: `event_duplicate` or `event_id_conflict`;
4. what it is about does not allow it: a task (`moves`), a call (`calls`), a stream (`thoughts`);
5. it is recorded, masked, under the session's next sequence.

A refused event changes nothing: sent again, it is judged again.  What becomes of the records of
`saop.rewinds` is said in `rewinds`.

Source: SAOP/RTES spec, 5.2, 5.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from schemas.rtes import rules, validate_event
from streams.engine.processor import AvroValue, Message, Timer, Work
from streams.engine.records import position
from streams.masking.configured import masker_of
from streams.protocols.saop.rtes import (
    calls,
    dedupe,
    masks,
    moves,
    preload,
    rejections,
    rewinds,
    thoughts,
    windows,
)
from streams.protocols.saop.rtes.findings import Finding
from streams.protocols.saop.rtes.inbound import Event
from streams.protocols.saop.rtes.masks import Masked
from streams.protocols.saop.rtes.rejections import Refusal
from streams.protocols.saop.rtes.scene import Scene
from topology.declarations import Topic
from topology.keys import partition_of
from topology.saop import RTES_EVENTS, RTES_PROCESSOR, SAOP_REWINDS

_RULES = {rule.code: rule for rule in rules.ALL}


def _pulse(event: Event, scene: Scene) -> Finding:
    """Nothing speaks against a line of output."""
    return Finding(task_id=None if event.origin else scene.active_task)


JUDGES: Mapping[str, Callable[[Event, Scene], Finding | Refusal]] = {
    "headrace.rtes.ThoughtStream": thoughts.judge,
    "headrace.rtes.ToolInvoked": calls.invoked,
    "headrace.rtes.ToolCompleted": calls.completed,
    "headrace.rtes.TaskTransition": moves.judge,
    "headrace.rtes.SandboxPulse": _pulse,
}
"""By the record of the payload."""


class RtesProcessor:
    """The processor of `rtes.raw` and `saop.rewinds`."""

    declaration = RTES_PROCESSOR

    def decide(self, batch: Sequence[Message], work: Work) -> None:
        preload.load(batch, work)
        for message in batch:
            work.cause = position(message.record)
            if message.topic is SAOP_REWINDS:
                rewinds.judge(message, work)
                continue
            event = Event(message)
            refusal = _misfit(event, work) or _judge(event, work)
            if refusal is not None:
                rejections.send(event, refusal, work)

    def fire(self, timers: Sequence[Timer], now_ms: int, work: Work) -> None:
        for timer in timers:
            if timer.kind == rewinds.LAPSE:
                rewinds.fire(timer, now_ms, work)
            else:
                windows.sweep(timer, work)

    def too_large(self, message: Message, topic: Topic, size: int, work: Work) -> None:
        work.cause = position(message.record)
        if message.topic is SAOP_REWINDS:
            rewinds.too_large(message, work)
        else:
            refusal = Refusal(rules.OUTPUT_TOO_LARGE)
            rejections.send(Event(message), refusal, work, keep_event=False)

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        if value is None or not topic.secret:
            return value
        return masker_of(settings).dead_letter(value)


def _misfit(event: Event, work: Work) -> Refusal | None:
    """What can be said without looking at the session: shape, key, partition."""
    problems = validate_event(event.json, avro=True)
    if problems:
        return Refusal(_RULES[problems[0].rule], problems=problems)
    record, session_id = event.message.record, event.session_id
    key = session_id.encode()
    if record.key != key:
        given = None if record.key is None else record.key.decode(errors="backslashreplace")
        return Refusal(rules.KEY_MISMATCH, {"key": given, "expected": session_id}, "/session_id")
    if partition_of(key, work.partitions) != record.partition:
        return Refusal(rules.PARTITION_MISMATCH, path="/session_id")
    return None


def _judge(event: Event, work: Work) -> Refusal | None:
    """Judge an event by its session, and record it if nothing is against it."""
    scene = Scene(event.session_id, event.at, work)
    masker = masker_of(work.settings)
    masked = masks.stateless(event, masker)
    digest = masks.digest(event, masked)
    known = dedupe.judge(event.value["event_id"], digest, scene)
    if known is not None:
        return known
    found = JUDGES[event.name](event, scene)
    if isinstance(found, Refusal):
        return found
    payload = found.payload or masks.for_record(event, masked, masker, scene)
    record = _record(event, found, payload, masked, scene)
    work.send(
        RTES_EVENTS,
        event.session_id,
        record,
        id=record["event_id"],
        at=scene.now_ms,
        cause=event.cause,
        traceparent=event.traceparent,
    )
    found.keep(record)
    dedupe.remember(record["event_id"], digest, record["sequence"], scene)
    scene.save()
    return None


def _record(
    event: Event, found: Finding, payload: AvroValue, masked: Masked, scene: Scene
) -> AvroValue:
    return {
        "event_id": event.value["event_id"],
        "session_id": event.session_id,
        "payload": (event.name, payload),
        "origin": event.origin,
        "sequence": scene.next_sequence(),
        "recorded_at": scene.now_ms,
        "rule": found.rule.code,
        "task_id": found.task_id,
        "profile": found.profile,
        "flags": found.flags,
        "masked_arguments": masked.tokens,
        "dropped_keys": event.dropped_keys,
        "rewind_id": None,
        "cause": event.cause,
    }
