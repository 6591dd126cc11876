"""Checks of the facts about spans: shapes, ids, hashes, members.

What a span says is derived from the span in the fact, since the command is only kept for a day.
Not derived again: the masking of spans, whose originals are not on the log.

Source: OTel guide, 3 to 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.otel import rules, span_hash, span_json, validate_span
from streams.engine.processor import Message
from streams.masking import Masker
from streams.protocols.otel.span_events import payloads_of, times_of
from streams.protocols.otel.span_members import members_of
from streams.replay.checks import (
    CheckContext,
    Problems,
    check_equal,
    check_members,
    check_that,
    partition_mismatch,
)
from streams.replay.facts import Fact

_BOUNDED = rules.OUTPUT_TOO_LARGE.code
_MISPLACED = (rules.KEY_MISMATCH.code, rules.PARTITION_MISMATCH.code)
_KNOWN = (rules.SPAN_DUPLICATE.code, rules.SPAN_CONFLICT.code)
_NO_MASKS = Masker(arguments=False)


def verdict(fact: Fact, command: Message | None, context: CheckContext) -> Problems:
    """Check a fact of `otel.events`."""
    value = fact.value or {}
    if value["rule"] == _BOUNDED:
        return
    if command is not None:
        yield from _check_command(value, command, context)
    ids = (value["trace_id"], value["span_id"])
    if value["verdict"] == "accepted":
        yield from _check_accepted(value)
        context.seen.put(value["canonical_hash"], "span", *ids)
        context.seen.put(value["cause"], "position", *ids)
    elif value["rule"] in _KNOWN:
        first = context.seen.get("position", *ids)
        if first is not None or not fact.cut_off:
            yield from check_equal("first_position", value["first_position"], first)
    elif value["span"] is not None and value["rule"] not in _MISPLACED:
        problems = validate_span(span_json(value["span"]))
        derived = problems[0].rule if problems else None
        yield from check_equal("rule", value["rule"], derived)


def _check_command(value: Mapping[str, Any], command: Message, context: CheckContext) -> Problems:
    """Check a fact against the span as it was sent."""
    record, sent = command.record, span_json(command.value)
    yield from check_equal("at", value["at"], record.timestamp)
    problems = validate_span(sent)
    if problems:
        yield from check_equal("rule", value["rule"], problems[0].rule)
        return
    yield from check_members(value, {name: sent[name] for name in ("trace_id", "span_id")})
    mismatch = partition_mismatch(record.key, sent["trace_id"], record.partition, context)
    if mismatch or value["rule"] in _MISPLACED:
        yield from check_equal("rule", value["rule"], mismatch)


def _check_accepted(value: Mapping[str, Any]) -> Problems:
    """Check what the fact of an accepted span says of the span that it contains."""
    yield from check_that(value["span"] is not None, "there is no span")
    if value["span"] is None:
        return
    span = span_json(value["span"])
    yield from check_that(not validate_span(span), "the span breaks a rule of shape")
    yield from check_equal("canonical_hash", value["canonical_hash"], span_hash(span))
    members = members_of(span)
    derived = members._asdict()
    if members.session_id is None:
        del derived["session_id"]
    yield from check_members(value, derived)
    start, end = times_of(span)
    yield from check_members(value, {"started_at": start // 1000, "ended_at": end // 1000})
    events = len(payloads_of(span, members, 0, _NO_MASKS))
    yield from check_equal("rtes_events", value["rtes_events"], events)
