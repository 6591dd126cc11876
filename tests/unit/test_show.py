"""Records as they are shown."""

from __future__ import annotations

from typing import Any

from streams.engine.records import LogRecord
from streams.log.record_json import headers_json


def test_a_header_of_a_client_may_be_no_text_or_nothing() -> None:
    headers: Any = [("a", b"1"), ("b", None), ("c", b"\xff"), ("kafka_dlt-original-offset", None)]
    record = LogRecord("apc.packets.dlq", 0, 0, 0, None, None, headers)
    expected = {"a": "1", "b": None, "c": "\\xff", "kafka_dlt-original-offset": None}
    assert headers_json(record) == expected


def test_the_last_of_several_counts() -> None:
    """The service puts its own behind what a client claims."""
    name = "kafka_dlt-original-offset"
    headers = [(name, b"claimed"), (name, (7).to_bytes(8, "big"))]
    record = LogRecord("apc.packets.dlq", 0, 0, 0, None, None, headers)
    assert headers_json(record) == {name: 7}
