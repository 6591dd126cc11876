"""Headers of the service's records: CloudEvents (binary mode), trace context, cause, principal.

Facts and inbox records carry all of them; table and internal records carry only their cause.
Dead letters use the header names that Spring's dead-letter tools read.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from functools import lru_cache

from schemas import written_id
from streams.engine.principals import PRINCIPAL, UNAUTHENTICATED
from streams.engine.records import Headers, Record, header
from topology import core
from topology import headers as declared
from topology.declarations import Topic

CAUSE = core.CAUSE.name
TRACEPARENT = declared.TRACEPARENT.name
MASKED = declared.MASKED.name
OVERSIZE = declared.OVERSIZE.name
DLT = "kafka_dlt-"
"""The prefix of Spring's dead-letter header names."""
_SERVICE_ONLY = frozenset({CAUSE, MASKED, OVERSIZE, declared.MAC.name})
_TRACEPARENT_BYTES = 128
"""W3C's has 55; a longer one is invalid, and must not make a record exceed its topic's limit."""
_HEX = frozenset("0123456789abcdef")


def iso(ms: int) -> bytes:
    """Format a time as ISO 8601 in UTC with milliseconds."""
    second, part = divmod(ms, 1000)
    return b"%s.%03dZ" % (_iso_second(second), part)


@lru_cache(maxsize=4096)
def _iso_second(second: int) -> bytes:
    return datetime.fromtimestamp(second, UTC).isoformat()[:19].encode()


@lru_cache(maxsize=256)
def _cloudevents(record: str, id: int, processor: str) -> list[tuple[str, bytes]]:
    return [
        ("ce_specversion", b"1.0"),
        ("ce_type", record.encode()),
        ("ce_source", f"/headrace/{processor}".encode()),
        ("ce_dataschema", f"/schemas/ids/{id}".encode()),
    ]


def constant_headers(topic: Topic, processor: str) -> Headers:
    """Return the CloudEvents headers that all records of a processor on a topic share, if any."""
    if not topic.carries_cloudevents:
        return ()
    assert topic.record is not None
    return _cloudevents(topic.record, written_id(topic.record), processor)


def output_headers(
    constant: Headers,
    key: bytes,
    id: str,
    at: int,
    cause: str,
    traceparent: bytes | None,
    principal: bytes = UNAUTHENTICATED,
) -> list[tuple[str, bytes]]:
    """Return the headers of one record that a processor sends.

    constant: the `constant_headers` of its topic.  principal: the sender of the record that
    caused it.
    """
    headers = [(CAUSE, cause.encode())]
    if traceparent is not None and len(traceparent) <= _TRACEPARENT_BYTES:
        headers.append((TRACEPARENT, traceparent))
    if constant:
        headers += constant
        headers.append(("ce_id", id.encode()))
        headers.append(("ce_subject", key))
        headers.append(("ce_time", iso(at)))
        headers.append((PRINCIPAL, principal))
    return headers


def trace_id(traceparent: bytes | None) -> str | None:
    """Return the trace id of a W3C traceparent header, None if the header is not valid."""
    if traceparent is None:
        return None
    parts = traceparent.decode("ascii", "replace").split("-")
    if len(parts) < 4 or len(parts[0]) != 2 or parts[0] == "ff":
        return None
    trace = parts[1]
    valid = len(trace) == 32 and _HEX.issuperset(trace) and trace.strip("0")
    return trace if valid else None


def trace_context(record: Record) -> dict[str, str]:
    """Return the `traceparent` of a record as a field of a log line; nothing if it is not valid."""
    value = header(record, TRACEPARENT)
    return (
        {}
        if value is None or trace_id(value) is None
        else {"traceparent": value.decode("ascii", "replace")}
    )


def dead_letter_headers(record: Record, code: str, message: str, *, original: bool) -> Headers:
    """Return the headers of a dead letter: the original ones if allowed, the error, and the source.

    Headers that only the service sets are not copied from the sender, because readers trust them.
    """
    original_headers = (record.headers or ()) if original else ()
    headers = [
        each
        for each in original_headers
        if each[0] not in _SERVICE_ONLY and not each[0].startswith(DLT)
    ]
    headers += [
        ("kafka_dlt-original-topic", record.topic.encode()),
        ("kafka_dlt-original-partition", struct.pack(">i", record.partition)),
        ("kafka_dlt-original-offset", struct.pack(">q", record.offset)),
        ("kafka_dlt-original-timestamp", struct.pack(">q", record.timestamp)),
        ("kafka_dlt-original-timestamp-type", b"LogAppendTime"),
        ("kafka_dlt-exception-fqcn", code.encode()),
        ("kafka_dlt-exception-message", message.encode()),
        (CAUSE, f"{record.topic}/{record.partition}/{record.offset}".encode()),
    ]
    return headers


def size(headers: Headers) -> int:
    """Return the bytes that headers take in a record, with an allowance for key and framing."""
    return 2048 + sum(len(name) + len(value or b"") + 8 for name, value in headers)
