"""What is refused before anything is sent, and how paths are put together."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import parse_ijson
from streams.api.route import MAX_VALUES
from streams.client.values import context_of, current_context, parcel_of, target_of
from streams.engine.records import LogRecord
from streams.errors import InvalidInput, OutputTooLarge, UsageError
from tests.unit.envelopes import idea

TEXT = st.text(st.characters(codec="utf-8"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=4))
def test_values_are_sent_as_they_are(values: list[Any]) -> None:
    parcel = parcel_of("apc.packets", values, True, None)
    assert list(parcel.values) == values
    assert parse_ijson(b"[" + b",".join(parcel.texts) + b"]") == values


def test_what_is_changed_later_is_sent_as_it_was() -> None:
    packet = idea()
    parcel = parcel_of("apc.packets", [packet], False, None)
    packet["confidence"] = 2
    assert parcel.values[0] == idea()


@pytest.mark.parametrize("value", [float("nan"), object(), b"bytes", {"a": {1, 2}}, "\ud800"])
def test_what_is_not_json_is_named_by_its_index(value: Any) -> None:
    with pytest.raises(InvalidInput) as alone:
        parcel_of("apc.packets", [value], False, None)
    assert [each.rule for each in alone.value.problems] == ["json_invalid"]
    assert alone.value.indexes == ()
    with pytest.raises(InvalidInput, match="index 1") as among:
        parcel_of("apc.packets", [idea(), value], True, None)
    assert among.value.indexes == (1,)


def test_a_list_that_refers_to_itself_is_not_json() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(InvalidInput, match="json_invalid"):
        parcel_of("apc.packets", [loop], False, None)


def test_at_most_a_thousand_at_once() -> None:
    values = [1] * (MAX_VALUES + 1)
    with pytest.raises(OutputTooLarge, match="send fewer"):
        parcel_of("apc.packets", values, True, None)
    assert len(parcel_of("apc.packets", values[1:], True, None).texts) == MAX_VALUES


@pytest.mark.parametrize("topic", ["apc.events", "nowhere", ""])
def test_topics_that_users_do_not_write(topic: str) -> None:
    with pytest.raises(UsageError, match=r"Topics to send to: apc\.packets"):
        parcel_of(topic, [], True, None)


@pytest.mark.parametrize("context", ["", "00", "00-x-y-01", f"00-{'a' * 32}-{'b' * 16}-01\r\nx: y"])
def test_a_trace_context_that_is_none(context: str) -> None:
    with pytest.raises(UsageError, match="traceparent"):
        parcel_of("apc.packets", [], True, context)


TRACE = f"00-{'a' * 32}-{'b' * 16}-01"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], None),
        ([("traceparent", TRACE.encode())], TRACE),
        ([("traceparent", b"\xff")], None),
        ([("traceparent", None)], None),
    ],
)
def test_the_trace_context_of_a_record_is_one_to_send_on(
    headers: Any, expected: str | None
) -> None:
    record = LogRecord("apc.inbox", 0, 0, 0, b"k", b"v", headers)
    assert context_of(record) == expected
    assert parcel_of("apc.packets", [], True, context_of(record)).traceparent == expected


def test_the_current_span_of_a_program_is_the_context_of_what_it_sends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trace = pytest.importorskip("opentelemetry.trace")
    assert current_context() is None
    span = trace.NonRecordingSpan(trace.SpanContext(10, 11, False, trace.TraceFlags(1)))
    with trace.use_span(span):
        assert current_context() == f"00-{'0' * 31}a-{'0' * 15}b-01"
        monkeypatch.delitem(sys.modules, "opentelemetry.trace")
        assert current_context() is None


@pytest.mark.parametrize(
    ("path", "after", "params", "target"),
    [
        ("/v1/x", None, {}, ("/v1/x", "")),
        ("/v1/x", "t/0/1", {}, ("/v1/x", "after=t%2F0%2F1")),
        ("/v1/x?a=1", None, {"b": True, "c": None, "d": 0.5}, ("/v1/x", "a=1&b=true&d=0.5")),
        ("/v1/a%2Fb/c", None, {}, ("/v1/a%2Fb/c", "")),
        ("/v1/a#b ä", None, {}, ("/v1/a%23b%20%C3%A4", "")),
        ("/v1/x?a=&b=%26", None, {}, ("/v1/x", "a=&b=%26")),
    ],
)
def test_a_path_and_a_query(
    path: str, after: str | None, params: dict[str, Any], target: tuple[str, str]
) -> None:
    assert target_of(path, after, params) == target


def test_a_path_begins_with_a_slash() -> None:
    with pytest.raises(UsageError, match="not a path"):
        target_of("v1/apc/packets", None, {})
