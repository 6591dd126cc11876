"""Whatever signals come, in whatever batches: tables are functions of the topic's order, each
version derives from its own basis, the basis counts what was sent, and earlier rows stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import parse_ijson
from streams.engine.processor import AvroValue
from streams.protocols.sap.learning.heuristics import NO_HASH, derive, values_of
from tests.examples import example_count
from tests.unit.protocols.sap.learning.support import (
    Bench,
    check,
    member,
    operator,
    outcome,
    violation,
)
from topology.sap import SAP_HEURISTICS_TABLE

PRINCIPLES = ("systems_over_willpower", "unlisted")
STATUSES = st.sampled_from(["PASS", "PASS", "FAIL", "UNCHECKED"])
CHECKS = st.lists(
    st.builds(
        check, st.sampled_from([*PRINCIPLES, "constraint:no_pii", "learned:no_pii"]), STATUSES
    ),
    max_size=3,
)
MEMBERS = st.lists(
    st.builds(
        member, st.sampled_from("jk"), st.sampled_from(["a", "b", "loo0"]), st.sampled_from("xyz")
    ),
    max_size=2,
    unique_by=lambda one: one["name"],
)
OUTCOMES = st.fixed_dictionaries(
    {
        "computed": st.sampled_from([True, True, True, False]),
        "status": st.sampled_from(["SUCCEEDED", "SUCCEEDED", "SUCCEEDED", "FAILED"]),
        "pressure": st.dictionaries(st.sampled_from(PRINCIPLES), st.sampled_from([33.0, 47, 52])),
        "policyChecks": CHECKS,
        "violations": st.lists(st.builds(violation, st.sampled_from(PRINCIPLES)), max_size=1),
        "members": MEMBERS,
        "outputSha256": st.sampled_from(["o", "o", "o", "o", "p", None]),
        "metrics": st.dictionaries(st.sampled_from(["tokens", "cost"]), st.floats(-1e9, 1e9)),
        "citations": st.lists(st.sampled_from(["lib:1", "lib:2"]), max_size=2),
        "fingerprint": st.sampled_from(["e0.a", "e0.b"]),
    }
)
OPERATORS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["rating", "approval", "note"]),
        "rating": st.integers(1, 5),
        "decision": st.sampled_from(["approved", "approved", "rejected"]),
        "note": st.none() | st.just("n"),
        "cacheHit": st.booleans(),
        "extractorVersion": st.integers(0, 1),
        "fingerprint": st.sampled_from(["e0.a", "e0.b"]),
    }
)
COMPLAINTS = OPERATORS.map(lambda members: members | {"cacheHit": True, "rating": 1})
VARIED = st.tuples(st.sampled_from("jk"), st.integers(4, 6), st.integers(5, 7), st.just("o"))
BURSTS = st.lists(
    st.tuples(st.integers(1, 30), OUTCOMES) | OPERATORS | COMPLAINTS | VARIED, max_size=10
)
"""Outcomes of one kind come many at a time, or nothing would ever be learned."""


def signals_of(bursts: Sequence[Any]) -> list[AvroValue]:
    signals: list[AvroValue] = []
    for burst in bursts:
        if isinstance(burst, dict):
            signal_members = {k: v for k, v in burst.items() if k != "kind"}
            signals.append(operator(len(signals), burst["kind"], **signal_members))
        elif isinstance(burst[0], int):
            many, members = burst
            signals += [outcome(len(signals) + i, **members) for i in range(many)]
        else:
            signals += _varied(len(signals), *burst)
    return signals


def _varied(first: int, key: str, groups: int, each: int, output: str) -> list[AvroValue]:
    """Answers that support a key: one output per group, many values."""
    return [
        outcome(
            first + g * each + i,
            outputSha256=f"{output}{g}",
            members=[member(key, f"loo{g}", f"value{i}")],
        )
        for g in range(groups)
        for i in range(each)
    ]


@settings(max_examples=example_count(60), deadline=None)
@given(BURSTS, st.data())
def test_batches_and_restarts_change_nothing(bursts: list[Any], data: st.DataObject) -> None:
    signals = signals_of(bursts)
    alone, batched = Bench(), Bench()
    alone.each(*signals)
    remaining = signals
    while remaining:
        size = data.draw(st.integers(1, len(remaining)))
        batched.batch(*remaining[:size])
        remaining = remaining[size:]
    assert batched.bytes() == alone.bytes()


@settings(max_examples=example_count(60), deadline=None)
@given(BURSTS)
def test_versions_derive_from_their_basis_form_a_chain_and_stay(bursts: list[Any]) -> None:
    bench = Bench()
    seen: dict[str, bytes] = {}
    for signal in signals_of(bursts):
        bench.each(signal)
        rows = bench.tables.get(SAP_HEURISTICS_TABLE.name, {})
        assert {key: rows[key] for key in seen} == seen
        assert len(rows) <= len(seen) + 1
        seen = dict(rows)
    versions = bench.versions()
    for row in versions:
        assert derive(parse_ijson(row["basis_json"])) == values_of(row)
    assert [row["version"] for row in versions] == list(range(1, len(versions) + 1))
    for before, after in pairwise(versions):
        assert after["previousSha256"] == before["sha256"]
        changed = before["volatileKeys"] != after["volatileKeys"]
        assert after["extractorVersion"] == before["extractorVersion"] + changed
        assert set(before["blockedKeys"]) <= set(after["blockedKeys"])
        assert values_of(before) != values_of(after)
    if versions:
        assert versions[0]["previousSha256"] == NO_HASH


@settings(max_examples=example_count(60), deadline=None)
@given(BURSTS)
def test_a_basis_counts_what_was_sent(bursts: list[Any]) -> None:
    signals = signals_of(bursts)
    bench = Bench()
    bench.each(*signals)
    for row in bench.versions():
        sent = signals[: int(row["cause"].rsplit("/", 1)[1]) + 1]
        computed = [one for one in sent if one["kind"] == "outcome" and one["computed"]]
        basis = parse_ijson(row["basis_json"])
        assert basis["computed"] == len(computed)
        assert basis["volatileKeys"]["members"] == _totals(computed)
        for name in PRINCIPLES:
            counted = basis["thresholds"].get(name, {"bins": []})["bins"]
            assert counted == _bins(computed, name)


def _totals(computed: Sequence[AvroValue]) -> dict[str, Any]:
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for one in computed:
        if one["status"] == "SUCCEEDED" and one["outputSha256"] is not None:
            for m in one["members"]:
                place = groups.setdefault((m["name"], m["looSha256"]), [])
                place.append((m["valueSha256"], one["outputSha256"]))
    totals: dict[str, Any] = {}
    for (name, _), answers in groups.items():
        if len({value for value, _ in answers}) < 2:
            continue
        zeros = {"supporting": 0, "supportingSamples": 0, "contradicting": 0}
        total = totals.setdefault(name, zeros)
        if len({output for _, output in answers}) > 1:
            total["contradicting"] += 1
        else:
            total["supporting"] += 1
            total["supportingSamples"] += len(answers)
    return totals


def _bins(computed: Sequence[AvroValue], name: str) -> list[dict[str, int]]:
    """The bins of 33, 47 and 52 that a threshold of 50 or 60 looks at."""
    low_of = {33.0: 30, 47: 45, 52: 50}
    lows = range(30, 60, 5) if name == PRINCIPLES[0] else range(40, 70, 5)
    counts: dict[int, list[bool]] = {}
    for one in computed:
        if name in one["pressure"]:
            worst = [c["status"] for c in one["policyChecks"] if c["principle"] == name]
            failed = "FAIL" in worst or any(v["principle"] == name for v in one["violations"])
            counts.setdefault(low_of[one["pressure"][name]], []).append(failed)
    return [
        {"low": low, "n": len(fails), "f": sum(fails)}
        for low, fails in sorted(counts.items())
        if low in lows
    ]
