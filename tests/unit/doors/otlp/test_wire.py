"""Spans are counted on the wire as protocol buffers would decode them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from streams.doors.otlp.wire import NotOnTheWire, count_spans


def request_of(scopes: list[list[int]]) -> ExportTraceServiceRequest:
    """Return a request: a list for each resource, in it the number of spans of each scope."""
    request = ExportTraceServiceRequest()
    for counts in scopes:
        resource = request.resource_spans.add(schema_url="of the resource")
        resource.resource.attributes.add(key="a").value.string_value = "x" * 300
        for count in counts:
            scope = resource.scope_spans.add(schema_url="of the scope")
            scope.scope.name = "a scope"
            for number in range(count):
                scope.spans.add(name=f"span {number}", start_time_unix_nano=1, flags=1)
    return request


@given(scopes=st.lists(st.lists(st.integers(0, 5), max_size=3), max_size=3))
def test_spans_are_counted_without_decoding(scopes: list[list[int]]) -> None:
    body = request_of(scopes).SerializeToString()
    assert count_spans(body) == sum(map(sum, scopes))


@given(body=st.binary(max_size=64))
def test_any_bytes_are_counted_or_refused(body: bytes) -> None:
    try:
        count = count_spans(body)
    except NotOnTheWire:
        return
    assert count >= 0


@pytest.mark.parametrize("body", [b"\x0a", b"\x0a\x05ab", b"\x0b", b"\xff" * 11, b"\x0d\x00"])
def test_a_body_that_ends_early_is_refused(body: bytes) -> None:
    with pytest.raises(NotOnTheWire):
        count_spans(body)
