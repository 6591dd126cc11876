"""The spans of one record: sent, decided, delivered, or the end of an agent's work or tool call.

Source: OTel guide, 9.1.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import NamedTuple

from schemas.formats import parse_time
from streams.doors.otlp.exporter.conventions import (
    OUTGOING,
    Attributes,
    TopicMembers,
    member_at,
)
from streams.doors.otlp.exporter.reading import (
    NS_PER_MS,
    LogPosition,
    Reading,
    bounded,
    protocol_of,
    read,
)
from streams.engine.headers import CAUSE, DLT
from streams.engine.principals import PRINCIPAL
from streams.engine.records import Record
from streams.engine.trace_context import span_id
from topology.core import BEGAN
from topology.declarations import Topic, TopicKind
from topology.verdicts import VERDICTS

Meaning = Callable[[str, str], str | None]
"""Takes a rule and its protocol, and returns what the rule means."""
_EXPORTED = (TopicKind.COMMAND, TopicKind.FACT, TopicKind.INBOX, TopicKind.DEAD_LETTER)
_VERDICTS = ("accepted", "duplicate", "rejected")
_SEND, _PROCESS, _INVOKE = "send", "process", "invoke_agent"


class ExportedSpan(NamedTuple):
    """A span of a record.

    trace_id: 32 hexadecimal digits.  span_id, parent_id: 16.  flags: as of TraceContext.
    kind: as OTLP names it, without its prefix.  start_ns, end_ns: since the epoch.
    position: of the record, as on the log.  message: why it failed; "" where nothing says so.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    flags: int | None
    name: str
    kind: str
    start_ns: int
    end_ns: int
    attributes: Attributes
    position: str
    failed: bool = False
    message: str = ""


def is_exported(topic: Topic) -> bool:
    """Return whether records of the topic give spans."""
    return topic.kind in _EXPORTED and topic.name not in OUTGOING.omitted


def spans_of(record: Record, topic: Topic, prefix: str, meaning: Meaning) -> list[ExportedSpan]:
    """Return the spans of a record of an exported topic, none for some facts.

    prefix: of topic names.  A value that cannot be decoded gives a span without its members.
    """
    reading = read(record, topic, prefix)
    if topic.kind is TopicKind.COMMAND:
        name = f"{_SEND} {topic.name}"
        return [_span(reading, name, "PRODUCER", span_id(_SEND, reading.position), _SEND)]
    if topic.kind is TopicKind.DEAD_LETTER:
        return [_dead_letter(reading, meaning)]
    if topic.kind is TopicKind.INBOX:
        return [_delivery(reading)]
    if topic.name == OUTGOING.tools.topic:
        return _tool_call(reading)
    members = OUTGOING.members_of(topic)
    make = _verdict if _is_verdict(reading, members) else _fact
    return [make(reading, members, meaning), *_work(reading, members, meaning)]


def _is_verdict(reading: Reading, members: TopicMembers) -> bool:
    """Return whether a fact is the verdict on the command that caused it."""
    return (
        reading.cause is not None
        and reading.cause.topic.kind is TopicKind.COMMAND
        and reading.topic in VERDICTS.get(reading.cause.topic, ())
        and member_at(reading.value, members.verdict) in _VERDICTS
    )


def _parent(reading: Reading) -> str | None:
    """Return the span that decided on the cause; of another cause, the parent that it names."""
    cause = reading.cause
    if cause is None or cause.topic.kind is not TopicKind.COMMAND:
        return reading.context.parent_id
    return span_id(_PROCESS, cause.text)


def _delivery(reading: Reading) -> ExportedSpan:
    name = f"{_SEND} {reading.topic.name}"
    id = span_id(reading.record.topic, reading.text("ce_id") or reading.position)
    span = _span(reading, name, "PRODUCER", id, _SEND)
    parent = _parent(reading)  # of a timer's delivery its header may name the delivery itself
    return span._replace(parent_id=None if parent == id else parent)


