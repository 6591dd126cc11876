"""The spans that each trace has had, for as long as they are remembered (OTel guide, 5.2).

A trace and its spans are forgotten `HEADRACE_OTEL_DEDUPE_S` after the last record of the trace.
From then on their rows count as absent, whether they still exist or not; so each row is deleted by
a timer of its own, later.  A span's row belongs to the trace's row only if it is not older: a trace
that begins again knows none of its earlier spans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.engine.processor import AvroValue, Message, ProcessorContext, Timer
from streams.processing.decision import Decision
from streams.protocols.otel.span_members import SpanMembers
from topology.declarations import Table
from topology.keys import composite, split
from topology.otel import OTEL_SPANS_KNOWN, OTEL_TRACES, span_key

SWEEP_LATE_MS = 3_600_000
"""The delay of a row's deletion after its time, for records dated before the tick."""
SPAN, TRACE = "otel.span", "otel.trace"
"""The kinds of timers."""
_TABLES: Mapping[str, Table] = {SPAN: OTEL_SPANS_KNOWN, TRACE: OTEL_TRACES}


class TraceState:
    """One trace, as the decision of one record sees it and leaves it."""

    def __init__(self, trace_id: str, decision: Decision) -> None:
        self._decision = decision
        self._trace_id = trace_id
        self._window_ms = _window_ms(decision.work.settings)
        stored = decision.work.rows(OTEL_TRACES).get(composite(trace_id))
        if stored is not None and decision.at - stored["last_at"] > self._window_ms:
            stored = None
        self._stored = stored

    @property
    def model_spans(self) -> int:
        """Return how many spans of models were accepted."""
        count: int = 0 if self._stored is None else self._stored["model_spans"]
        return count

    def known(self, span_id: str) -> AvroValue | None:
        """Return the row of an accepted span, None if there is none."""
        if self._stored is None:
            return None
        row = self._decision.work.rows(OTEL_SPANS_KNOWN).get(span_key(self._trace_id, span_id))
        return row if row is not None and row["at"] >= self._stored["first_at"] else None

    def session_of(self, members: SpanMembers, span: Mapping[str, Any]) -> str:
        """Return the session of a span: its own, else that of its request, of its trace, its trace.

        span: the JSON form of an OtelSpan.
        """
        named = None if self._stored is None else self._stored["session_id"]
        session: str = members.session_id or span.get("session_hint") or named or self._trace_id
        return session

    def touch(self) -> None:
        """Remember a known trace for longer, since one more record of it has come."""
        if self._stored is not None:
            last_at = max(self._stored["last_at"], self._decision.at)
            self._put({**self._stored, "last_at": last_at})

    def add(self, span_id: str, members: SpanMembers, digest: str) -> None:
        """Store an accepted span.  digest: its canonical hash."""
        decision, before = self._decision, self._stored
        at = decision.at if before is None else max(before["last_at"], decision.at)
        self._put(
            {
                "session_id": members.session_id or (before and before["session_id"]),
                "model_spans": self.model_spans + (members.type == "model"),
                "first_at": at if before is None else before["first_at"],
                "last_at": at,
            }
        )
        key = span_key(self._trace_id, span_id)
        row = {"canonical_hash": digest, "position": decision.cause, "at": at}
        decision.work.rows(OTEL_SPANS_KNOWN).put(key, row)
        _expire_at(at + self._window_ms + SWEEP_LATE_MS, SPAN, key, at, decision.work)
        if before is None:
            due_ms = at + self._window_ms + SWEEP_LATE_MS
            _expire_at(due_ms, TRACE, composite(self._trace_id), at, decision.work)

    def _put(self, row: AvroValue) -> None:
        self._stored = row
        self._decision.work.rows(OTEL_TRACES).put(composite(self._trace_id), row)


def load_rows(batch: Sequence[Message], ctx: ProcessorContext) -> None:
    """Fetch the rows that a batch will ask for, in one call per table."""
    values = [message.value for message in batch]
    ctx.rows(OTEL_TRACES).load(composite(value["trace_id"]) for value in values)
    ctx.rows(OTEL_SPANS_KNOWN).load(
        span_key(value["trace_id"], value["span_id"]) for value in values
    )


def expire(timer: Timer, ctx: ProcessorContext) -> None:
    """Delete one row that is due, or set its timer again because its trace has gone on."""
    table = _TABLES[timer.kind]
    cause = f"timer/{table.name}/{timer.key}/{timer.due_ms}"
    rows = Decision(ctx, cause, timer.due_ms).work.rows(table)
    row, trace = rows.get(timer.key), ctx.rows(OTEL_TRACES).get(composite(split(timer.key)[0]))
    if row is None or str(_begun_at(timer.kind, row)) != timer.data["at"]:
        return  # the row was deleted, or written anew: it has another timer
    window_ms = _window_ms(ctx.settings)
    begun_at = _begun_at(timer.kind, row)
    is_of_trace = trace is not None and begun_at >= trace["first_at"]
    if trace is not None and is_of_trace and timer.due_ms - trace["last_at"] <= window_ms:
        due_ms = trace["last_at"] + window_ms + SWEEP_LATE_MS
        _expire_at(due_ms, timer.kind, timer.key, begun_at, ctx)
    else:
        rows.delete(timer.key)


def _begun_at(kind: str, row: AvroValue) -> int:
    begun: int = row["at"] if kind == SPAN else row["first_at"]
    return begun


def _window_ms(settings: Mapping[str, Any]) -> int:
    return 1000 * int(settings["OTEL_DEDUPE_S"])


def _expire_at(due_ms: int, kind: str, key: str, at: int, ctx: ProcessorContext) -> None:
    ctx.set_timer(Timer(due_ms, kind, key, {"at": str(at)}))
