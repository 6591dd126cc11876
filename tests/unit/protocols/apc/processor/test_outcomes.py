"""What a task says of its strategies, sent as differences (APC guide, 5.10)."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import encode
from tests.examples import example_count
from tests.unit.protocols.apc.processor.packets import (
    PASSING,
    Bench,
    Json,
    ack,
    at_task,
    evaluation,
    packet,
    pid,
    retraction,
    transfer,
    waiting,
)
from topology.apc import APC_OUTCOMES, APC_PACKET_STATES_TABLE, APC_TASK_FACTS
from topology.declarations import Table

NANO = 10**9
NAMES = ("attempts", "outcome_sum_nano", "gates_met", "drift_weight", "drift_sum_nano")
Sums = dict[str, dict[str, int]]


def idea(n: int, task: str = "A", method: str = "m-1", **members: Any) -> Json:
    return at_task(packet("IDEA", n, payload={"method_id": method}, **members), task)


def scored(n: int, outcome: float, drift: float | None = 0.1, task: str = "A") -> Json:
    metrics = {**PASSING, "outcome": outcome, "drift_risk": drift}
    payload = {"metric_set": {k: v for k, v in metrics.items() if v is not None}}
    return at_task(evaluation(n, payload=payload), task)


def changes(bench: Bench, made: Json) -> dict[str, tuple[int, ...]]:
    """Decide a packet; what it changes, by strategy."""
    deltas = bench.outcomes(bench.decide_json(made))
    return {key_of(delta): tuple(delta[name] for name in NAMES) for delta in deltas}


def put(bench: Bench, table: Table, key: str, row: Json) -> None:
    bench.tables[table.name][key] = encode(table.record, row)


def key_of(strategy: Json) -> str:
    return "/".join(strategy[name] for name in ("use_case", "kind", "strategy"))


def summed(deltas: Iterable[Json]) -> Sums:
    sums: Sums = defaultdict(lambda: dict.fromkeys(NAMES, 0))
    for delta in deltas:
        for name in NAMES:
            sums[key_of(delta)][name] += delta[name]
    return {key: row for key, row in sums.items() if any(row.values())}


def expected(packets: Iterable[Json]) -> Sums:
    """What the packets that are counted come to, counted anew; EVALs in the order they came."""
    tasks: dict[str, list[Json]] = defaultdict(list)
    for one in packets:
        tasks[one["trace"]["task_id"]].append(one)
    sums: Sums = defaultdict(lambda: dict.fromkeys(NAMES, 0))
    for members in tasks.values():
        evals = [one["payload"]["metric_set"] for one in members if one["packet_type"] == "EVAL"]
        if not evals:
            continue
        drift = mean(one["drift_risk"] for one in evals if "drift_risk" in one)
        newest = evals[-1]
        met = newest["outcome"] >= 0.5 and newest.get("drift_risk", 1) <= 0.3
        evidence = (1, mean(one["outcome"] for one in evals), int(met), drift is not None, drift)
        for key in {key for one in members for key in tried_by(one)}:
            for name, number in zip(NAMES, evidence, strict=True):
                sums[key][name] += int(number or 0)
    return dict(sums)


def mean(numbers: Iterable[float]) -> int | None:
    nano = [round(Fraction(repr(number)) * NANO) for number in numbers]
    return round(Fraction(sum(nano), len(nano))) if nano else None


def tried_by(one: Json) -> list[str]:
    metadata = one.get("metadata", {})
    use_case = metadata.get("use_case") or metadata.get("project_id") or "-"
    keys = []
    if one["packet_type"] == "IDEA":
        keys.append(f"{use_case}/method/{one['payload']['method_id']}")
    if "lineage" in one:
        keys.append(f"{use_case}/protocol/{one['lineage']['protocol_id']}")
    return keys


def test_a_task_with_an_eval_is_one_attempt_of_each_of_its_strategies() -> None:
    bench = Bench()
    assert changes(bench, idea(1)) == {}
    assert changes(bench, idea(2, lineage={"protocol_id": "px"})) == {}
    made = changes(bench, scored(3, 0.7))
    attempt = (1, 7 * NANO // 10, 1, 1, NANO // 10)
    assert made == {"-/method/m-1": attempt, "-/protocol/px": attempt}
    assert changes(bench, idea(4, method="m-2")) == {"-/method/m-2": attempt}
    assert changes(bench, idea(5)) == {}


def test_the_mean_of_the_evals_counts_and_the_gates_of_the_newest() -> None:
    bench = Bench()
    bench.give(idea(1))
    bench.give(scored(2, 0.7))
    assert changes(bench, scored(3, 0.2, None)) == {"-/method/m-1": (0, -NANO // 4, -1, 0, 0)}
    assert changes(bench, retraction(4, 3)) == {"-/method/m-1": (0, NANO // 4, 1, 0, 0)}


@pytest.mark.parametrize(
    ("metadata", "use_case"),
    [
        (None, "-"),
        ({"project_id": "p"}, "p"),
        ({"use_case": "u"}, "u"),
        ({"use_case": "u/1", "project_id": "p"}, "u/1"),
    ],
)
def test_the_use_case_is_the_packets_own_or_its_project(
    metadata: Json | None, use_case: str
) -> None:
    bench = Bench()
    bench.give(idea(1, metadata=metadata))
    sent = bench.decide_json(scored(2, 0.7))
    (delta,) = bench.outcomes(sent)
    (record,) = bench.of(APC_OUTCOMES, sent)
    assert delta["use_case"] == use_case
    assert record.key == f"{use_case.replace('/', '%2F')}/method/m-1"
    assert delta["delta_id"] == record.id == f"apc.packets/0/1/0/{record.key}"
    assert (delta["packet_id"], delta["cause"]) == (pid(2), "apc.packets/0/1")


def test_a_refused_packet_counts_for_nothing() -> None:
    bench = Bench()
    bench.give(scored(1, 0.7))
    assert changes(bench, idea(2, run_phase="EXECUTION")) == {}
    assert bench.state(2)["strategies"] is None


def test_nor_does_one_that_had_expired_before_it_came() -> None:
    bench = Bench()
    bench.give(scored(1, 0.7))
    assert changes(bench, idea(2, expires_at="2020-01-01T00:00:00Z")) == {}


def test_one_that_expires_later_takes_back_what_it_added() -> None:
    bench = Bench()
    bench.give(scored(1, 0.7))
    made = at_task(waiting(2, ttl_ms=1_000, payload={"method_id": "m-1"}), "A")
    bench.give(made, 100)
    before = bench.outcomes()
    assert [delta["attempts"] for delta in before] == [1]
    bench.give(ack(3, 2, "a"), 5_000)
    assert bench.state(2)["state"] == "EXPIRED"
    assert summed(bench.outcomes()) == {}
    assert bench.outcomes()[-1]["delta_id"] == "apc.packets/0/1/ttl/-/method/m-1"


def test_a_refusal_by_a_recipient_takes_back_what_it_added() -> None:
    bench = Bench()
    bench.give(scored(1, 0.7))
    bench.give(at_task(waiting(2, to=("a",), payload={"method_id": "m-1"}), "A"))
    change = (-1, -7 * NANO // 10, -1, -1, -NANO // 10)
    assert changes(bench, ack(3, 2, "a", "REJECTED", nack=True)) == {"-/method/m-1": change}
    assert summed(bench.outcomes()) == {}


def test_the_fact_and_the_row_say_what_a_packet_counts_for() -> None:
    bench = Bench()
    fact = bench.verdict(idea(1, lineage={"protocol_id": "px"}, metadata={"use_case": "u"}))
    assert [key_of(one) for one in fact["strategies"]] == ["u/method/m-1", "u/protocol/px"]
    assert bench.state(1)["strategies"] == fact["strategies"]
    assert bench.verdict(scored(2, 0.7)).get("strategies") is None


def test_a_packet_of_an_earlier_release_leaves_the_strategies_alone() -> None:
    """Its row names none, and its protocol is in a row of its own below the task's."""
    bench = Bench()
    bench.give(idea(1, lineage={"protocol_id": "px"}))
    bench.give(scored(2, 0.7))
    sent = summed(bench.outcomes())
    row = {**bench.state(1), "strategies": None}
    put(bench, APC_PACKET_STATES_TABLE, f"sess-01/{pid(1)}", row)
    bearer = {"evals": [], "protocols": {"px": NO_TRANSFERS}, "strategies": {}}
    put(bench, APC_TASK_FACTS, f"sess-01/run-01/A/{pid(1)}", bearer)
    removal = bench.decide_json(retraction(3, 1))
    assert [delta["packets"] for delta in bench.deltas(removal)] == [-1]
    assert summed(bench.outcomes()) == sent
    assert list(bench.tables[APC_TASK_FACTS.name]) == ["sess-01/run-01/A"]


