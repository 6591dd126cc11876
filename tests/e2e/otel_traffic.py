"""Instrumented programs: traces of a task, what its models and tools do, and what is no such work.

Some spans are sent twice, some again with another content, and some are broken.  A trace is told
child by child, as spans end, over several bursts; none names a session, so each is its own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain

from streams.engine.records import Output
from tests.e2e.outputs import Json, Outputs
from topology.otel import OTEL_SPANS

_START_NS = 1_790_000_000_000_000_000
_MS = 1_000_000
_CHILDREN = 5
_KINDS = ("chat", "execute_tool", "http")
REPEATED, CHANGED, BROKEN = 0.15, 0.1, 0.1


class Traffic:
    """Spans without end.  made: for whom records are made."""

    def __init__(self, made: Outputs, dice: random.Random) -> None:
        self._made, self._dice = made, dice
        self._spans = chain.from_iterable(self._trace() for _ in iter(int, 1))

    def burst(self, spans: int) -> list[Output]:
        """Return the next spans, and what is sent besides; those of a trace in order."""
        sent = chain.from_iterable(self._variants(next(self._spans)) for _ in range(spans))
        return [self._made.record(OTEL_SPANS, span) for span in sent]

    def _variants(self, span: Json) -> Iterator[Json]:
        if self._dice.random() < BROKEN:
            yield span | {"end_time_unix_nano": str(_START_NS - 1)}
        yield span
        if self._dice.random() < REPEATED:
            yield span | {"session_hint": "another"}
        if self._dice.random() < CHANGED:
            yield span | {"name": f"{span['name']} again"}

    def _trace(self) -> Iterator[Json]:
        """Yield the spans of a trace; the task's comes last, since it ends last."""
        trace, root = f"{self._dice.getrandbits(128) | 1:032x}", self._id()
        for number in range(self._dice.randrange(1, _CHILDREN)):
            kind = self._dice.choice(_KINDS)
            yield self._span(trace, kind, number, parent_span_id=root) | {"span_id": self._id()}
        yield self._span(trace, "invoke_agent", _CHILDREN) | {"span_id": root}

    def _id(self) -> str:
        return f"{self._dice.getrandbits(64) | 1:016x}"

    def _span(self, trace: str, kind: str, number: int, **members: str) -> Json:
        start = _START_NS + number * 10 * _MS
        attributes: Json = {"gen_ai.operation.name": kind} if kind != "http" else {"url.path": "/"}
        if kind == "chat":
            parts = [{"type": "text", "content": f"step {number}"}]
            attributes["gen_ai.output.messages"] = [{"role": "assistant", "parts": parts}]
        return {
            "trace_id": trace,
            "name": kind,
            "start_time_unix_nano": str(start),
            "end_time_unix_nano": str(start + 5 * _MS),
            "status": self._dice.choice(("OK", "ERROR")),
            "attributes": attributes,
            **members,
        }
