"""Versions of heuristics: when they are derived, what they rest on, and that they stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schemas import canonical_json, parse_ijson, sha256_hex, to_json
from streams.engine.processor import AvroValue
from streams.protocols.sap.learning.heuristics import NO_HASH, derive, values_of
from streams.protocols.sap.learning.processor import Foreign
from tests.unit.protocols.sap.learning.support import (
    START_MS,
    Bench,
    check,
    member,
    operator,
    outcome,
)
from topology.core import LINEAGE_EDGES
from topology.sap import SAP_HEURISTICS_TABLE

SHIPPED = Path(__file__).parents[5] / "topology/sap/constitution.toml"


def failing(n: int, first: int = 0, fails: int = 0, reading: float = 33) -> list[AvroValue]:
    """n computed outcomes with a reading of systems_over_willpower, `fails` of them failed."""
    return [
        outcome(
            first + i,
            pressure={"systems_over_willpower": reading},
            policyChecks=[check("systems_over_willpower", "FAIL" if i < fails else "PASS")],
        )
        for i in range(n)
    ]


def stated(n: int, fails: int, first: int = 0, id: str = "no_pii") -> list[AvroValue]:
    """n computed outcomes of tasks that state a constraint."""
    return [
        outcome(
            first + i, policyChecks=[check(f"constraint:{id}", "FAIL" if i < fails else "PASS")]
        )
        for i in range(n)
    ]


def volatile(groups: int, each: int, first: int = 0, key: str = "k") -> list[AvroValue]:
    """Answers in groups: one output per group, a new value of the key in each answer."""
    return [
        outcome(
            first + g * each + i,
            outputSha256=f"output-{g}",
            members=[member(key, f"loo-{g}", f"value-{i}")],
        )
        for g in range(groups)
        for i in range(each)
    ]


def test_nothing_is_derived_before_the_25th_computed_outcome() -> None:
    bench = Bench()
    signals = failing(25, fails=24)
    bench.each(*signals[:24])
    assert bench.versions() == []
    bench.each(outcome(24, computed=False, cacheHit=True, rule="cache_hit"))
    assert bench.versions() == []
    bench.each(signals[24])
    assert bench.newest()["thresholds"] == {"systems_over_willpower": 30.0}


def test_a_version_is_written_only_when_a_value_changes() -> None:
    bench = Bench()
    bench.each(*failing(100, fails=30))
    assert [row["version"] for row in bench.versions()] == [1]


@pytest.mark.parametrize("kind", ["rating", "note", "approval"])
def test_every_operator_signal_derives(kind: str) -> None:
    bench = Bench()
    bench.each(*stated(20, 4))
    assert bench.versions() == []
    members: dict[str, dict[str, Any]] = {
        "rating": {"rating": 4},
        "note": {"note": "hm"},
        "approval": {"decision": "approved"},
    }
    bench.each(operator(30, kind, **members[kind]))
    assert bench.newest()["extraChecks"] == ["no_pii"]
    assert bench.basis(1)["trigger"] == "operator"


def test_the_examples_of_the_spec(tmp_path: Path) -> None:
    text = SHIPPED.read_text().replace("threshold = 50", "threshold = 40")
    (tmp_path / "c.toml").write_text(text)
    bench = Bench(tmp_path / "c.toml")
    bench.each(*failing(24, fails=3, reading=34), *failing(60, 24, fails=2, reading=27.5))
    bench.each(operator(90, "note", note="derive"))
    assert bench.newest()["thresholds"] == {"systems_over_willpower": 30.0}
    bench = Bench()
    bench.each(*stated(27, 0), *stated(8, 8, 27), operator(40, "note", note="derive"))
    assert bench.newest()["extraChecks"] == ["no_pii"]
    bench.each(*stated(99, 1, 50), operator(150, "note", note="derive"))
    assert bench.newest()["extraChecks"] == ["no_pii"]
    bench.each(*stated(1, 0, 160), operator(161, "note", note="derive"))
    assert bench.newest()["extraChecks"] == []


def test_a_row_says_where_it_comes_from_and_rows_form_a_chain() -> None:
    bench = Bench()
    bench.each(*stated(25, 8), *failing(25, 25, fails=10))
    first, second = bench.versions()
    assert (first["version"], second["version"]) == (1, 2)
    assert first["previousSha256"] == NO_HASH
    assert second["previousSha256"] == first["sha256"]
    assert second["cause"] == "sap.learning-signals/0/49"
    assert second["derivedAt"] == START_MS + 49
    for row in (first, second):
        row_json = to_json(SAP_HEURISTICS_TABLE.record, row)
        assert row_json["basis"] == parse_ijson(row["basis_json"])
        assert row_json.pop("sha256") == sha256_hex(canonical_json(row_json))


def test_a_version_after_the_first_replaces_the_one_before() -> None:
    bench = Bench()
    bench.each(*stated(25, 8), *failing(25, 25, fails=10))
    edges = [one.value for one in bench.of(LINEAGE_EDGES)]
    assert [(e["from_node"], e["relation"], e["to_node"]) for e in edges] == [
        (
            "sap:heuristics:report.summarise/2",
            "replaces",
            "sap:heuristics:report.summarise/1",
        )
    ]


def test_a_basis_derives_the_values_of_its_row() -> None:
    bench = Bench()
    bench.each(*stated(25, 8), *failing(25, 25, fails=10), *volatile(5, 6, 50))
    bench.each(operator(90, "note", note="derive"))
    rows = bench.versions()
    assert len(rows) == 3
    for row in rows:
        assert derive(parse_ijson(row["basis_json"])) == values_of(row)


def test_keys_are_learned_and_the_extractor_has_a_version_of_its_own() -> None:
    bench = Bench()
    bench.each(*volatile(5, 6)[:29], operator(40, "note", note="derive"))
    assert bench.versions() == []
    bench.each(volatile(5, 6)[29], operator(41, "note", note="derive"))
    assert bench.newest()["volatileKeys"] == ["k"]
    assert bench.newest()["extractorVersion"] == 1
    bench.each(*stated(20, 5, 50), operator(80, "note", note="derive"))
    assert (bench.newest()["version"], bench.newest()["extractorVersion"]) == (2, 1)


def test_a_contradiction_takes_a_learned_key_back_at_once() -> None:
    bench = Bench()
    bench.each(*volatile(5, 6), operator(40, "note", note="derive"))
    bench.each(outcome(41, outputSha256="other", members=[member("k", "loo-0", "value-9")]))
    row = bench.newest()
    assert (row["volatileKeys"], row["blockedKeys"], row["extractorVersion"]) == ([], ["k"], 2)
    assert bench.basis(2)["trigger"] == "demotion"
    bench.each(*volatile(9, 9, 50), operator(200, "note", note="derive"))
    assert bench.newest()["volatileKeys"] == []


def complaint(n: int, **members: Any) -> AvroValue:
    return operator(n, "rating", **{"rating": 2, "cacheHit": True, "extractorVersion": 1} | members)


def test_the_third_complaint_takes_all_learned_keys_back() -> None:
    bench = Bench()
    bench.each(*volatile(5, 6), *volatile(5, 6, 30, "j"), operator(70, "note", note="derive"))
    assert bench.newest()["volatileKeys"] == ["j", "k"]
    bench.each(complaint(71), complaint(72, rating=3), complaint(73, extractorVersion=0))
    bench.each(complaint(74, cacheHit=False), complaint(75))
    assert bench.newest()["volatileKeys"] == ["j", "k"]
    rejected = {"kind": "approval", "rating": None, "decision": "rejected"}
    bench.each(complaint(76) | rejected)
    row = bench.newest()
    assert (row["volatileKeys"], row["blockedKeys"]) == ([], ["j", "k"])
    assert bench.basis(row["version"])["volatileKeys"]["complaints"] == 3


def test_complaints_count_from_the_last_change_of_the_keys() -> None:
    bench = Bench()
    bench.each(complaint(1), complaint(2), complaint(3))
    bench.each(*volatile(5, 6, 10), operator(50, "note", note="derive"))
    bench.each(complaint(51), complaint(52))
    bench.each(*volatile(5, 6, 60, "a"), operator(95, "note", note="derive"))
    assert bench.newest()["volatileKeys"] == ["a", "k"]
    bench.each(complaint(96), complaint(97))
    assert bench.newest()["volatileKeys"] == ["a", "k"]
    bench.each(complaint(98))
    assert bench.newest()["volatileKeys"] == []


def test_another_constitution_is_another_value_of_what_it_binds(tmp_path: Path) -> None:
    bench = Bench()
    bench.each(*stated(25, 8))
    (tmp_path / "c.toml").write_text(SHIPPED.read_text() + "\n# changed\n")
    other = Bench(tmp_path / "c.toml")
    other.tables = bench.tables
    other._offsets = bench._offsets
    other.each(operator(30, "note", note="derive"))
    first, second = other.versions()
    assert first["extraChecks"] == second["extraChecks"] == ["no_pii"]
    assert first["constitution"] != second["constitution"]
    other.each(operator(31, "note", note="derive"))
    assert len(other.versions()) == 2


def test_only_learnable_constraints_are_learned() -> None:
    bench = Bench()
    bench.each(*stated(25, 25, id="max_tokens"), *stated(25, 25, 25, id="nobody_knows"))
    assert bench.versions() == []


def test_what_is_observed_only_is_derived_all_the_same() -> None:
    signals = [*stated(25, 8), *failing(25, 25, fails=10), *volatile(5, 6, 50)]
    applying, observing = Bench(), Bench()
    observing.settings["SAP_LEARNING"] = "observe"
    applying.each(*signals)
    observing.each(*signals)
    assert observing.bytes() == applying.bytes()
    assert len(observing.versions()) == 2


@pytest.mark.parametrize("record", [{"key": None}, {"key": "other"}, {"partition": 1}])
def test_a_record_that_no_processor_writes_is_foreign(record: dict[str, Any]) -> None:
    bench = Bench(partitions=2)
    here = bench.signal(outcome(1)).record.partition
    given_record = {"partition": 1 - here} if "partition" in record else record
    with pytest.raises(Foreign):
        bench.decide(bench.signal(outcome(1), **given_record))


def test_capabilities_do_not_mix() -> None:
    bench = Bench()
    for signal in stated(40, 20):
        one = "a.b" if signal["at"] % 2 else "c.d"
        bench.each(signal | {"capability": one})
    assert bench.versions() == []
    bench.each(operator(50, "note", note="derive", capability="a.b"))
    assert [row["capability"] for row in bench.versions()] == ["a.b"]


def test_fingerprints_and_territories_of_a_capability_do() -> None:
    bench = Bench()
    for i, signal in enumerate(stated(25, 8)):
        bench.each(signal | {"fingerprint": f"e0.{i}", "territory": f"t{i % 3}"})
    assert bench.newest()["extraChecks"] == ["no_pii"]
