"""A trace and its spans are forgotten together, some time after its last record."""

from __future__ import annotations

from tests.unit.protocols.otel.support import START_MS, TRACE, Bench, span
from topology.otel import OTEL_SPANS_KNOWN, OTEL_TRACES

WINDOW_MS = 60_000
MODEL = {"gen_ai.operation.name": "chat", "session.id": "sess-1"}


def make_bench() -> Bench:
    return Bench(otel_dedupe_s=WINDOW_MS // 1000)


def test_a_span_is_a_duplicate_until_its_trace_is_forgotten() -> None:
    bench = make_bench()
    assert bench.rule(span(), START_MS) == "span_recorded"
    assert bench.rule(span(), START_MS + WINDOW_MS) == "span_duplicate"
    assert bench.rule(span(), START_MS + 2 * WINDOW_MS) == "span_duplicate"
    assert bench.rule(span(), START_MS + 3 * WINDOW_MS + 1) == "span_recorded"
    assert bench.rule(span(), START_MS + 4 * WINDOW_MS) == "span_duplicate"


def test_another_span_keeps_a_trace_in_memory_and_another_trace_does_not() -> None:
    bench = make_bench()
    assert bench.rule(span(1), START_MS) == "span_recorded"
    assert bench.rule(span(2), START_MS + WINDOW_MS) == "span_recorded"
    assert bench.rule(span(1), START_MS + 2 * WINDOW_MS) == "span_duplicate"
    assert bench.rule(span(1, trace="a" * 32), START_MS + 3 * WINDOW_MS) == "span_recorded"
    assert bench.rule(span(2), START_MS + 3 * WINDOW_MS + 1) == "span_recorded"


def test_a_trace_that_begins_again_knows_nothing_of_before() -> None:
    bench = make_bench()
    bench.judge(span(1, attributes=MODEL), START_MS)
    later = START_MS + WINDOW_MS + 1
    fact = bench.judge(span(2), later)
    assert (fact["rule"], fact["session_id"]) == ("span_recorded", TRACE)
    assert bench.rule(span(1, attributes=MODEL), later) == "span_recorded"
    row = bench.row(OTEL_TRACES, TRACE)
    assert row is not None
    assert (row["model_spans"], row["first_at"]) == (1, later)


def test_rows_are_deleted_in_time_and_not_before() -> None:
    bench = make_bench()
    for number in range(3):
        bench.judge(span(number + 1), START_MS + number * WINDOW_MS)
    last = START_MS + 2 * WINDOW_MS
    bench.advance_to(last + WINDOW_MS)
    assert len(bench.rows(OTEL_SPANS_KNOWN)) == 3
    bench.advance_to(last + 100 * 3_600_000)
    assert bench.rows(OTEL_SPANS_KNOWN) == bench.rows(OTEL_TRACES) == {}
    assert bench.timers == {}


def test_the_timers_of_forgotten_rows_leave_their_followers_alone() -> None:
    bench = make_bench()
    bench.judge(span(1), START_MS)
    again = START_MS + WINDOW_MS + 3_599_000
    bench.judge(span(1), again)
    bench.advance_to(START_MS + WINDOW_MS + 3_600_000)
    assert bench.rule(span(1), again + WINDOW_MS) == "span_duplicate"


def test_a_refused_span_is_not_remembered() -> None:
    bench = make_bench()
    assert bench.rule(span(start_time_unix_nano="0")) == "time_invalid"
    assert bench.rule(span()) == "span_recorded"
