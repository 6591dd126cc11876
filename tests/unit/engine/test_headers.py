from __future__ import annotations

import struct

from streams.engine import headers
from streams.engine.records import LogRecord
from tests.toy import FACTS, INPUT, RECORD, ROWS


def test_a_fact_carries_cloud_events_and_its_cause() -> None:
    constant = headers.constant_headers(FACTS, "toy")
    pairs = headers.output_headers(
        constant, b"k", "id-1", 1_767_225_600_001, "t/0/7", b"00-aa-bb-01"
    )
    assert dict(pairs) == {
        "headrace-cause": b"t/0/7",
        "headrace-principal": b"unauthenticated",
        "traceparent": b"00-aa-bb-01",
        "ce_specversion": b"1.0",
        "ce_type": RECORD.encode(),
        "ce_source": b"/headrace/toy",
        "ce_dataschema": dict(pairs)["ce_dataschema"],
        "ce_id": b"id-1",
        "ce_subject": b"k",
        "ce_time": b"2026-01-01T00:00:00.001Z",
    }
    assert dict(pairs)["ce_dataschema"].startswith(b"/schemas/ids/")
    assert len(pairs) == len(dict(pairs))


def test_internal_and_table_records_carry_their_cause_only() -> None:
    for topic in (INPUT, ROWS):
        constant = headers.constant_headers(topic, "toy")
        pairs = headers.output_headers(constant, b"k", "id", 0, "t/0/7", None)
        assert pairs == [("headrace-cause", b"t/0/7")]


def test_a_trace_that_cannot_be_one_is_left_out() -> None:
    pairs = headers.output_headers((), b"k", "id", 0, "c", b"0" * 129)
    assert pairs == [("headrace-cause", b"c")]


def test_times_have_their_millisecond_in_any_year() -> None:
    assert headers.iso(0) == b"1970-01-01T00:00:00.000Z"
    assert headers.iso(-1) == b"1969-12-31T23:59:59.999Z"
    assert headers.iso(50_733_617_996_031) == b"3577-09-07T15:39:56.031Z"


FORGED = [(name, b"x") for name in ("headrace-cause", "headrace-oversize", "kafka_dlt-own")]
"""A sender's headers, named as the service's own on dead letters."""


def test_a_dead_letter_keeps_its_headers_and_says_where_it_came_from() -> None:
    record = LogRecord(
        "p.toy.in", 3, 2**40, 1_700_000_000_000, b"k", b"v", [("own", b"x"), *FORGED]
    )
    pairs = headers.dead_letter_headers(record, "body_invalid", "trailing bytes", original=True)
    assert list(pairs) == [
        ("own", b"x"),
        ("kafka_dlt-original-topic", b"p.toy.in"),
        ("kafka_dlt-original-partition", struct.pack(">i", 3)),
        ("kafka_dlt-original-offset", struct.pack(">q", 2**40)),
        ("kafka_dlt-original-timestamp", struct.pack(">q", 1_700_000_000_000)),
        ("kafka_dlt-original-timestamp-type", b"LogAppendTime"),
        ("kafka_dlt-exception-fqcn", b"body_invalid"),
        ("kafka_dlt-exception-message", b"trailing bytes"),
        ("headrace-cause", b"p.toy.in/3/%d" % 2**40),
    ]


def test_a_dead_letter_that_may_not_show_its_original_keeps_nothing_of_the_sender() -> None:
    record = LogRecord("t", 0, 1, 0, b"k", b"secret", [("own", b"secret")])
    pairs = headers.dead_letter_headers(record, "decide_failed", "", original=False)
    assert b"secret" not in [value for _, value in pairs]
