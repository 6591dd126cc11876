"""The clock of an agent may be behind that of its caller; no time that passes is negative."""

from __future__ import annotations

from schemas.summit import call_result
from tests.unit.protocols.summit.processor.support import START_MS, Bench, invoke, reply, tool_call
from topology.summit import SUMMIT_CALLS
from topology.summit import SUMMIT_REPLIES as REPLIES


def test_a_tool_took_no_less_than_no_time() -> None:
    bench = Bench()
    bench.call(tool_call(), at=START_MS + 900)
    fact = bench.reply("result", output={}, at=START_MS + 400)
    assert fact["rule"] == "reply.result"
    assert fact["figures"]["elapsed_ms"] == 0
    _, completed = bench.rtes_payloads()[-1]
    assert (completed["status"], completed["duration_ms"]) == ("success", 0)


def test_neither_does_a_run() -> None:
    bench = Bench()
    bench.decide(bench.record(SUMMIT_CALLS, invoke(), START_MS + 900))
    bench.decide(bench.record(REPLIES, reply("result"), START_MS + 400))
    run = bench.run()
    assert (run["createdAt"], run["finishedAt"]) == (
        "2026-01-01T00:00:00.900Z",
        "2026-01-01T00:00:00.400Z",
    )
    assert call_result(run, {})["metrics"]["latency_ms"] == 0
