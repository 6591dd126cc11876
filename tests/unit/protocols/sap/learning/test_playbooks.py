"""A playbook is written when a kind of task is done well, and said to be void when it is not."""

from __future__ import annotations

import pytest

from schemas import canonical_json, encode, sha256_hex, to_json
from streams.engine.processor import AvroValue
from streams.protocols.sap.learning.heuristics import record_sha256
from tests.unit.protocols.sap.learning.support import (
    CAPABILITY,
    FINGERPRINT,
    Bench,
    check,
    operator,
    outcome,
)
from topology.core import LINEAGE_EDGES
from topology.sap import SAP_KNOWLEDGE_TABLE, sap_key


def tried(successes: int, failures: int = 0, first: int = 0) -> list[AvroValue]:
    fails = [outcome(first + successes + i, status="FAILED") for i in range(failures)]
    return [outcome(first + i) for i in range(successes)] + fails


def approved(n: int = 500) -> AvroValue:
    return operator(n, "approval", decision="approved")


@pytest.mark.parametrize(
    ("successes", "failures", "signals", "active"),
    [
        (5, 0, [approved()], True),
        (4, 0, [approved()], False),
        (4, 1, [approved()], True),
        (7, 2, [approved()], False),
        (8, 2, [approved()], True),
        (5, 0, [], False),
        (5, 0, [operator(1, "rating", rating=5)], False),
        (5, 0, [operator(1, "rating", rating=5), operator(2, "rating", rating=3)], True),
        (5, 0, [operator(1, "rating", rating=4), operator(2, "rating", rating=3)], False),
        (5, 0, [approved(), operator(1, "approval", decision="rejected")], False),
        (5, 0, [operator(1, "note", note="good")], False),
    ],
)
def test_when_a_playbook_qualifies(
    successes: int, failures: int, signals: list[AvroValue], active: bool
) -> None:
    bench = Bench()
    bench.each(*signals, *tried(successes, failures))
    book = bench.playbook()
    assert (book is not None and book["active"]) is active


def test_what_a_playbook_says() -> None:
    bench = Bench()
    seen = {
        "policyChecks": [check("a"), check("b")],
        "metrics": {"tokens": 0.1},
        "citations": [f"lib:{i:02}" for i in range(12)],
        "nextActions": [f"act.{i}" for i in range(7)],
    }
    bench.each(*(outcome(i, **seen) for i in range(9)))
    bench.each(outcome(9, policyChecks=[check("a"), check("c")], metrics={"tokens": 0.3}))
    bench.each(*(operator(3, "note", note=f"n{i}") for i in range(12)))
    bench.each(operator(3, "rating", rating=4), operator(4, "rating", rating=5))
    book = bench.playbook()
    assert book is not None
    assert (book["kind"], book["version"], book["active"]) == ("playbook", 1, True)
    assert (book["samples"], book["successShare"], book["meanRating"]) == (10, 1.0, 4.5)
    assert book["bestTaskId"] == "00000000-0000-4000-8000-000000000004"
    assert book["citations"] == [f"lib:{i:02}" for i in range(10)]
    assert book["nextActions"] == [f"act.{i}" for i in range(5)]
    assert book["requiredChecks"] == ["a", "b"]
    assert book["metricMeans"] == {"tokens": 0.12}
    assert book["notes"] == [f"n{i}" for i in range(2, 12)]
    book_json = to_json(SAP_KNOWLEDGE_TABLE.record, book)
    present = {name: member for name, member in book_json.items() if member is not None}
    assert present.pop("sha256") == sha256_hex(canonical_json(present))


def test_a_playbook_derives_from_its_best_task() -> None:
    bench = Bench()
    bench.each(approved(), *tried(5))
    edges = [one.value for one in bench.of(LINEAGE_EDGES)]
    assert [(e["from_node"], e["relation"], e["to_node"]) for e in edges] == [
        (
            f"sap:playbook:report.summarise//{FINGERPRINT}",
            "derived_from",
            "sap:task:00000000-0000-4000-8000-000000000004",
        )
    ]


def test_it_is_written_again_as_the_outcomes_double_and_after_operators() -> None:
    bench = Bench()
    bench.each(approved())
    written = []
    for n, signal in enumerate(tried(45), 1):
        before = bench.playbook()
        bench.each(signal)
        if bench.playbook() != before:
            written.append(n)
    assert written == [5, 10, 20, 40]
    for kind, members in (("note", {"note": "x"}), ("rating", {"rating": 5})):
        before = bench.playbook()
        bench.each(operator(7, kind, **members))
        assert before is not None
        assert bench.playbook() != before
    book = bench.playbook()
    assert book is not None
    assert book["version"] == 6


def test_one_that_stops_qualifying_is_void_once_and_may_come_again() -> None:
    bench = Bench()
    bench.each(approved(), *tried(8))
    assert [book["active"] for book in [bench.playbook()] if book] == [True]
    bench.each(*tried(0, 2, 20))
    book = bench.playbook()
    assert book is not None
    assert (book["version"], book["active"]) == (2, True)
    bench.each(*tried(0, 1, 30))
    book = bench.playbook()
    assert book is not None
    assert (book["version"], book["active"]) == (3, False)
    bench.each(*tried(0, 3, 40), operator(1, "note", note="x"))
    assert bench.playbook() == book
    bench.each(*tried(16, 0, 50))
    book = bench.playbook()
    assert book is not None
    assert (book["version"], book["active"]) == (4, True)
    bench.each(operator(1, "approval", decision="rejected"))
    book = bench.playbook()
    assert book is not None
    assert not book["active"]


def test_cache_hits_are_no_samples() -> None:
    bench = Bench()
    hit = {"computed": False, "cacheHit": True, "rule": "cache_hit"}
    bench.each(approved(), *(outcome(i, **hit) for i in range(20)))
    assert bench.playbook() is None


@pytest.mark.parametrize("member", ["fingerprint", "notes"])
def test_a_forged_playbook_is_absent(member: str) -> None:
    """A copy of another kind's playbook, or one without its hash, does not count as a version."""
    bench = Bench()
    bench.each(*tried(5), approved(), approved(501))
    book = bench.playbook()
    assert book is not None
    assert book["version"] == 2
    changed: AvroValue = {**book, member: "e0.other" if member == "fingerprint" else ["x"]}
    if member == "fingerprint":
        changed["sha256"] = record_sha256(SAP_KNOWLEDGE_TABLE.record, {**changed, "sha256": ""})
    row = encode(SAP_KNOWLEDGE_TABLE.record, changed)
    bench.tables[SAP_KNOWLEDGE_TABLE.name][sap_key(CAPABILITY, None, FINGERPRINT)] = row
    bench.each(approved(502))
    book = bench.playbook()
    assert book is not None
    assert (book["version"], book["notes"]) == (1, [])
