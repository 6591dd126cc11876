"""Each lineage query against its definition, over generated packets, some of them dropped."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.protocols.apc.queries.lineage import queries
from streams.protocols.apc.queries.lineage.pairs import correlation
from streams.protocols.apc.queries.lineage.summary import summary
from streams.protocols.apc.queries.lineage.sums import Sums
from streams.protocols.apc.queries.lineage.universe import select_universe
from tests.examples import example_count
from tests.unit.protocols.apc.queries import brute
from tests.unit.protocols.apc.queries.facts import Told, bearing, evaluation, story, transfer

FILTERS: list[dict[str, str]] = [
    {
        name: value
        for name, value in zip(("session_id", "run_id", "project_id"), chosen, strict=True)
        if value is not None
    }
    for chosen in product((None, "s1"), (None, "r0", "nowhere"), (None, "j1"))
]
stories = st.builds(story, st.integers(0, 10**6), st.integers(0, 90))


@settings(max_examples=example_count(40), deadline=None)
@given(history=stories, limit=st.integers(1, 12))
def test_every_query_says_what_its_definition_says(history: Told, limit: int) -> None:
    for filters in FILTERS:
        packets = brute.fitting(list(history.packets.values()), filters)
        universe = select_universe(history.memory, filters)
        names = universe.protocols()
        assert queries.protocols(universe, names, limit) == brute.protocols(packets)[:limit]
        assert queries.propagation(universe, None, limit) == brute.propagation(packets)[:limit]
        assert (
            queries.propagation(universe, "p1", limit) == brute.propagation(packets, "p1")[:limit]
        )
        assert queries.transfer_quality(universe) == brute.transfer_quality(packets)
        assert queries.eval_correlation(universe) == brute.eval_correlation(packets)
        assert correlation(universe.pairs()) == brute.correlation(packets)
        assert queries.effectiveness(universe, names, limit) == brute.effectiveness(packets)[:limit]


@settings(max_examples=example_count(40), deadline=None)
@given(history=stories, limit=st.integers(1, 5), protocol=st.sampled_from([None, "p1", "nowhere"]))
def test_a_summary_agrees_with_the_definitions(
    history: Told, limit: int, protocol: str | None
) -> None:
    for filters in FILTERS:
        packets = brute.fitting(list(history.packets.values()), filters)
        answer = summary(select_universe(history.memory, filters), protocol, limit, {})
        check_summary(answer, packets, limit, protocol)


def check_summary(answer: Any, packets: Any, limit: int, protocol: str | None) -> None:
    narrowed = [
        p for p in packets if protocol in (None, p[1].get("lineage", {}).get("protocol_id"))
    ]
    lineages = [p["lineage"] for _, p in narrowed if "lineage" in p]
    rows = brute.protocols(narrowed)
    scored, outcome, drift = brute.scored(packets)
    expected_rows = [row for row in scored if protocol in (None, row["protocol_id"])]
    quality = brute.transfer_quality(packets)
    rates = {r["transfer_mode"]: _rate(r) for r in quality}
    runs = {p["trace"]["run_id"] for _, p in narrowed if "lineage" in p}
    modes = Counter(lineage.get("transfer_mode", "unknown") for lineage in lineages)
    assert answer["summary"] == {
        "protocol_count": len(rows),
        "transfer_count": sum(row["transfer_count"] for row in rows),
        "cross_use_case_count": sum(row["cross_use_case_count"] for row in rows),
        "run_count": len(runs),
        "mode_counts": dict(modes),
        "mode_acceptance_rates": rates,
        "cross_run_protocols": sum(row["run_count"] > 1 for row in rows),
        "baseline_outcome": brute.six(outcome),
        "baseline_drift_risk": brute.six(drift),
        "arbitration_decision_count": 0,
        "arbitration_selected_total": 0,
        "arbitration_blocked_total": 0,
        "arbitration_rejected_total": 0,
    }
    unblocked = {"blocked": False, "blocked_since": None}
    assert answer["protocols"] == [{**row, **unblocked} for row in rows[:limit]]
    assert answer["propagation"] == brute.propagation(packets, protocol)[:limit]
    assert answer["protocol_effectiveness"] == [
        {**row, **unblocked} for row in expected_rows[:limit]
    ]
    assert answer["transfer_quality"] == [
        {**row, "acceptance_rate": rates[row["transfer_mode"]]} for row in quality
    ]
    assert answer["drift_correlation"] == brute.eval_correlation(packets)


def _rate(row: Any) -> float | None:
    return brute.six(Fraction(row["accepted_count"], row["total_count"]))


@settings(max_examples=example_count(30), deadline=None)
@given(history=stories)
def test_dropping_every_packet_leaves_no_sum_behind(history: Told) -> None:
    seen = len(history.records)
    for _, packet in list(history.packets.values()):
        history.drop(packet)
    history.records = history.records[seen:]
    history.tell(iter(lambda: 7, None))
    sum_keys = {key for key, _ in history.memory.scan(b"") if key.startswith(b"lineage ")}
    assert {key.partition(b"\0")[0] for key in sum_keys} <= {b"lineage packet"}


@settings(max_examples=example_count(20), deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 50))
def test_the_size_of_batches_does_not_matter(seed: int, size: int) -> None:
    history = story(seed, 60)
    again = Told()
    again.records = history.records
    again.tell(iter(lambda: size, None))
    assert list(again.memory.scan(b"")) == list(history.memory.scan(b""))


def told_of(*packets: dict[str, Any]) -> Told:
    history = Told()
    for packet in packets:
        history.accept(packet)
    history.tell(iter(lambda: 3, None))
    return history


def effectiveness_of(history: Told) -> Any:
    universe = select_universe(history.memory, {})
    return summary(universe, None, 10, {})["protocol_effectiveness"]


def worked_example() -> list[dict[str, Any]]:
    """8 transfers of px, 6 accepted: 5 in a task with two EVALs, 3 in a task without."""
    packets = []
    for number in range(1, 9):
        task = "a" if number <= 5 else "b"
        packet = transfer(number, trace__task_id=task)
        packet["payload"]["accepted"] = number <= 6
        packets.append(packet)
    for number, outcome in ((9, 0.6), (10, 0.8)):
        packets.append(evaluation(number, outcome, 0.2, trace__task_id="a"))
    return packets


def test_the_worked_example() -> None:
    history = told_of(*worked_example())
    (row,) = effectiveness_of(history)
    assert (row["transfer_count"], row["accepted_count"], row["task_count"]) == (8, 6, 2)
    assert (row["avg_outcome"], row["avg_drift_risk"]) == (0.7, 0.2)
    assert row["effectiveness_score"] == 0.74
    late = evaluation(11, 0.3, None, trace__task_id="b")
    history = told_of(*worked_example(), late)
    (row,) = effectiveness_of(history)
    assert (row["avg_outcome"], row["avg_drift_risk"]) == (0.55, 0.2)
    assert row["effectiveness_score"] == 0.6875
    history.records.clear()
    history.drop(late)
    history.tell(iter([1]))
    assert effectiveness_of(history)[0]["effectiveness_score"] == 0.74


def test_scores_are_ordered_exactly() -> None:
    """Two acceptance rates that no double can tell apart; names would order them otherwise."""
    many = 10**9
    low = Sums(transfers=many, accepted=many - 1)
    high = Sums(transfers=many + 1, accepted=many)
    assert low.accepted / low.transfers == high.accepted / high.transfers
    ordered = queries.by_score([(b"a", tuple(low)), (b"b", tuple(high))], 2)
    assert [name for name, _ in ordered] == [b"b", b"a"]
    (equal,) = queries.by_score([(b"b", tuple(low)), (b"a", tuple(low))], 1)
    assert equal[0] == b"a"


@pytest.mark.parametrize("state", ["RETRACTED", "EXPIRED", "REJECTED_POLICY"])
def test_what_ceases_to_be_counted_leaves_every_query(state: str) -> None:
    history = told_of(bearing(1), bearing(2))
    history.records.clear()
    history.drop(bearing(2), state)
    history.tell(iter([1]))
    universe = select_universe(history.memory, {})
    (row,) = queries.protocols(universe, universe.protocols(), 5)
    assert (row["transfer_count"], row["last_seen_at"]) == (1, "2026-01-01T00:00:00.000Z")
    assert len(queries.propagation(universe, None, 5)) == 1


def test_names_may_hold_anything() -> None:
    name = "a\0b/ü%"
    history = told_of(bearing(1, lineage={"protocol_id": name}, trace__session_id=name))
    universe = select_universe(history.memory, {"session_id": name})
    assert queries.protocols(universe, universe.protocols(), 5)[0]["protocol_id"] == name
    assert queries.propagation(universe, name, 5)[0]["protocol_id"] == name
