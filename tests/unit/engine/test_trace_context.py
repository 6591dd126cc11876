"""Ids are derived from the log, and never all zero."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.engine.trace_context import (
    TraceContext,
    context_of,
    delivery_traceparent,
    span_id,
)

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
POSITION = "apc.packets/0/17"
DERIVED = sha256(f"headrace-trace:{POSITION}".encode()).hexdigest()[:32]


@pytest.mark.parametrize(
    ("traceparent", "expected"),
    [
        (f"00-{TRACE}-{PARENT}-01", TraceContext(TRACE, PARENT, 1)),
        (f"00-{TRACE}-{PARENT}-00", TraceContext(TRACE, PARENT, 0)),
        (f"01-{TRACE}-{PARENT}-03-more", TraceContext(TRACE, PARENT, 3)),
        (f"00-{TRACE}-{'0' * 16}-01", TraceContext(TRACE, None, 1)),
        (f"00-{TRACE}-{PARENT[:8]}-zz", TraceContext(TRACE, None, 1)),
        (f"00-{'0' * 32}-{PARENT}-01", TraceContext(DERIVED, None, None)),
        ("nothing of the kind", TraceContext(DERIVED, None, None)),
        (None, TraceContext(DERIVED, None, None)),
    ],
)
def test_a_context_is_that_of_the_header_or_derived(
    traceparent: str | None, expected: TraceContext
) -> None:
    header = None if traceparent is None else traceparent.encode()
    assert context_of(header, POSITION) == expected


@given(header=st.one_of(st.none(), st.binary(max_size=80)))
def test_any_header_gives_ids_that_otlp_can_carry(header: bytes | None) -> None:
    context = context_of(header, POSITION)
    assert len(bytes.fromhex(context.trace_id)) == 16
    assert context.parent_id is None or len(bytes.fromhex(context.parent_id)) == 8
    assert context.flags is None or 0 <= context.flags < 256


def test_the_id_of_a_span_is_the_beginning_of_a_hash() -> None:
    digest = sha256(f"headrace-span:send:{POSITION}".encode()).hexdigest()
    assert span_id("send", POSITION) == digest[:16]
    assert span_id("send", POSITION) != span_id("process", POSITION)


@pytest.mark.parametrize(
    ("traceparent", "expected"),
    [
        (f"00-{TRACE}-{PARENT}-01", f"{TRACE}-ID-01"),
        (f"00-{TRACE}-{PARENT}-00", f"{TRACE}-ID-00"),
        (None, f"{DERIVED}-ID-01"),
        ("nothing of the kind", f"{DERIVED}-ID-01"),
    ],
)
def test_a_delivery_is_the_parent_of_what_is_sent_under_it(
    traceparent: str | None, expected: str
) -> None:
    header = None if traceparent is None else traceparent.encode()
    context = delivery_traceparent(header, "p.apc.inbox", "id-1", POSITION)
    delivery_id = span_id("p.apc.inbox", "id-1")
    assert context.decode() == f"00-{expected.replace('ID', delivery_id)}"
    assert context_of(context, "another").parent_id == delivery_id
