"""Whatever comes in whatever order, in whatever batches: the promises hold."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import to_json
from tests.examples import example_count
from tests.unit.processing.harness import START_MS
from tests.unit.protocols.apc.processor import fold, fold_sessions, sums
from tests.unit.protocols.apc.processor.packets import (
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
from tests.unit.protocols.apc.processor.sessions import AGENT_STEPS, SESSION_STEPS
from topology.apc import (
    APC_COORDINATION_TABLE,
    APC_PACKET_STATES_TABLE,
    APC_TASK_FACTS,
    APC_THROTTLING_TABLE,
    APC_TRANSFERS,
)
from topology.core import RTES_RAW
from topology.machine import step
from topology.machines.apc_inter import InterEvent
from topology.machines.apc_intra import IntraEvent
from topology.machines.apc_packet import MACHINE

pytestmark = pytest.mark.slow

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
EVENTS = st.sampled_from([*InterEvent, *IntraEvent, "no_such_event"])
TYPES = ("TASK_IR", "IDEA", "CLAIM", "ARTIFACT", "EVAL", "TRANSFER", "ARBITRATION", "DECISION")


@st.composite
def transfers(draw: st.DrawFn) -> Json:
    """Mostly legal ones of few swarms and protocols."""
    generation = draw(st.sampled_from([10, 11, 20, 21, 21]))
    protocol = draw(st.sampled_from(["px", "py"]))
    policy = {"mode": "COMMONS_SEED", "min_generation": 11, "top_k": draw(st.integers(1, 3))}
    payload = {
        "protocol_id": protocol,
        "to_swarm": draw(st.sampled_from(["s1", "s2", "s3"])),
        "receiver_score": draw(st.sampled_from([0.4, 0.75, 0.8])),
        "transfer_policy": policy,
        "accepted": draw(st.booleans()),
    }
    lineage: Json = {"protocol_id": draw(st.sampled_from([protocol] * 9 + ["pz"]))}
    if draw(st.booleans()):
        lineage["cross_use_case"] = True
    requires_ack = draw(st.integers(0, 3)) == 0
    made = packet(
        "TRANSFER",
        draw(st.integers(160, 199)),
        run_phase=draw(st.sampled_from(["REFINEMENT", "CONVERGENCE", "PROMOTION"])),
        to=("a",),
        payload=payload,
        routing={"requires_ack": requires_ack, "ttl_ms": 25},
        lineage=lineage,
    )
    made["trace"]["generation"] = generation
    made["trace"]["task_id"] = draw(st.sampled_from(["task-01", "task-02"]))
    return made


@st.composite
def steps_of_work(draw: st.DrawFn) -> Json:
    """Whatever moves a session or an agent, at times by a name of its own."""
    packet_type = draw(st.sampled_from([*TYPES, "SIGNAL", "SIGNAL", "SIGNAL", "ERROR"]))
    payload: Json = {}
    if packet_type == "SIGNAL":
        named = ["SYNC", "SYNC", "VETO", "RESUME", "CANCEL", "QUERY"]
        payload["signal"] = draw(st.sampled_from(named))
    made = packet(
        packet_type,
        draw(st.integers(200, 399)),
        sender=draw(st.sampled_from(AGENTS)),
        swarm=draw(st.sampled_from(["s1", "s2"])),
        to=("b",),
        payload=payload,
        channel=draw(st.sampled_from(["INTRA_AGENT", "INTER_AGENT"])),
    )
    if packet_type == "EVAL" and draw(st.booleans()):
        made["run_phase"] = "VALIDATION"
    if draw(st.integers(0, 2)) == 0:
        made["metadata"] = {"coordination_event": str(draw(EVENTS))}
    if draw(st.integers(0, 3)) == 0 and packet_type != "TRANSFER":
        made["lineage"] = {"protocol_id": "px"}
    return made


PACKETS = st.one_of(
    answers(),
    answers(),
    answers(),
    EVALS,
    carriers(),
    arbitrations(),
    transfers(),
    transfers(),
    steps_of_work(),
    steps_of_work(),
    st.builds(retraction, st.integers(100, 120), IDS, swarm=st.sampled_from(["s1", "s2"])),
    st.builds(retraction, st.integers(400, 420), st.integers(160, 230)),
)
GIVEN = st.tuples(st.just("give"), PACKETS, st.integers(-3, 4))
TICKS = st.tuples(st.just("tick"), st.integers(0, 30), st.booleans())
STEPS = st.one_of(GIVEN, GIVEN, GIVEN, TICKS)


@st.composite
def stories(draw: st.DrawFn) -> list[Any]:
    """Some packets first, and some way of the session and of an agent; then whatever comes."""
    first = [("give", draw(carriers(st.just(n))), 1) for n in KNOWN]
    for way in (SESSION_STEPS, AGENT_STEPS):
        steps = way[: draw(st.integers(0, len(way) - 1))]
        first += [("give", copy.deepcopy(step), 1) for _, step in steps]
    return first + draw(st.lists(STEPS, min_size=15, max_size=40))


def run_in_batches(story: list[Any], cut: int) -> Bench:
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


@settings(max_examples=example_count(150), deadline=None)
@given(stories(), st.integers(2, 9))
def test_batches_make_no_difference(story: list[Any], cut: int) -> None:
    assert outcome(run_in_batches(story, 1)) == outcome(run_in_batches(story, cut))


@settings(max_examples=example_count(150), deadline=None)
@given(stories())
def test_promises(story: list[Any]) -> None:
    bench = run_in_batches(story, 4)
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
    _sessions_are_reported(bench, facts)
    _sums_are_of_counted_packets(bench, facts)


def _rows_are_a_fold(bench: Bench, facts: list[Json]) -> None:
    rows = [
        to_json(APC_PACKET_STATES_TABLE.record, row)
        for row in bench.rows(APC_PACKET_STATES_TABLE).values()
    ]
    folded = fold.packet_rows(facts)
    assert {(row["session_id"], row["packet_id"]): row for row in rows} == folded
    sessions = {
        k: to_json(APC_COORDINATION_TABLE.record, row)
        for k, row in bench.rows(APC_COORDINATION_TABLE).items()
    }
    assert sessions == fold_sessions.coordination_rows(facts)
    throttles = {
        k: to_json(APC_THROTTLING_TABLE.record, row)
        for k, row in bench.rows(APC_THROTTLING_TABLE).items()
    }
    assert throttles == fold_sessions.throttle_rows(facts)


def _sessions_are_reported(bench: Bench, facts: list[Json]) -> None:
    """RTES hears of each session's beginning and of each of its moves, in order."""
    moves: list[tuple[str, str]] = []
    for fact in facts:
        if not moves and fold_sessions.lived(fact):
            moves.append(("none", "SESSION_OPEN"))
        notes = [n for n in fact["coordination"] if n["applied"] and n["machine"] == "inter"]
        moves += [(note["from_state"], note["to_state"]) for note in notes]
    sent = [one.json["payload"] for one in bench.of(RTES_RAW)]
    assert [(one["from_state"], one["to_state"]) for one in sent] == moves
    assert len({one.id for one in bench.of(RTES_RAW)}) == len(moves)


