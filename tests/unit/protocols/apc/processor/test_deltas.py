"""What a task contributes to its protocols, sent as differences: integers that cancel exactly."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import example_count
from tests.unit.protocols.apc.processor import sums
from tests.unit.protocols.apc.processor.packets import (
    PASSING,
    Bench,
    Json,
    ack,
    at,
    at_task,
    deferred,
    evaluation,
    packet,
    pid,
    retraction,
    transfer,
)
from tests.unit.protocols.apc.processor.sums import NAMES
from topology.apc import APC_TASK_FACTS, APC_TRANSFERS

G = 10**9


def scored(n: int, outcome: float, drift: float | None, *of: int, **members: Any) -> Json:
    metrics = {**PASSING, "outcome": outcome, "drift_risk": drift}
    payload = {"metric_set": {k: v for k, v in metrics.items() if v is not None}}
    return evaluation(n, *of, payload=payload, **members)


def passed(n: int, accepted: bool, task: str = "A", **members: Any) -> Json:
    """A TRANSFER of a generation of its own, so that no other stands in its way."""
    payload = {"accepted": accepted, **members.pop("payload", {})}
    return at_task(transfer(n, generation=100 + n, payload=payload, **members), task)


def changes(delta: Json) -> dict[str, int]:
    return {name: delta[name] for name in NAMES if delta[name]}


def sent_by(bench: Bench, made: Json) -> list[tuple[str, str, dict[str, int]]]:
    deltas = bench.deltas(bench.decide_json(made))
    return [(delta["kind"], delta["protocol_id"], changes(delta)) for delta in deltas]


def totals(bench: Bench) -> dict[str, int]:
    (run_sums,) = sums.summed(bench.deltas()).values()
    return run_sums


def worked_example() -> Bench:
    bench = Bench()
    bench.give(at_task(scored(1, 0.6, 0.2), "A"))
    bench.give(at_task(scored(2, 0.8, 0.2), "A"))
    for n in range(8):
        bench.give(passed(10 + n, accepted=n < 6, task="A" if n < 5 else "B"))
    return bench


def test_the_worked_example() -> None:
    bench = worked_example()
    before = totals(bench)
    assert (before["transfers"], before["accepted"], before["tasks"]) == (8, 6, 2)
    assert (before["outcome_weight"], before["outcome_sum_nano"]) == (5, 5 * 7 * G // 10)
    assert (before["drift_weight"], before["drift_sum_nano"]) == (5, 5 * 2 * G // 10)
    deltas = sent_by(bench, at_task(scored(3, 0.3, None), "B"))
    assert deltas == [("eval", "px", {"outcome_weight": 3, "outcome_sum_nano": 900_000_000})]
    deltas = sent_by(bench, retraction(4, 3))
    assert deltas == [("removal", "px", {"outcome_weight": -3, "outcome_sum_nano": -900_000_000})]
    assert totals(bench) == before


def test_a_transfer_brings_what_its_task_knows() -> None:
    bench = Bench()
    bench.give(scored(1, 0.7, 0.1))
    sent = bench.decide_json(transfer(2, lineage={"cross_use_case": False}), bench.now + 1)
    (delta,) = bench.deltas(sent)
    assert delta == {
        "delta_id": "apc.packets/0/1/0/px/transfer",
        "kind": "transfer",
        "protocol_id": "px",
        "session_id": "sess-01",
        "run_id": "run-01",
        "task_id": "task-01",
        "packet_id": pid(2),
        "at": delta["at"],
        "cause": "apc.packets/0/1",
        "packets": 1,
        "transfers": 1,
        "accepted": 0,
        "cross": 0,
        "tasks": 1,
        "outcome_weight": 1,
        "outcome_sum_nano": 7 * G // 10,
        "drift_weight": 1,
        "drift_sum_nano": G // 10,
        "decision": None,
    }
    (record,) = bench.of(APC_TRANSFERS, sent)
    assert (record.key, record.id) == ("px", delta["delta_id"])


def test_accepted_and_cross_are_counted() -> None:
    made = transfer(1, generation=21, lineage={"cross_use_case": True}, payload={"accepted": True})
    assert sent_by(Bench(), made) == [
        ("transfer", "px", {"packets": 1, "transfers": 1, "accepted": 1, "cross": 1, "tasks": 1})
    ]


def test_other_packets_with_lineage_count_for_their_protocol() -> None:
    bench = Bench()
    made = packet("IDEA", 1, lineage={"protocol_id": "p/x", "cross_use_case": True})
    assert sent_by(bench, made) == [("lineage", "p/x", {"packets": 1})]
    assert bench.deltas()[0]["delta_id"] == "apc.packets/0/0/0/p%2Fx/lineage"
    assert bench.state(1)["packet"] is None
    assert sent_by(bench, retraction(2, 1)) == [("removal", "p/x", {"packets": -1})]
    assert bench.deltas()[1]["delta_id"] == "apc.packets/0/1/1/p%2Fx/removal"
    assert bench.tables[APC_TASK_FACTS.name] == {}


def test_an_eval_with_lineage_sends_its_two_deltas() -> None:
    bench = Bench()
    bench.give(transfer(1))
    bench.give(transfer(2, payload={"protocol_id": "py"}))
    made = scored(3, 0.5, None, lineage={"protocol_id": "px"})
    change = {"outcome_weight": 1, "outcome_sum_nano": G // 2}
    assert sent_by(bench, made) == [
        ("eval", "px", change),
        ("eval", "py", change),
        ("lineage", "px", {"packets": 1}),
    ]
    back = {name: -value for name, value in change.items()}
    assert sent_by(bench, retraction(4, 3)) == [
        ("removal", "px", {"packets": -1, **back}),
        ("removal", "py", back),
    ]


def test_what_changes_nothing_sends_nothing() -> None:
    bench = Bench()
    bench.give(scored(1, 0.5, 0.5))
    assert sent_by(bench, scored(2, 0.9, 0.1)) == []
    bench.give(transfer(3))
    assert sent_by(bench, scored(4, 0.7, 0.3)) == []


def test_means_are_rounded_half_even() -> None:
    bench = Bench()
    bench.give(transfer(1))
    for n, nano in ((2, 1), (3, 2), (4, 4)):
        bench.give(scored(n, nano / G, None))
    nanos = [delta["outcome_sum_nano"] for delta in bench.deltas()[1:]]
    assert [sum(nanos[: n + 1]) for n in range(len(nanos))] == [1, 2]  # 1; 1.5 → 2; 7/3 → 2


ASKS: Json = {"requires_ack": True, "ttl_ms": 50}


@pytest.mark.parametrize(
    ("made", "after"),
    [
        (transfer(1, routing=ASKS, to=("a",)), ack(2, 1, "a", "REJECTED")),
        (transfer(1, routing=ASKS, to=("a",)), None),
        (transfer(1, routing=ASKS, to=("a",)), retraction(2, 1)),
        (transfer(1), retraction(2, 1)),
        (
            transfer(1, metadata={"verification": "deferred"}),
            evaluation(2, 1, ok=False, trace={**packet("IDEA", 2)["trace"], "task_id": "other"}),
        ),
    ],
    ids=["refused", "expired", "retracted while routed", "retracted", "failed"],
)
def test_whatever_ends_a_packet_takes_it_out(made: Json, after: Json | None) -> None:
    bench = Bench()
    (added,) = sent_by(bench, made)
    if after is None:
        removed = bench.deltas(bench.advance_to(bench.now + 50))
        assert removed[0]["delta_id"] == "apc.packets/0/0/ttl/px/removal"
        assert (removed[0]["at"], removed[0]["cause"]) == (at(51), "apc.packets/0/0")
        deltas = [(delta["kind"], delta["protocol_id"], changes(delta)) for delta in removed]
    else:
        deltas = sent_by(bench, after)
    back = {name: -value for name, value in added[2].items()}
    assert deltas == [("removal", "px", back)]
    assert sums.summed(bench.deltas()) == {}


def test_it_is_taken_out_once() -> None:
    bench = Bench()
    bench.give(transfer(1, routing=ASKS, to=("a",)))
    bench.give(ack(2, 1, "a", "REJECTED"))
    assert sent_by(bench, retraction(3, 1)) == []
    bench.give(transfer(4, expires_at="2025-01-01T00:00:00Z"))
    assert sent_by(bench, retraction(5, 4)) == []


def test_supersession_takes_nothing_out() -> None:
    bench = Bench()
    bench.give(deferred(1, lineage={"protocol_id": "px"}))
    candidates = [{"packet_ref_ids": refs} for refs in ([], [pid(1)])]
    made = packet("ARBITRATION", 2)
    for one, more in zip(made["payload"]["candidates"], candidates, strict=True):
        one.update(more)
    bench.give(made)
    assert bench.state(1)["state"] == "ARCHIVED"
    assert totals(bench)["packets"] == 1


def test_tasks_of_other_runs_and_sessions_are_others() -> None:
    bench = Bench()
    bench.give(scored(1, 0.5, 0.5))
    for made in (
        at_task(transfer(2), "task-02"),
        at_task(transfer(3), run_id="run-02"),
        transfer(4, session="sess-02"),
    ):
        ((_, _, change),) = sent_by(bench, made)
        assert set(change) == {"packets", "transfers", "tasks"}


def test_the_row_of_a_task_does_not_tell_in_which_order_its_transfers_came() -> None:
    rows = []
    for order in (("px", "py"), ("py", "px")):
        bench = Bench()
        for n, protocol in enumerate(order):
            bench.give(transfer(n + 1, payload={"protocol_id": protocol}))
        rows.append(bench.tables[APC_TASK_FACTS.name])
    assert rows[0] == rows[1]


PROTOCOLS = st.sampled_from(["px", "py"])
TASKS = st.sampled_from(["A", "B"])
UNIT = st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0]) | st.floats(0, 1)


@st.composite
def bearers(draw: st.DrawFn, n: int) -> Json:
    match draw(st.sampled_from(["EVAL", "TRANSFER", "TRANSFER", "IDEA"])):
        case "EVAL":
            made = scored(n, draw(UNIT), draw(st.none() | UNIT))
            if draw(st.booleans()):
                made["lineage"] = {"protocol_id": draw(PROTOCOLS)}
            return at_task(made, draw(TASKS))
        case "TRANSFER":
            made = passed(n, draw(st.booleans()), draw(TASKS))
            made["payload"]["protocol_id"] = made["lineage"]["protocol_id"] = draw(PROTOCOLS)
            made["lineage"]["cross_use_case"] = draw(st.booleans())
            return made
    return at_task(packet("IDEA", n, lineage={"protocol_id": draw(PROTOCOLS)}), draw(TASKS))


@st.composite
def loads(draw: st.DrawFn) -> list[Json]:
    return [draw(bearers(n)) for n in range(1, draw(st.integers(2, 10)))]


@settings(max_examples=example_count(60), deadline=None)
@given(loads(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(load: list[Json], random: Any) -> None:
    results = []
    for _ in range(2):
        bench = Bench()
        for made in load:
            bench.give(copy.deepcopy(made))
        results.append(sums.summed(bench.deltas()))
        random.shuffle(load)
    assert results[0] == results[1] == sums.counted(load)


@settings(max_examples=example_count(60), deadline=None)
@given(loads(), loads(), st.randoms(use_true_random=False))
def test_what_is_retracted_leaves_the_rows_and_sums_as_they_were(
    remaining: list[Json], taken: list[Json], random: Any
) -> None:
    bench = Bench()
    for made in remaining:
        bench.give(made)
    rows, before = dict(bench.tables[APC_TASK_FACTS.name]), sums.summed(bench.deltas())
    ids = list(range(100, 100 + len(taken)))
    for n, made in zip(ids, taken, strict=True):
        made["trace"]["generation"] += 1000 if made["packet_type"] == "TRANSFER" else 0
        bench.give(made | {"packet_id": pid(n)})
    random.shuffle(ids)
    for n in ids:
        assert bench.verdict(retraction(200 + n, n))["verdict"] == "accepted"
    assert bench.tables[APC_TASK_FACTS.name] == rows
    assert sums.summed(bench.deltas()) == before