def _verdict(reading: Reading, members: TopicMembers, meaning: Meaning) -> ExportedSpan:
    assert reading.cause is not None
    span = _process(reading, reading.cause, reading.decided_ns)
    return _decided(reading, span, members, meaning)


def _fact(reading: Reading, members: TopicMembers, meaning: Meaning) -> ExportedSpan:
    rule, kind = (member_at(reading.value, path) for path in (members.rule, members.kind))
    name = " ".join(filter(None, (reading.topic.name, rule or kind)))
    id = span_id(reading.record.topic, reading.text("ce_id") or reading.position)
    span = _span(reading, name, "INTERNAL", id)
    span = span._replace(
        parent_id=_parent(reading), start_ns=min(reading.decided_ns, reading.sent_ns)
    )
    return _decided(reading, span, members, meaning)


def _decided(
    reading: Reading, span: ExportedSpan, members: TopicMembers, meaning: Meaning
) -> ExportedSpan:
    """Return the span of a fact with what the fact decides."""
    verdict, rule, fault, kind = (
        member_at(reading.value, path)
        for path in (members.verdict, members.rule, members.fault, members.kind)
    )
    names = OUTGOING.attributes
    attributes = span.attributes | names.attributes(verdict=verdict, rule=rule, fault=fault)
    span = span._replace(attributes=attributes)
    failed = kind in members.failed
    return (
        _failed(reading, span, rule or kind, meaning) if failed or verdict == "rejected" else span
    )


def _dead_letter(reading: Reading, meaning: Meaning) -> ExportedSpan:
    """Return the span of the attempt to decide on a record, or on a timer of its topic."""
    stamp = reading.headers.get(f"{DLT}original-timestamp", b"")
    original_ms = struct.unpack(">q", stamp)[0] if len(stamp) == 8 else reading.record.timestamp
    start_ns = bounded(original_ms * NS_PER_MS)
    if reading.cause is None:
        name = f"{_PROCESS} {reading.topic.name.removesuffix('.dlq')}"
        id = span_id(_PROCESS, reading.position)
        span = _span(reading, name, "CONSUMER", id, _PROCESS)
    else:
        span = _process(reading, reading.cause, start_ns)
    code = reading.text(f"{DLT}exception-fqcn")
    attributes = span.attributes | OUTGOING.attributes.attributes(rule=code)
    return _failed(reading, span._replace(attributes=attributes), code, meaning)


def _process(reading: Reading, cause: LogPosition, start_ns: int) -> ExportedSpan:
    """Return the span of the decision on a record, `cause`, which has that record's position."""
    names = OUTGOING.attributes
    name, id = f"{_PROCESS} {cause.topic.name}", span_id(_PROCESS, cause.text)
    span = _span(reading, name, "CONSUMER", id, _PROCESS)
    of_cause = names.attributes(
        topic=cause.topic.name,
        partition=str(cause.partition),
        offset=cause.offset,
        message_id=reading.plain(cause.text),
    )
    is_sent = cause.topic.kind is TopicKind.COMMAND
    return span._replace(
        parent_id=span_id(_SEND, cause.text) if is_sent else reading.context.parent_id,
        start_ns=min(start_ns, reading.sent_ns),
        attributes=span.attributes | of_cause,
    )


def _failed(
    reading: Reading, span: ExportedSpan, code: str | None, meaning: Meaning
) -> ExportedSpan:
    """Return the span as one that failed, with what the rule means and never a record's text."""
    protocol = protocol_of(reading.topic)
    attributes = span.attributes | OUTGOING.attributes.attributes(error=code)
    message = meaning(code, protocol) if code else None
    return span._replace(attributes=attributes, failed=True, message=message or "")