def _sums_are_of_counted_packets(bench: Bench, facts: list[Json]) -> None:
    packets = {f["packet_id"]: f["packet"] for f in facts if f["verdict"] == "accepted"}
    rows = bench.rows(APC_PACKET_STATES_TABLE).values()
    live = [packets[row["packet_id"]] for row in rows if row["counted"]]
    deltas = [one.value for one in bench.of(APC_TRANSFERS)]
    assert sums.summed(deltas) == sums.counted(live)
    assert len({delta["delta_id"] for delta in deltas}) == len(deltas)


def _histories_are_legal(bench: Bench) -> None:
    for row in bench.rows(APC_PACKET_STATES_TABLE).values():
        state = row["history"][0]["to_state"]
        assert state == MACHINE.initial
        for n, transition in enumerate(row["history"][1:], 1):
            assert transition["seq"] == n
            assert transition["from_state"] == state
            state = step(MACHINE, state, transition["event"])
            assert transition["to_state"] == state
        assert row["state"] == state


def _deliveries_are_kept(bench: Bench, facts: list[Json]) -> None:
    """Each delivery that a fact promises was sent once, and no other."""
    promised: list[str] = []
    retracted: dict[str, Json] = {}
    recipients_of: dict[str, list[str]] = {}
    for fact in facts:
        if fact["verdict"] == "accepted" and fact["acks"] is not None:
            recipients_of[fact["packet_id"]] = fact["acks"]["recipients"]
            promised += [f"{fact['packet_id']}/{a}/1" for a in fact["acks"]["recipients"]]
            retracted[fact["packet_id"]] = fact["packet"]
        if fact["rule"] == "redelivered":
            attempt = fact["acks"]["attempt"]
            promised += [f"{fact['packet_id']}/{a}/{attempt}" for a in fact["acks"]["pending"]]
        if fact["rule"] == "retracted":
            notified = [r["agent_id"] for r in retracted[fact["cause_packet_id"]]["recipients"]]
            holders = recipients_of.get(fact["packet_id"], [])
            promised += [f"{fact['packet_id']}/{a}/notice" for a in holders if a not in notified]
    assert sorted(d["delivery_id"] for d in bench.inbox()) == sorted(promised)
    assert len(promised) == len(set(promised))


def _timers_are_of_waiting_packets(bench: Bench) -> None:
    armed = set()
    for key, row in bench.rows(APC_PACKET_STATES_TABLE).items():
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
        for row in bench.rows(APC_PACKET_STATES_TABLE).values()
        if row["packet_type"] == "EVAL" and row["counted"]
    }
    placed = [e["packet_id"] for t in bench.rows(APC_TASK_FACTS).values() for e in t["evals"]]
    assert set(placed) == counted
    assert len(placed) == len(counted)
