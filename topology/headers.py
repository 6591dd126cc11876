"""The headers of records, declared once.

Facts and inbox records carry CloudEvents in binary mode besides what every written record has;
dead letters carry the names that Spring's dead-letter tools read.
"""

from __future__ import annotations

from typing import Any

from topology import processors
from topology.core import CAUSE, LINEAGE_EDGES
from topology.declarations import Header, Topic, TopicKind

_FOUR, _EIGHT = "as four bytes, big-endian", "as eight bytes, big-endian"


TRACEPARENT = Header(
    "traceparent",
    "W3C Trace Context, copied to every record that results from this one",
    optional=True,
    schema={"examples": ["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"]},
)
PRINCIPAL = Header(
    "headrace-principal",
    "the sender of the record that caused it; `unauthenticated` without a valid signature,"
    " `service` if only a timer caused it",
    schema={"minLength": 1},
)
CLAIMED = Header(
    PRINCIPAL.name,
    "the sender of the record or of its cause; proven only by a valid signature",
    optional=True,
)
SIGNATURE = Header(
    "headrace-signature",
    "1, the time in ms since the epoch, and an HMAC over topic, key, value, time and"
    " principal, separated by semicolons",
    optional=True,
    schema={"pattern": "^1;[0-9]*;[A-Za-z0-9_-]{43}$"},
)
MAC = Header(
    "headrace-mac",
    "1, the number of the task that wrote the record, its serial, and an HMAC over topic, key,"
    " value, task and serial, separated by semicolons; only with HEADRACE_MAC_KEY",
    optional=True,
    schema={"pattern": "^1;(-1|[0-9]+);[0-9]+;[A-Za-z0-9_-]{22}$"},
)
REDRIVEN_FROM = Header(
    "headrace-redriven-from",
    "the position of the dead letter that was redriven",
    optional=True,
    schema={"examples": ["apc.packets.dlq/0/3"]},
)
CLOUDEVENTS = (
    Header("ce_specversion", "the version of CloudEvents", schema={"const": "1.0"}),
    Header("ce_id", "the record's own id", schema={"minLength": 1}),
    Header("ce_type", "the full Avro name of the value"),
    Header("ce_source", "the processor that wrote it", schema={"format": "uri-reference"}),
    Header("ce_subject", "the record key"),
    Header("ce_time", "its time, in UTC", schema={"format": "date-time"}),
    Header(
        "ce_dataschema",
        "the path of the value's schema at the gateway or the registry",
        schema={"pattern": "^/schemas/ids/[0-9]+$", "examples": ["/schemas/ids/1000000001"]},
    ),
)
MASKED = Header("headrace-masked", "`true`: the value is masked text", optional=True)
OVERSIZE = Header(
    "headrace-oversize", "the value is too large to be stored: its size in bytes", optional=True
)


def _of_record(name: str, meaning: str, **more: Any) -> Header:
    """Dead letters that hold a timer which failed have none of these."""
    return Header(name, meaning, optional=True, **more)


DEAD_LETTER = (
    _of_record("kafka_dlt-original-topic", "topic of the original record"),
    _of_record("kafka_dlt-original-partition", f"its partition, {_FOUR}", binary=True),
    _of_record("kafka_dlt-original-offset", f"its offset, {_EIGHT}", binary=True),
    _of_record(
        "kafka_dlt-original-timestamp", f"milliseconds since the epoch, {_EIGHT}", binary=True
    ),
    _of_record(
        "kafka_dlt-original-timestamp-type", "whose time it is", schema={"const": "LogAppendTime"}
    ),
    _of_record(CAUSE.name, "position of the original record, topic/partition/offset"),
    Header("kafka_dlt-exception-fqcn", "the rule that the record violates"),
    Header("kafka_dlt-exception-message", "the error message; empty if it could disclose a secret"),
    MASKED,
    OVERSIZE,
)


def headers_of(topic: Topic) -> tuple[Header, ...]:
    """Return the headers of the topic's records.

    A dead letter also has the headers of the input record that may be shown.
    """
    return (*common_of(topic), *topic.headers)


def common_of(topic: Topic) -> tuple[Header, ...]:
    """Return the headers that records of all topics of this kind have."""
    if processors.written_by_clients(topic):
        return (TRACEPARENT, CLAIMED, SIGNATURE, REDRIVEN_FROM)
    mac = (MAC,) if has_mac(topic) else ()
    if topic.carries_cloudevents:
        return (*CLOUDEVENTS, CAUSE, TRACEPARENT, PRINCIPAL, *mac)
    match topic.kind:
        case TopicKind.DEAD_LETTER:
            return DEAD_LETTER
        case TopicKind.TABLE:
            return (CAUSE, *mac)
        case TopicKind.INTERNAL | TopicKind.COLLECTOR:
            return (CAUSE, TRACEPARENT, *mac)
    return mac


def has_mac(topic: Topic) -> bool:
    """Return whether the records that processors write there have a MAC, if there is a key.

    Readers of inboxes and of dead letters have no key, and gateways write `rtes.raw` too.
    """
    written = (TopicKind.FACT, TopicKind.TABLE, TopicKind.INTERNAL, TopicKind.CHANGELOG)
    return topic.kind in written or topic is LINEAGE_EDGES
