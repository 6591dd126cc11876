"""The rtes processor: each observation of a session is recorded once, in one order, or refused.

For every record of `rtes.raw`, in this order, the first that applies decides:

1. its shape violates a rule of the protocol;
2. `key_mismatch`, then `partition_mismatch`: another worker task has the session's order;
3. its id is known in the session: `event_duplicate` or `event_id_conflict`;
4. the state of its task, call or stream does not allow it, by its type's handler;
5. it is recorded, masked, under the session's next sequence.

A refused event results in one fact with the reason, and without secrets.  It changes nothing: if
sent again, it is decided again.  `rewinds` describes the decision on records of `saop.rewinds`,
`pauses` that on records of `saop.controls`.

Source: SAOP guide, 5.2, 5.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from schemas import Problem, canonical_json, uuid5_url
from schemas.members import MAX_ERRORS
from schemas.rtes import rules, validate_event
from streams.engine.processor import AvroValue, Message, ProcessorContext, Timer
from streams.masking import Masker
from streams.masking.configured import masker_of
from streams.processing.envelope import partition_mismatch
from streams.protocols.saop.rtes import pauses, rewinds
from streams.protocols.saop.rtes.event import Event, Recording, Refusal
from streams.protocols.saop.rtes.event_handlers import BY_RECORD, load_rows
from streams.protocols.saop.rtes.masking import MaskedPayload, digest_of
from streams.protocols.saop.rtes.session import SessionState, check_repeated, expire, remember_id
from topology.declarations import Topic
from topology.saop import (
    RTES_EVENTS,
    RTES_PROCESSOR,
    RTES_REJECTIONS,
    SAOP_CONTROLS,
    SAOP_REWINDS,
)

_RULES = {rule.code: rule for rule in rules.ALL}


class RtesProcessor:
    """The processor of `rtes.raw`, `saop.rewinds` and `saop.controls`."""

    declaration = RTES_PROCESSOR

    def decide(self, batch: Sequence[Message], ctx: ProcessorContext) -> None:
        load_rows(batch, ctx)
        for message in batch:
            if message.topic is SAOP_REWINDS:
                rewinds.decide(message, ctx)
            elif message.topic is SAOP_CONTROLS:
                pauses.decide(message, ctx)
            else:
                _decide(Event(message), ctx)

    def fire(self, timers: Sequence[Timer], now_ms: int, ctx: ProcessorContext) -> None:
        for timer in timers:
            if timer.kind == rewinds.LAPSE:
                rewinds.fire(timer, now_ms, ctx)
            else:
                expire(timer, ctx)

    def too_large(self, message: Message, topic: Topic, size: int, ctx: ProcessorContext) -> None:
        if message.topic is SAOP_REWINDS:
            rewinds.too_large(message, ctx)
        elif message.topic is SAOP_CONTROLS:
            pauses.too_large(message, ctx)
        else:
            _reject(Event(message), Refusal(rules.OUTPUT_TOO_LARGE), ctx, keep_event=False)

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        if value is None or not topic.secret:
            return value
        return masker_of(settings).dead_letter(value)


def _decide(event: Event, ctx: ProcessorContext) -> None:
    refusal = _check_record(event, ctx) or _record_or_refuse(event, ctx)
    if refusal is not None:
        _reject(event, refusal, ctx)


def _check_record(event: Event, ctx: ProcessorContext) -> Refusal | None:
    """Check what needs no look at the session: shape, key, partition."""
    problems = validate_event(event.json, avro=True)
    if problems:
        return Refusal(_RULES[problems[0].rule], problems=problems)
    record, session_id = event.message.record, event.session_id
    key = session_id.encode()
    if record.key != key:
        sent = None if record.key is None else record.key.decode(errors="backslashreplace")
        return Refusal(rules.KEY_MISMATCH, {"key": sent, "expected": session_id}, "/session_id")
    if partition_mismatch(key, record.partition, ctx) is not None:
        return Refusal(rules.PARTITION_MISMATCH, path="/session_id")
    return None


def _record_or_refuse(event: Event, ctx: ProcessorContext) -> Refusal | None:
    """Decide an event by its session, and record it if nothing is against it."""
    session = SessionState.of(event, ctx)
    masker, handler = masker_of(ctx.settings), BY_RECORD[event.name]
    masked_payload = handler.masking.stateless(event, masker)
    digest = digest_of(event, masked_payload)
    repeated = check_repeated(event.value["event_id"], digest, session)
    if repeated is not None:
        return repeated
    result = handler.decide(event, session)
    if isinstance(result, Refusal):
        return result
    payload = result.payload or handler.masking.for_record(event, masked_payload, masker, session)
    record = _rtes_record(event, result, payload, masked_payload, session)
    session.send(RTES_EVENTS, event.session_id, record, record["event_id"])
    result.apply(record)
    remember_id(record["event_id"], digest, record["sequence"], session)
    session.save()
    return None


def _rtes_record(
    event: Event,
    recording: Recording,
    payload: AvroValue,
    masked_payload: MaskedPayload,
    session: SessionState,
) -> AvroValue:
    return {
        "event_id": event.value["event_id"],
        "session_id": event.session_id,
        "payload": (event.name, payload),
        "origin": event.origin,
        "sequence": session.next_sequence(),
        "recorded_at": session.at,
        "rule": recording.rule.code,
        "task_id": recording.task_id,
        "profile": recording.profile,
        "flags": recording.flags,
        "masked_arguments": masked_payload.tokens,
        "dropped_keys": event.dropped_keys,
        "rewind_id": None,
        "control_id": None,
        "cause": event.cause,
    }


def _reject(
    event: Event, refusal: Refusal, ctx: ProcessorContext, *, keep_event: bool = True
) -> None:
    """Write the RtesRejection of a record, which contains the event if `keep_event` is set."""
    masker = masker_of(ctx.settings)
    event_json = None
    if keep_event and not refusal.duplicate:
        event_json = canonical_json(_masked_event(event, refusal, masker, ctx)).decode()
    rejection = {
        "verdict": "duplicate" if refusal.duplicate else "rejected",
        "rule": refusal.rule.code,
        "fault": refusal.fault,
        "event_id": masker.text(event.value["event_id"]),
        "session_id": event.rejection_session_id,
        "type": masker.text(event.json["payload"]["type"]),
        "figures_json": canonical_json(masker.everything(dict(refusal.evidence))).decode(),
        "errors": _errors(refusal, masker),
        "first_sequence": refusal.first_sequence,
        "event_json": event_json,
        "at": event.at,
        "cause": event.cause,
    }
    id = uuid5_url(f"headrace:{event.cause}/0")
    event.decision(ctx).send(RTES_REJECTIONS, event.rejection_session_id, rejection, id)


def _masked_event(event: Event, refusal: Refusal, masker: Masker, ctx: ProcessorContext) -> Any:
    """Mask every string except the thought of a valid event (SAOP guide, 5.4)."""
    if not refusal.trusted:
        return masker.everything(event.json)
    masking, session = BY_RECORD[event.name].masking, SessionState.of(event, ctx)
    payload = masking.for_rejection(event, masking.stateless(event, masker), masker, session)
    verbatim = {name: payload[name] for name in masking.verbatim}
    masked: dict[str, Any] = masker.everything({**event.json, "payload": payload})
    return {**masked, "payload": {**masked["payload"], **verbatim}}


def _errors(refusal: Refusal, masker: Masker) -> list[AvroValue]:
    """Return the broken shape rules, or the one rule that decided; no message quotes a value."""
    if refusal.duplicate:
        return []
    problems = refusal.problems or (Problem(refusal.rule.code, refusal.path, refusal.rule.meaning),)
    return [
        {"rule": rule, "path": masker.text(path), "message": message}
        for rule, path, message in problems[:MAX_ERRORS]
    ]