NO_TRANSFERS = {"transfers": 0, "accepted": 0, "cross": 0}
TASKS = st.sampled_from(["A", "B"])
UNIT = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 1.0]) | st.floats(0, 1)
METADATA = st.sampled_from([None, {"use_case": "u"}, {"project_id": "p"}])


@st.composite
def packets(draw: st.DrawFn, n: int) -> Json:
    kind = draw(st.sampled_from(["EVAL", "IDEA", "IDEA", "TRANSFER"]))
    if kind == "EVAL":
        made = scored(n, draw(UNIT), draw(st.none() | UNIT), draw(TASKS))
    elif kind == "IDEA":
        made = idea(n, draw(TASKS), draw(st.sampled_from(["m-1", "m-2"])))
    else:
        made = at_task(transfer(n, generation=100 + n), draw(TASKS))
    if kind != "TRANSFER" and draw(st.booleans()):
        made["lineage"] = {"protocol_id": draw(st.sampled_from(["px", "py"]))}
    metadata = draw(METADATA)
    return made if metadata is None else {**made, "metadata": metadata}


@st.composite
def loads(draw: st.DrawFn) -> list[Json]:
    return [draw(packets(n)) for n in range(1, draw(st.integers(1, 10)))]


def without_gates(sums: Sums) -> Sums:
    """All but what depends on which EVAL came last."""
    return {key: {**row, "gates_met": 0} for key, row in sums.items()}


