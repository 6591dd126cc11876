"""Whatever comes in whatever order, in whatever batches: the promises hold."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import to_json
from tests.unit.processors.apc import fold
from tests.unit.processors.apc.packets import (
    PASSING,
    Bench,
    Json,
    ack,
    candidate,
    evaluation,
    packet,
    pid,
    retraction,
)
from tests.unit.processors.harness import START_MS
from topology.machine import step
from topology.machines.apc_packet import MACHINE
from topology.tables import APC_TASK_FACTS, COORDINATION, PACKET_STATES
from topology.topics import RTES_RAW

AGENTS = ("a", "b")
KNOWN = (1, 2, 3, 4)
IDS = st.sampled_from((*KNOWN, *KNOWN, 5))
ACKS = st.integers(10, 60)


@st.composite
def carriers(draw: st.DrawFn, ids: st.SearchStrategy[int] = IDS) -> Json:
    """A packet that others may name."""
    routing: Json = {
        "requires_ack": draw(st.sampled_from([True, True, False])),
        "ttl_ms": draw(st.sampled_from([25, 90])),
        "retry_limit": draw(st.integers(0, 2)),
    }
    if draw(st.booleans()):
        routing["ack_timeout_ms"] = draw(st.integers(1, 20))
    to = tuple(draw(st.lists(st.sampled_from(AGENTS), min_size=1, max_size=3)))
    members: Json = {"routing": routing, "to": to, "swarm": draw(st.sampled_from(["s1", "s2"]))}
    if draw(st.booleans()):
        members["metadata"] = {"verification": "deferred"}
    if draw(st.integers(0, 9)) == 9:
        members["expires_at"] = "2026-01-01T00:00:00.010Z"
    match draw(st.sampled_from(["IDEA", "DECISION", "EVAL", "EVAL", "broken", "misplaced"])):
        case "EVAL":
            refs = draw(st.lists(IDS, max_size=3))
            payload = {"metric_set": {**PASSING, "outcome": draw(st.sampled_from([0.4, 0.5]))}}
            return evaluation(draw(ids), *refs, ok=draw(st.booleans()), payload=payload, **members)
        case "broken":
            return packet("IDEA", draw(ids), confidence=2, **members)
        case "misplaced":
            return packet("IDEA", draw(ids), run_phase="VALIDATION", **members)
        case packet_type:
            return packet(packet_type, draw(ids), **members)


@st.composite
def answers(draw: st.DrawFn) -> Json:
    status = draw(st.sampled_from(["ACCEPTED", "ACCEPTED", "ACCEPTED", "REJECTED", "DEFERRED"]))
    agent = draw(st.sampled_from([*AGENTS, *AGENTS, "stranger"]))
    return ack(draw(ACKS), draw(IDS), agent, status, nack=draw(st.integers(0, 6)) == 0)


@st.composite
def arbitrations(draw: st.DrawFn) -> Json:
    refs = st.lists(IDS.map(pid), max_size=2)
    candidates = [candidate("one", 0.5, *draw(refs)), candidate("two", 0.5, *draw(refs))]
    return packet("ARBITRATION", draw(st.integers(130, 150)), payload={"candidates": candidates})


EVALS = st.builds(
    lambda n, refs, ok: evaluation(n, *refs, ok=ok),
    st.integers(70, 99),
    st.lists(IDS, min_size=1, max_size=3),
    st.booleans(),
)
PACKETS = st.one_of(
    answers(),
    answers(),
    answers(),
    EVALS,
    carriers(),
    arbitrations(),
    st.builds(retraction, st.integers(100, 120), IDS, swarm=st.sampled_from(["s1", "s2"])),
)
GIVEN = st.tuples(st.just("give"), PACKETS, st.integers(-3, 4))
TICKS = st.tuples(st.just("tick"), st.integers(0, 30), st.booleans())
STEPS = st.one_of(GIVEN, GIVEN, GIVEN, TICKS)


@st.composite
def stories(draw: st.DrawFn) -> list[Any]:
    """Some packets first, then whatever comes."""
    first = [("give", draw(carriers(st.just(n))), 1) for n in KNOWN]
    return first + draw(st.lists(STEPS, min_size=15, max_size=40))


def told(story: list[Any], cut: int) -> Bench:
    """The story in batches of at most `cut`; time that passes ends a batch."""
    bench = Bench()
    batch: list[Any] = []

    def close() -> None:
        if batch:
            bench.decide(*batch)
            batch.clear()

    for kind, what, detail in story:
        if kind == "give":
            batch.append(bench.message(what, bench.now + detail))
            if len(batch) == cut:
                close()
        else:
            close()
            if detail:
                bench.advance_to(bench.now + what)
            else:
                bench.fire(bench.now + what)
    close()
    return bench


def outcome(bench: Bench) -> Any:
    return (
        [[one.json for one in bench.sent if one.topic is topic] for topic in topics(bench)],
        {table.name: bench.rows(table) for table in bench.processor.declaration.tables},
        bench.timers,
    )


def topics(bench: Bench) -> Any:
    return bench.processor.declaration.outputs


@settings(max_examples=150, deadline=None)
@given(stories(), st.integers(2, 9))
def test_batches_make_no_difference(story: list[Any], cut: int) -> None:
    assert outcome(told(story, 1)) == outcome(told(story, cut))


@settings(max_examples=150, deadline=None)
@given(stories())
def test_promises(story: list[Any]) -> None:
    bench = told(story, 4)
    facts = bench.facts()
    records = [what for kind, what, _ in story if kind == "give"]
    owed = Counter(
        f["cause"] for f in facts if f["verdict"] in ("accepted", "duplicate", "rejected")
    )
    assert owed == {f"apc.packets/0/{n}": 1 for n in range(len(records))}
    assert max(Counter(f["event_id"] for f in facts).values(), default=1) == 1
    _rows_are_a_fold(bench, facts)
    _histories_are_legal(bench)
    _deliveries_are_kept(bench, facts)
    _timers_are_of_waiting_packets(bench)
    _counted_evals_have_a_place(bench)


def _rows_are_a_fold(bench: Bench, facts: list[Json]) -> None:
    rows = [to_json(PACKET_STATES.record, row) for row in bench.rows(PACKET_STATES).values()]
    folded = fold.packet_rows(facts)
    assert {(row["session_id"], row["packet_id"]): row for row in rows} == folded
    sessions = {
        key: (row["swarms"], row["updated_at"], row["version"])
        for key, row in bench.rows(COORDINATION).items()
        for row in [to_json(COORDINATION.record, row)]
    }
    assert sessions == fold.session_rows(facts)
    assert len(bench.of(RTES_RAW)) == len(sessions)


def _histories_are_legal(bench: Bench) -> None:
    for row in bench.rows(PACKET_STATES).values():
        state = row["history"][0]["to_state"]
        assert state == MACHINE.initial
        for n, moved in enumerate(row["history"][1:], 1):
            assert moved["seq"] == n
            assert moved["from_state"] == state
            state = step(MACHINE, state, moved["event"])
            assert moved["to_state"] == state
        assert row["state"] == state


def _deliveries_are_kept(bench: Bench, facts: list[Json]) -> None:
    """Each delivery that a fact promises was sent once, and no other."""
    promised: list[str] = []
    retracted: dict[str, Json] = {}
    held: dict[str, list[str]] = {}
    for fact in facts:
        if fact["verdict"] == "accepted" and fact["acks"] is not None:
            held[fact["packet_id"]] = fact["acks"]["recipients"]
            promised += [f"{fact['packet_id']}/{a}/1" for a in fact["acks"]["recipients"]]
            retracted[fact["packet_id"]] = fact["packet"]
        if fact["rule"] == "redelivered":
            attempt = fact["acks"]["attempt"]
            promised += [f"{fact['packet_id']}/{a}/{attempt}" for a in fact["acks"]["pending"]]
        if fact["rule"] == "retracted":
            own = [r["agent_id"] for r in retracted[fact["cause_packet_id"]]["recipients"]]
            holders = held.get(fact["packet_id"], [])
            promised += [f"{fact['packet_id']}/{a}/notice" for a in holders if a not in own]
    assert sorted(d["delivery_id"] for d in bench.inbox()) == sorted(promised)
    assert len(promised) == len(set(promised))


def _timers_are_of_waiting_packets(bench: Bench) -> None:
    armed = set()
    for key, row in bench.rows(PACKET_STATES).items():
        assert (row["packet"] is not None) is (row["state"] in fold.KEEPS)
        if row["state"] == "ROUTED":
            armed.add((row["acks"]["deadline_at"], "apc.ttl", key))
            if row["acks"]["ack_due_at"] is not None:
                armed.add((row["acks"]["ack_due_at"], "apc.ack", key))
        elif row["acks"] is not None:
            assert row["acks"]["ack_due_at"] is None
    assert set(bench.timers) == armed
    assert all(due >= START_MS for due, _, _ in armed)


def _counted_evals_have_a_place(bench: Bench) -> None:
    counted = {
        row["packet_id"]
        for row in bench.rows(PACKET_STATES).values()
        if row["packet_type"] == "EVAL" and row["counted"]
    }
    placed = [e["packet_id"] for t in bench.rows(APC_TASK_FACTS).values() for e in t["evals"]]
    assert set(placed) == counted
    assert len(placed) == len(counted)
