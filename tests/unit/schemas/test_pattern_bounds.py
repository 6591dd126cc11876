"""Patterns of strangers take bounded memory and time (Summit guide, 2.6; SAP guide, 3.4)."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from schemas import summit
from schemas.json_schema.cache import WeightedCache
from streams.protocols.sap.constitution.evaluators import contract_results
from tests.unit.schemas.summit_support import MANIFEST, changed, member, problems

COUNT = 300
PATTERNS = {f"p{i}": {"pattern": rf"\pL{{0,100}}N{i}"} for i in range(COUNT)}
MOST_MB = 96
MOST_COMPILED = 8
CHILD = """
import json, resource, sys
import re2
from schemas import summit
from schemas.json_schema.cache import WeightedCache
from streams.protocols.sap.constitution.evaluators import contract_results

count = 0
def counted(function):
    def call(*args, **kwargs):
        global count
        count += 1
        return function(*args, **kwargs)
    return call

def judge(attack):
    for schema in attack["contracts"]:
        finding = contract_results({"schema": schema}, {"p1": "x"})["contract:schema"]
        yield [finding.status, finding.notes]
    for manifest in attack["manifests"]:
        yield [[problem.rule, problem.path] for problem in summit.check_manifest(manifest)]
    for text in attack["logged"]:
        schema = summit.schema_of(text)
        yield schema.errors(schema.filled({"p1": "x"}), "/params/inputs")

attack = json.load(sys.stdin)
list(judge({**attack, "contracts": [{"pattern": "a"}], "manifests": [], "logged": []}))
re2.compile = counted(re2.compile)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
verdicts = list(judge(attack))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
json.dump({"verdicts": verdicts, "mb": (after - before) / 1024, "compiled": count}, sys.stdout)
"""


def run_attack(**attack: Any) -> dict[str, Any]:
    """Judge what is attacked with in a process of its own; return what that came to.

    A shell starts it, since the largest size of a process is that of its parent at first.
    """
    body = json.dumps({"contracts": [], "manifests": [], "logged": [], **attack})
    command = ["sh", "-c", '"$0" -c "$1"; exit $?', sys.executable, CHILD]
    done = subprocess.run(command, input=body, capture_output=True, text=True, check=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def assert_bounded(report: dict[str, Any]) -> None:
    assert report["compiled"] <= MOST_COMPILED
    assert report["mb"] <= MOST_MB


def with_input(schema: dict[str, Any]) -> dict[str, Any]:
    return changed(MANIFEST, spec__interface__inputSchema=schema)


def with_tools(patterns: list[str]) -> dict[str, Any]:
    """Return a manifest with a tool for each pattern."""
    tools = [
        {"name": f"t{i}", "description": "x", "arguments": member(pattern=pattern)}
        for i, pattern in enumerate(patterns)
    ]
    return changed(MANIFEST, spec__tools=tools)


def test_a_manifest_with_large_patterns_is_refused() -> None:
    report = run_attack(manifests=[with_input({"type": "object", "properties": PATTERNS})])
    ((rule, path),) = report["verdicts"][0]
    assert rule == "manifest.schema_pattern"
    assert path == "/spec/interface/inputSchema/properties/p97/pattern"
    assert_bounded(report)


def test_a_manifest_with_large_patterns_in_many_tools_is_refused() -> None:
    report = run_attack(manifests=[with_tools([rf"\pL{{0,100}}N{i}" for i in range(60)])])
    assert {rule for rule, _ in report["verdicts"][0]} == {"manifest.schema_pattern"}
    assert_bounded(report)


def test_patterns_that_are_too_large_each_are_not_all_tried() -> None:
    patterns = {f"p{i}": {"pattern": rf"(\pL{{0,1000}}{i}){{0,1}}"} for i in range(COUNT)}
    report = run_attack(manifests=[with_input({"type": "object", "properties": patterns})])
    assert {rule for rule, _ in report["verdicts"][0]} == {"manifest.schema_pattern"}
    assert report["compiled"] <= 16
    assert report["mb"] <= MOST_MB


def test_a_schema_that_was_accepted_before_there_were_bounds_is_given_up() -> None:
    text = json.dumps({"type": "object", "properties": PATTERNS})
    report = run_attack(logged=[text, text])
    assert report["verdicts"] == [[{"path": "/params/inputs", "keyword": "$ref"}]] * 2
    assert_bounded(report)


def test_a_contract_with_large_patterns_is_unchecked() -> None:
    report = run_attack(contracts=[{"properties": PATTERNS}] * 2)
    for status, notes in report["verdicts"]:
        assert status == "UNCHECKED"
        assert notes.startswith("the schema is not taken: a schema has at most 1000 patterns")
        assert notes.endswith(" (at /properties/p10/pattern)")
    assert_bounded(report)


def test_as_many_patterns_as_are_allowed_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schemas.json_schema.patterns.MOST_PATTERNS", 3)
    names: dict[str, Any] = {f"^{name}": {} for name in "abc"}
    made = {"type": "object", "patternProperties": names, "properties": {"x": {"pattern": "^a"}}}
    assert problems(made) == []
    assert contract_results({"schema": made}, {})["contract:schema"].status == "PASS"
    made["properties"] = {"x": {"pattern": "^d"}}
    assert [rule for rule, _ in problems(made)] == ["schema_pattern"]
    assert contract_results({"schema": made}, {})["contract:schema"].status == "UNCHECKED"


def test_the_patterns_of_a_manifest_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schemas.json_schema.patterns.MOST_PATTERNS", 3)
    assert summit.check_manifest(with_tools(["a", "b", "c", "a"])) == []
    (problem,) = summit.check_manifest(with_tools(["a", "b", "c", "d"]))
    assert problem.rule == "manifest.schema_pattern"
    assert problem.path == "/spec/tools/3/arguments/properties/x/pattern"


def test_a_cache_drops_what_was_not_used_for_longest() -> None:
    made: list[str] = []

    def make(text: str) -> str:
        made.append(text)
        return text

    cache = WeightedCache(make, len, 5)
    for text in ("aa", "bb", "aa", "cc", "aa", "bb", "dddddddd", "dddddddd"):
        assert cache.get(text) == text
    assert made == ["aa", "bb", "cc", "bb", "dddddddd"]