@settings(max_examples=example_count(60), deadline=None)
@given(loads(), st.randoms(use_true_random=False))
def test_the_deltas_add_up_to_what_is_counted_in_any_order(load: list[Json], random: Any) -> None:
    results = []
    for _ in range(2):
        bench = Bench()
        for made in load:
            bench.give(copy.deepcopy(made))
        results.append(summed(bench.outcomes()))
        assert results[-1] == expected(load)
        random.shuffle(load)
    assert without_gates(results[0]) == without_gates(results[1])


@settings(max_examples=example_count(60), deadline=None)
@given(loads(), loads(), st.randoms(use_true_random=False))
def test_what_is_retracted_cancels_exactly(
    remaining: list[Json], taken: list[Json], random: Any
) -> None:
    bench = Bench()
    for made in remaining:
        bench.give(made)
    before = summed(bench.outcomes())
    rows = dict(bench.tables.get(APC_TASK_FACTS.name, {}))
    ids = list(range(100, 100 + len(taken)))
    for n, made in zip(ids, taken, strict=True):
        made["trace"]["generation"] += 1000 if made["packet_type"] == "TRANSFER" else 0
        bench.give(made | {"packet_id": pid(n)})
    random.shuffle(ids)
    for n in ids:
        assert bench.verdict(retraction(200 + n, n))["verdict"] == "accepted"
    assert summed(bench.outcomes()) == before
    assert bench.tables.get(APC_TASK_FACTS.name, {}) == rows
