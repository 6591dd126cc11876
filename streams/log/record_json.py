"""Records as people and programs read them: decoded values, headers as text."""

from __future__ import annotations

import base64
import struct
from typing import Any

from schemas import Undecodable, decode, to_json
from streams.engine.headers import MASKED, iso
from streams.engine.records import Record, header
from topology.declarations import Topic, TopicKind

_NUMBERS = {
    "kafka_dlt-original-partition": ">i",
    "kafka_dlt-original-offset": ">q",
    "kafka_dlt-original-timestamp": ">q",
}


def value_json(topic: Topic, record: Record) -> Any:
    """Return the value as the protocol's JSON; None for null.

    Without one it returns `{"raw_base64"}`, or `{"text"}` for a masked dead letter.
    """
    if record.value is None:
        return None
    if topic.kind is TopicKind.DEAD_LETTER and header(record, MASKED):
        return {"text": record.value.decode(errors="backslashreplace")}
    if topic.record is None:
        return _raw(record.value)
    try:
        return to_json(topic.record, decode(record.value, topic.record).value)
    except Undecodable:
        return _raw(record.value)


def _raw(value: bytes) -> dict[str, str]:
    return {"raw_base64": base64.b64encode(value).decode()}


def headers_json(record: Record) -> dict[str, Any]:
    """Return the headers by name; of equal names the last wins, the one that the service added."""
    return {name: _header(name, value) for name, value in record.headers or ()}


def _header(name: str, value: bytes | None) -> Any:
    """Convert a header's value; clients on Kafka may send a header without one."""
    if value is None:
        return None
    format = _NUMBERS.get(name)
    if format and len(value) == struct.calcsize(format):
        return struct.unpack(format, value)[0]
    return value.decode(errors="backslashreplace")


def key_text(record: Record) -> str | None:
    return None if record.key is None else record.key.decode(errors="backslashreplace")


_DECODE: Any = object()


def record_json(topic: Topic, record: Record, value: Any = _DECODE) -> dict[str, Any]:
    """Return topic, key, timestamp, value and headers of a record.

    value: what `value_json` has returned, if it is known already.
    """
    return {
        "topic": record.topic,
        "key": key_text(record),
        "timestamp": iso(record.timestamp).decode(),
        "value": value_json(topic, record) if value is _DECODE else value,
        "headers": headers_json(record),
    }