def _work(reading: Reading, members: TopicMembers, meaning: Meaning) -> list[ExportedSpan]:
    """Return the span of an agent's work that a fact ends, from when it began."""
    work = OUTGOING.work.get(reading.topic.name)
    began_ns = parse_time(reading.text(BEGAN.name) or "")
    if work is None or began_ns is None:
        return []
    value, context = reading.value, reading.context
    is_other = work.type and member_at(value, work.type) in work.other_types
    agent = member_at(value, work.other_agent if is_other else work.agent)
    state = member_at(value, work.state)
    attributes = OUTGOING.attributes.attributes(
        **_log_values(reading),
        session=member_at(value, members.session),
        work=_INVOKE,
        agent=agent,
        agent_version=member_at(value, work.version),
        drawn_as=OUTGOING.drawn_as.agent,
    )
    span = ExportedSpan(
        context.trace_id,
        span_id("work", reading.text("ce_id") or reading.position),
        context.parent_id,
        context.flags,
        " ".join(filter(None, (_INVOKE, agent))),
        "INTERNAL",
        bounded(min(began_ns, reading.decided_ns)),
        reading.decided_ns,
        attributes,
        reading.position,
    )
    if state not in work.failed:
        return [span]
    return [_failed(reading, span, member_at(value, work.error) or state, meaning)]


def _tool_call(reading: Reading) -> list[ExportedSpan]:
    """Return the span of a tool call that has ended, of other events none."""
    tools, names = OUTGOING.tools, OUTGOING.attributes
    value = reading.value
    tool, status, ended = (
        member_at(value, path) for path in (tools.tool, tools.status, tools.ended_at)
    )
    end_ns = None if ended is None else parse_time(ended)
    if tool is None or end_ns is None or member_at(value, tools.origin) in tools.omitted_origins:
        return []
    failed = status in tools.failed
    id = "/".join(str(member_at(value, path)) for path in tools.id)
    duration_ms = member_at(value, tools.duration_ms)
    duration_ns = round(duration_ms * NS_PER_MS) if math.isfinite(duration_ms) else 0
    attributes = names.attributes(
        **_log_values(reading),
        session=member_at(value, tools.session),
        work="execute_tool",
        tool=tool,
        call_id=member_at(value, tools.call_id),
        drawn_as=OUTGOING.drawn_as.tool,
        error=status if failed else None,
    )
    context = reading.context
    span = ExportedSpan(
        context.trace_id,
        span_id("tool", id),
        context.parent_id,
        context.flags,
        f"execute_tool {tool}",
        "INTERNAL",
        bounded(end_ns - duration_ns),
        bounded(end_ns),
        attributes,
        reading.position,
        failed,
    )
    return [span]


def _span(
    reading: Reading, name: str, kind: str, id: str, operation: str | None = None
) -> ExportedSpan:
    """Return a span of the record's own time, under the parent that its headers name."""
    record, topic, names = reading.record, reading.topic, OUTGOING.attributes
    is_process = operation == _PROCESS
    is_letter = topic.kind is TopicKind.DEAD_LETTER
    key = None if is_process and not is_letter else record.key
    drawn_as = OUTGOING.drawn_as.process if is_process else OUTGOING.drawn_as.other
    attributes = names.attributes(
        **_log_values(reading),
        system="kafka",
        topic=topic.name,
        partition=str(record.partition),
        offset=record.offset,
        key=None if key is None else key.decode(errors="replace"),
        message_id=reading.text("ce_id") or reading.plain(reading.position),
        operation=operation,
        session=member_at(reading.value, OUTGOING.members_of(topic).session),
        drawn_as=drawn_as,
    )
    context = reading.context
    return ExportedSpan(
        context.trace_id,
        id,
        context.parent_id,
        context.flags,
        name,
        kind,
        reading.sent_ns,
        reading.sent_ns,
        attributes,
        reading.position,
    )


def _log_values(reading: Reading) -> dict[str, str | None]:
    """Return what every span says of its record."""
    source = reading.text("ce_source")
    return {
        "position": reading.plain(reading.position),
        "cause": reading.plain(reading.text(CAUSE)),
        "processor": None if source is None else source.rpartition("/")[2],
        "principal": reading.text(PRINCIPAL),
        "protocol": protocol_of(reading.topic),
    }
