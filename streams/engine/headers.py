"""Headers of what the service writes: CloudEvents (binary mode), trace context, cause, principal.

Facts and inbox records carry all of them; table and internal records carry their cause only.
Dead letters carry the names that Spring's dead-letter tools read.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from functools import lru_cache

from schemas import written_id
from streams.engine.principals import PRINCIPAL, UNAUTHENTICATED
from streams.engine.records import Headers, Record
from topology import core
from topology import headers as declared
from topology.declarations import Topic

CAUSE = core.CAUSE.name
TRACEPARENT = declared.TRACEPARENT.name
MASKED = declared.MASKED.name
OVERSIZE = declared.OVERSIZE.name
DLT = "kafka_dlt-"
"""What Spring's names for the headers of dead letters begin with."""
_SAID = frozenset({CAUSE, MASKED, OVERSIZE})
_TRACEPARENT_BYTES = 128
"""W3C's has 55; a longer one is none, and must not make a record exceed its topic's limit."""
_HEX = frozenset("0123456789abcdef")


@lru_cache(maxsize=4096)
def iso(ms: int) -> bytes:
    """ISO 8601 in UTC with milliseconds."""
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z").encode()


@lru_cache(maxsize=256)
def _constant(record: str, id: int, processor: str) -> list[tuple[str, bytes]]:
    return [
        ("ce_specversion", b"1.0"),
        ("ce_type", record.encode()),
        ("ce_source", f"/headrace/{processor}".encode()),
        ("ce_dataschema", f"/schemas/ids/{id}".encode()),
    ]


def outgoing(
    topic: Topic,
    processor: str,
    key: bytes,
    id: str,
    at: int,
    cause: str,
    traceparent: bytes | None,
    principal: bytes = UNAUTHENTICATED,
) -> list[tuple[str, bytes]]:
    """The headers of one record that a processor sends.  principal: who sent its cause."""
    headers = [(CAUSE, cause.encode())]
    if traceparent is not None and len(traceparent) <= _TRACEPARENT_BYTES:
        headers.append((TRACEPARENT, traceparent))
    if declared.carries_cloudevents(topic):
        assert topic.record is not None
        headers += _constant(topic.record, written_id(topic.record), processor)
        headers += [("ce_id", id.encode()), ("ce_subject", key), ("ce_time", iso(at))]
        headers.append((PRINCIPAL, principal))
    return headers


def trace_id(traceparent: bytes | None) -> str | None:
    """The trace id of a W3C traceparent header, None if it has no valid one."""
    if traceparent is None:
        return None
    parts = traceparent.decode("ascii", "replace").split("-")
    if len(parts) < 4 or len(parts[0]) != 2 or parts[0] == "ff":
        return None
    found = parts[1]
    valid = len(found) == 32 and _HEX.issuperset(found) and found.strip("0")
    return found if valid else None


def dead_letter(record: Record, code: str, message: str, *, original: bool) -> Headers:
    """The original headers, if they may be shown, then why and from where the record came.

    What only the service says of a dead letter is not taken from its sender: readers believe it.
    """
    given = (record.headers or ()) if original else ()
    headers = [each for each in given if each[0] not in _SAID and not each[0].startswith(DLT)]
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
    """Bytes that headers take in a record, with its key's and the framing's share."""
    return 2048 + sum(len(name) + len(value or b"") + 8 for name, value in headers)
