"""Halt a session that has used more than its limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.replay.violations import ViolationKind
from streams.settings import Settings
from streams.verify.run import verify
from tests.unit.processing.harness import START_MS
from tests.unit.protocols.apc.processor.packets import SESSION, Bench, Json, at, packet, pid
from tests.unit.protocols.apc.processor.sessions import (
    SESSION_STEPS,
    noted,
    of_session,
    signal,
    young,
)
from tests.unit.views.bench import Bench as ViewBench
from topology.core import RTES_RAW

STOP = "stop_signal_or_budget_exhausted"
BUDGET_TIMER = "apc.session-budget"


def task(n: int, *expressions: str, kind: str = "BUDGET", **members: Any) -> Json:
    """A TASK_IR with constraints."""
    made = young(packet("TASK_IR", n, **members))
    made["payload"]["objects"] += [
        {"type": "Constraint", "id": f"b{i}", "constraint_kind": kind, "expression": expression}
        for i, expression in enumerate(expressions)
    ]
    return made


def idea(n: int, usage: Json | None = None, generation: int = 5, **members: Any) -> Json:
    if usage is not None:
        members["metadata"] = {"usage": usage}
    return young(packet("IDEA", n, **members), generation)


def halted(bench: Bench) -> str | None:
    row = bench.coordination()
    assert (row["state"] == "HALTED") is (row["halted_by"] is not None)
    name: str | None = row["halted_by"]
    return name


@pytest.mark.parametrize(
    ("expression", "sent", "name"),
    [
        ("packets <= 3", [idea(2), idea(3), idea(4)], "packets"),
        ("generations<=7", [idea(2), idea(3, generation=7), idea(4, generation=8)], "generations"),
        (
            "tokens  <=  100 ",
            [idea(2, {"tokens": 60}), idea(3, {"tokens": 40}), idea(4, {"tokens": 1})],
            "tokens",
        ),
        (
            "cost_usd <= 0.3",
            [idea(2, {"cost_usd": 0.1}), idea(3, {"cost_usd": 0.2}), idea(4, {"cost_usd": 1e-9})],
            "cost_usd",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["observe", "declared", "enforce"])
def test_the_packet_that_exceeds_a_limit_is_accepted_and_halts_the_session(
    mode: str, expression: str, sent: list[Json], name: str
) -> None:
    bench = Bench(APC_COORDINATION_SESSION=mode)
    bench.give(task(1, expression))
    for made in sent[:-1]:
        assert bench.verdict(made)["verdict"] == "accepted"
        assert halted(bench) is None
    fact = bench.verdict(sent[-1])
    assert fact["verdict"] == "accepted"
    assert of_session(fact) == [(STOP, "DIFFERENTIATED_RESEARCH", "HALTED", "applied")]
    assert halted(bench) == f"budget:{name}"
    assert bench.verdict(idea(90))["rule"] == "session_halted"
    assert bench.verdict(young(packet("HEARTBEAT", 91)))["verdict"] == "accepted"


def test_acknowledgements_and_heartbeats_count_as_no_packets() -> None:
    bench = Bench()
    bench.give(task(1, "packets <= 2", to=("a",), routing={"requires_ack": True}))
    bench.give(young(packet("HEARTBEAT", 2)))
    answer = {"acked_packet_id": pid(1), "ack_status": "ACCEPTED"}
    bench.give(young(packet("ACK", 3, sender="a", payload=answer)))
    bench.give(young(packet("NACK", 4, sender="a", payload=answer)))
    bench.give(idea(5))
    assert bench.coordination()["used"]["packets"] == 2
    assert halted(bench) is None
    bench.give(young(packet("RETRACTION", 6, payload={"target_packet_id": pid(5)})))
    assert halted(bench) == "budget:packets"  # and what is retracted stays used


def test_the_smallest_limit_holds_of_the_policy_and_of_all_tasks() -> None:
    bench = Bench(APC_BUDGET_PACKETS=9, APC_BUDGET_TOKENS=500)
    bench.give(task(1, "packets <= 7", "packets <= 5", "tokens <= 900"))
    bench.give(task(2, "packets <= 6", "cost_usd <= 1.25"))
    limits = bench.coordination()["limits"]
    assert {name: limits[name] for name in ("packets", "tokens", "cost_usd", "seconds")} == {
        "packets": 5,
        "tokens": 500,
        "cost_usd": 1.25,
        "seconds": None,
    }


def test_the_policy_alone_limits_every_session() -> None:
    bench = Bench(APC_BUDGET_PACKETS=1)
    for session in ("a", "b"):
        bench.give(idea(1, session=session))
        bench.give(idea(2, session=session))
        assert bench.coordination(session=session)["halted_by"] == "budget:packets"


@pytest.mark.parametrize(
    ("expression", "known"),
    [
        ("packets <= 10", True),
        (" tokens<=1.5\t", True),
        ("packets < 10", False),
        ("Packets <= 10", False),
        ("packets <= -1", False),
        ("packets <= 1e3", False),
        ("packets <= 10 per day", False),
        ("memory <= 10", False),
        ("cost_usd <= 0.1234567890123456", False),
        ("packets <= ٣", False),
    ],
)
def test_a_budget_of_another_expression_is_a_warning_and_no_limit(
    expression: str, known: bool
) -> None:
    bench = Bench()
    fact = bench.verdict(task(1, expression))
    assert fact["verdict"] == "accepted"
    assert ("budget_expression_unknown" in fact["warnings"]) is not known
    assert (bench.coordination()["limits"] is not None) is known


def test_only_budgets_between_agents_limit_a_session() -> None:
    bench = Bench()
    bench.give(task(1, "packets <= 1", kind="LATENCY"))
    fact = bench.verdict(task(2, "packets <= 1", "soon", channel="INTRA_AGENT"))
    assert fact["warnings"] == []
    assert bench.coordination()["limits"] is None


@pytest.mark.parametrize(
    "usage",
    [1, [], {"tokens": -1}, {"tokens": 1.5}, {"tokens": "1"}, {"cost_usd": True}, {"usd": 1}],
)
def test_usage_of_another_form_is_refused(usage: Any) -> None:
    fact = Bench().verdict(idea(1, usage))
    assert fact["rule"] == "metadata_value"
    assert fact["errors"][0]["path"].startswith("/metadata/usage")


def test_a_stop_in_a_packet_that_exceeds_is_one_halt_by_its_signal() -> None:
    bench = Bench()
    bench.give(task(1, "packets <= 1"))
    fact = bench.verdict(young(signal(2, "STOP")))
    assert [note[0] for note in of_session(fact)] == [STOP]
    assert halted(bench) == "signal"


def test_a_packet_that_came_too_late_uses_nothing() -> None:
    bench = Bench()
    bench.give(task(1, "packets <= 1"))
    bench.give(idea(2, expires_at="2025-01-01T00:00:00Z"))
    assert bench.coordination()["used"]["packets"] == 1


def budget_timers(bench: Bench) -> list[tuple[int, str]]:
    return [(due - START_MS, key) for due, kind, key in bench.timers if kind == BUDGET_TIMER]


def test_seconds_are_counted_from_the_first_packet_and_end_by_a_timer() -> None:
    bench = Bench()
    bench.give(idea(1), 1000)
    bench.give(task(2, "seconds <= 2.5"), 2000)
    assert budget_timers(bench) == [(3500, SESSION)]
    before = len(bench.of(RTES_RAW))
    (fact,) = bench.facts(bench.fire(START_MS + 3500))
    assert (fact["verdict"], fact["rule"], fact["packet_id"]) == ("fired", "session_budget", None)
    assert fact["due_at"] == fact["at"] == at(3500)
    assert fact["event_id"].endswith("/budget")
    assert "2.5 seconds, counted from 2026-01-01T00:00:01.000Z" in fact["message"]
    (note,) = fact["coordination"]
    assert (note["to_state"], note["packet_id"]) == ("HALTED", pid(2))
    assert halted(bench) == "budget:seconds"
    assert len(bench.of(RTES_RAW)) == before + 1
    assert len({one.json["event_id"] for one in bench.of(RTES_RAW)}) == before + 1
    assert budget_timers(bench) == []


@pytest.mark.parametrize(("ms", "rule"), [(3499, "accepted"), (3500, "session_halted")])
def test_a_packet_dated_at_the_end_or_later_meets_a_halted_session(ms: int, rule: str) -> None:
    bench = Bench()
    bench.give(task(1, "seconds <= 2.5"), 1000)
    facts = bench.give(idea(2), ms)
    assert facts[-1]["rule"] == rule
    assert [fact["rule"] for fact in facts[:-1]] == ["session_budget"] * (rule != "accepted")
    assert bool(budget_timers(bench)) is (rule == "accepted")


def test_a_smaller_limit_of_seconds_moves_the_timer() -> None:
    bench = Bench(APC_BUDGET_SECONDS=Decimal(60))
    bench.give(idea(1), 0)
    assert budget_timers(bench) == [(60_000, SESSION)]
    bench.give(task(2, "seconds <= 90"), 10)
    assert budget_timers(bench) == [(60_000, SESSION)]
    bench.give(task(3, "seconds <= 30"), 20)
    assert budget_timers(bench) == [(30_000, SESSION)]


def test_the_timer_of_a_session_that_has_ended_does_nothing() -> None:
    bench = Bench()
    bench.give(task(1, "seconds <= 1"), 0)
    bench.give(young(signal(2, "STOP")), 10)
    assert bench.fire(START_MS + 1000) == []
    assert halted(bench) == "signal"


AMOUNTS = st.decimals(0, 100, places=4).map(float)
USES = st.lists(
    st.tuples(
        st.sampled_from(["IDEA", "HEARTBEAT"]), st.integers(0, 10), AMOUNTS, st.integers(1, 9)
    ),
    max_size=8,
)


@given(USES, st.integers(1, 8), st.integers(1, 40), AMOUNTS)
def test_a_session_halts_at_the_first_packet_by_which_its_exact_sums_are_above_a_limit(
    uses: Sequence[tuple[str, int, float, int]], packets: int, tokens: int, cost: float
) -> None:
    bench = Bench()
    bench.give(task(1, f"packets <= {packets}", f"tokens <= {tokens}", f"cost_usd <= {cost:.4f}"))
    sums: Counter[str] = Counter(packets=1)
    spent, expected = Decimal(0), None
    for n, (kind, amount, usd, generation) in enumerate(uses, 2):
        usage = {"usage": {"tokens": amount, "cost_usd": usd}}
        fact = bench.verdict(young(packet(kind, n, metadata=usage), generation))
        if expected is not None:
            assert fact["rule"] == ("session_halted" if kind == "IDEA" else "accepted")
            continue
        sums.update(packets=kind == "IDEA", tokens=amount)
        spent += Decimal(repr(usd))
        above = {
            "packets": sums["packets"] > packets,
            "tokens": sums["tokens"] > tokens,
            "cost_usd": spent > Decimal(f"{cost:.4f}"),
        }
        expected = next((f"budget:{name}" for name, over in above.items() if over), None)
        assert halted(bench) == expected
        used = bench.coordination()["used"]
        assert (used["packets"], used["tokens"]) == (sums["packets"], sums["tokens"])
        assert Decimal(used["cost_usd"]) == spent


@pytest.mark.parametrize("last", ["packets", "seconds"])
def test_a_halt_is_derived_again(last: str, tmp_path: Path) -> None:
    bench = ViewBench(tmp_path)
    bench.send("apc.packets", task(1, "packets <= 2", "seconds <= 60"))
    if last == "seconds":
        bench.now += 60_000
        bench.host.run()
    for n in (2, 3, 4):
        bench.send("apc.packets", idea(n))
    settings = Settings(partitions=bench.settings.partitions)
    assert verify(bench.log, settings, tmp_path / "same").clean
    bench.close()


def test_a_session_that_goes_on_above_its_limit_is_reported(tmp_path: Path) -> None:
    bench = ViewBench(tmp_path)
    for n in (1, 2, 3):
        bench.send("apc.packets", idea(n))
    settings = Settings(partitions=bench.settings.partitions, apc_budget_packets=1)
    findings = verify(bench.log, settings, tmp_path / "limited").findings
    assert findings.counts == {ViolationKind.NOT_BORNE_OUT: 2}
    bench.close()


def test_the_steps_of_a_session_are_the_same_with_limits_that_it_keeps() -> None:
    plain, limited = Bench(), Bench(APC_BUDGET_PACKETS=100, APC_BUDGET_SECONDS=Decimal(3600))
    for _, step in SESSION_STEPS:
        assert noted(plain.verdict(step)) == noted(limited.verdict(step))
