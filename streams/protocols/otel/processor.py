"""The otel processor: each span is recorded once, or refused (OTel guide, 5).

For every record of `otel.spans`, in this order, the first that applies decides:

1. its shape violates a rule;
2. `key_mismatch`, then `partition_mismatch`: another worker task knows the trace;
3. its ids are known in the trace: `span_duplicate` or `span_conflict`;
4. it is recorded, masked, and becomes events of RTES by its type.

A refused span results in one fact with the reason and without secrets, and changes nothing but
the time at which its trace is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from schemas import Problem, from_json, uuid5_url
from schemas.formats import MAX_ID
from schemas.otel import rules, span_hash, span_json, validate_span
from schemas.rtes.models import OTEL
from schemas.rules import Rule
from streams.engine.headers import TRACEPARENT
from streams.engine.processor import AvroValue, Message, ProcessorContext, Timer
from streams.engine.records import header, position
from streams.masking import Masker
from streams.masking.configured import masker_of
from streams.processing.decision import Decision
from streams.processing.envelope import partition_mismatch
from streams.processing.graph import LineageEdge
from streams.protocols.otel import known_spans
from streams.protocols.otel.lineage import span_node
from streams.protocols.otel.masking import mask_refused, mask_span
from streams.protocols.otel.span_events import event_id, payloads_of, times_of
from streams.protocols.otel.span_members import SpanMembers, members_of
from topology.declarations import Topic
from topology.otel import OTEL_EVENTS, OTEL_PROCESSOR, OTEL_SPANS

_RECORD = OTEL_SPANS.record or ""
_RULES = {rule.code: rule for rule in rules.ALL}


class Refusal(NamedTuple):
    """The reason why a span is not recorded.  first: the position of the span of its ids."""

    rule: Rule
    problems: Sequence[Problem] = ()
    first: str | None = None


class SpanRecord:
    """One record of `otel.spans`.

    json: the span in its JSON form, masked.  avro: the same as Avro.
    problems: the rules of shape that it breaks.
    """

    __slots__ = ("avro", "cause", "json", "message", "problems", "span_id", "trace_id")

    def __init__(self, message: Message, settings: Mapping[str, Any]) -> None:
        sent = span_json(message.value)
        self.message = message
        self.cause = position(message.record)
        self.problems = validate_span(sent)
        self.json = _masked(sent, bool(self.problems), settings)
        self.avro: AvroValue = from_json(_RECORD, self.json)
        self.trace_id = _short(self.json["trace_id"])
        self.span_id = _short(self.json["span_id"])

    @property
    def traceparent(self) -> bytes | None:
        """Return the trace context of what the span causes: its own, if its ids are valid."""
        if self.problems:
            return header(self.message.record, TRACEPARENT)
        return f"00-{self.trace_id}-{self.span_id}-01".encode()


def _masked(span: dict[str, Any], is_refused: bool, settings: Mapping[str, Any]) -> dict[str, Any]:
    if not settings["OTEL_MASK"]:
        return span
    masker = masker_of(settings)
    return mask_refused(span, masker) if is_refused else mask_span(span, masker)


def _short(id: str) -> str:
    """Return an id as a fact has it: one that is too long to be a key is the empty text."""
    return id if len(id) <= MAX_ID else ""


class OtelProcessor:
    """The processor of `otel.spans`."""

    declaration = OTEL_PROCESSOR

    def decide(self, batch: Sequence[Message], ctx: ProcessorContext) -> None:
        known_spans.load_rows(batch, ctx)
        for message in batch:
            _decide(SpanRecord(message, ctx.settings), ctx)

    def fire(self, timers: Sequence[Timer], now_ms: int, ctx: ProcessorContext) -> None:
        for timer in timers:
            known_spans.expire(timer, ctx)

    def too_large(self, message: Message, topic: Topic, size: int, ctx: ProcessorContext) -> None:
        span = SpanRecord(message, ctx.settings)
        _refuse(span, Refusal(rules.OUTPUT_TOO_LARGE), _decision(span, ctx), keep_span=False)

    def dead_letter(
        self, topic: Topic, value: bytes | None, settings: Mapping[str, Any]
    ) -> bytes | None:
        return None if value is None else masker_of(settings).dead_letter(value)


def _decision(span: SpanRecord, ctx: ProcessorContext) -> Decision:
    return Decision(ctx, span.cause, span.message.record.timestamp, span.traceparent)


def _decide(span: SpanRecord, ctx: ProcessorContext) -> None:
    decision = _decision(span, ctx)
    refusal = _check_record(span, ctx) or _record_or_refuse(span, decision)
    if refusal is not None:
        _refuse(span, refusal, decision)


def _check_record(span: SpanRecord, ctx: ProcessorContext) -> Refusal | None:
    """Check what needs no row: shape, key, partition."""
    if span.problems:
        return Refusal(_RULES[span.problems[0].rule], span.problems)
    key = span.trace_id.encode()
    if span.message.record.key != key:
        return Refusal(rules.KEY_MISMATCH)
    if partition_mismatch(key, span.message.record.partition, ctx) is not None:
        return Refusal(rules.PARTITION_MISMATCH)
    return None


def _record_or_refuse(span: SpanRecord, decision: Decision) -> Refusal | None:
    """Decide a span by those that its trace has, and record it if nothing is against it."""
    trace = known_spans.TraceState(span.trace_id, decision)
    digest = span_hash(span.json)
    known = trace.known(span.span_id)
    trace.touch()
    if known is not None:
        is_same = known["canonical_hash"] == digest
        rule = rules.SPAN_DUPLICATE if is_same else rules.SPAN_CONFLICT
        return Refusal(rule, first=known["position"])
    members = members_of(span.json)
    session_id = trace.session_of(members, span.json)
    payloads = payloads_of(span.json, members, trace.model_spans, masker_of(decision.work.settings))
    decision.send(
        OTEL_EVENTS,
        span.trace_id,
        _accepted(span, members, session_id, len(payloads), digest, decision),
        _fact_id(span),
    )
    for number, (record, payload) in enumerate(payloads):
        decision.emit_rtes_event(OTEL, event_id(span.json, number), session_id, record, payload)
    if members.type != "other":
        decision.emit_edge(*_edges(span))
    trace.add(span.span_id, members, digest)
    return None


def _fact_id(span: SpanRecord) -> str:
    return uuid5_url(f"headrace:{span.cause}/0")


def _edges(span: SpanRecord) -> list[LineageEdge]:
    node = span_node(span.trace_id, span.span_id)
    edges = [LineageEdge(node, "same_trace", f"trace:{span.trace_id}")]
    parent = span.json.get("parent_span_id")
    if parent is not None:
        edges.append(LineageEdge(node, "child_of", span_node(span.trace_id, parent)))
    return edges


_NOTHING_KNOWN: Mapping[str, Any] = {
    "session_id": None,
    "type": None,
    "dialect": None,
    "agent": None,
    "tool": None,
    "model": None,
    "provider": None,
    "input_tokens": None,
    "output_tokens": None,
    "started_at": None,
    "ended_at": None,
    "failed": None,
    "rtes_events": 0,
    "canonical_hash": None,
}


def _accepted(
    span: SpanRecord,
    members: SpanMembers,
    session_id: str,
    events: int,
    digest: str,
    decision: Decision,
) -> AvroValue:
    start, end = times_of(span.json)
    return {
        **_head(span, "accepted", rules.SPAN_RECORDED, decision),
        **members._asdict(),
        "session_id": session_id,
        "started_at": start // 1000,
        "ended_at": end // 1000,
        "rtes_events": events,
        "canonical_hash": digest,
        "first_position": None,
        "fault": None,
        "span": span.avro,
        "errors": [],
    }


def _head(span: SpanRecord, verdict: str, rule: Rule, decision: Decision) -> AvroValue:
    return {
        "event_id": _fact_id(span),
        "verdict": verdict,
        "rule": rule.code,
        "trace_id": span.trace_id,
        "span_id": span.span_id,
        "at": decision.at,
        "cause": span.cause,
    }


def _refuse(
    span: SpanRecord, refusal: Refusal, decision: Decision, *, keep_span: bool = True
) -> None:
    """Write the fact of a refused span, which contains the span unless it is a duplicate."""
    is_duplicate = refusal.rule is rules.SPAN_DUPLICATE
    fault = "service" if refusal.rule is rules.OUTPUT_TOO_LARGE else "sender"
    fact = {
        **_head(span, "duplicate" if is_duplicate else "rejected", refusal.rule, decision),
        **_NOTHING_KNOWN,
        "first_position": refusal.first,
        "fault": None if is_duplicate else fault,
        "span": span.avro if keep_span and not is_duplicate else None,
        "errors": [] if is_duplicate else _errors(refusal, masker_of(decision.work.settings)),
    }
    decision.send(OTEL_EVENTS, span.trace_id, fact, _fact_id(span))


def _errors(refusal: Refusal, masker: Masker) -> list[AvroValue]:
    """Return the broken rules of shape, or the one rule that decided; no message quotes a value."""
    problems = refusal.problems or (Problem(refusal.rule.code, "", refusal.rule.meaning),)
    return [
        {"rule": rule, "path": masker.text(path), "message": message}
        for rule, path, message in problems
    ]
