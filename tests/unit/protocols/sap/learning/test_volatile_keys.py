"""A payload member is volatile when it changes and the answer does not, often enough."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.protocols.sap.learning.volatile_keys import (
    NEW,
    Evidence,
    count,
    derive,
    evidence_of,
    is_complaint,
    join,
    keys_to_demote,
    members,
)


def group(*answers: tuple[str, str]) -> dict[str, Any]:
    """A group of answers, each (value, output)."""
    grown = None
    for value, output in answers:
        grown = join(grown, value, output)
    assert grown is not None
    return grown


def figures(
    learned: list[str] | None = None,
    blocked: list[str] | None = None,
    complaints: int = 0,
    **totals: tuple[int, int, int],
) -> dict[str, Any]:
    names = ("supporting", "supportingSamples", "contradicting")
    return {
        "learned": learned or [],
        "blocked": blocked or [],
        "complaints": complaints,
        "members": {name: dict(zip(names, total, strict=True)) for name, total in totals.items()},
    }


def test_one_value_says_nothing() -> None:
    assert evidence_of(None) is Evidence.NOTHING
    assert evidence_of(group(("a", "x"), ("a", "x"))) is Evidence.NOTHING
    assert evidence_of(group(("a", "x"), ("a", "y"))) is Evidence.NOTHING


def test_two_values_support_with_one_output_and_contradict_with_two() -> None:
    assert evidence_of(group(("a", "x"), ("b", "x"))) is Evidence.SUPPORTS
    assert evidence_of(group(("a", "x"), ("b", "y"))) is Evidence.CONTRADICTS
    assert evidence_of(group(("a", "x"), ("a", "y"), ("b", "x"))) is Evidence.CONTRADICTS


def test_a_group_keeps_sixteen_values_and_counts_all_answers() -> None:
    grown = group(*((f"v{i}", "x") for i in range(40)))
    assert len(grown["values"]) == 16
    assert grown["samples"] == 40


@pytest.mark.parametrize(
    ("total", "learned"),
    [((5, 30, 0), True), ((4, 300, 0), False), ((5, 29, 0), False), ((50, 300, 1), False),
     ((6, 30, 0), True)],
)  # fmt: skip
def test_learned_with_five_groups_of_thirty_answers(
    total: tuple[int, int, int], learned: bool
) -> None:
    assert derive(figures(k=total)) == (["k"] if learned else [], [])


def test_a_blocked_member_is_not_learned_again() -> None:
    assert derive(figures(blocked=["k"], k=(9, 90, 0), j=(9, 90, 0))) == (["j"], ["k"])


@pytest.mark.parametrize("many", [8, 9, 12])
def test_eight_are_learned_the_first_by_name(many: int) -> None:
    totals: Any = {f"k{i:02}": (5, 30, 0) for i in reversed(range(many))}
    assert derive(figures(**totals)) == ([f"k{i:02}" for i in range(8)], [])


def test_names_are_in_the_order_of_code_points() -> None:
    totals: Any = {"a": (5, 30, 0), "Z": (5, 30, 0), "é": (5, 30, 0), "😀": (5, 30, 0)}
    assert derive(figures(**totals))[0] == ["Z", "a", "é", "😀"]


def test_a_contradicted_key_is_taken_back_and_blocked() -> None:
    given_figures = figures(learned=["a", "b"], a=(9, 90, 1), b=(9, 90, 0))
    assert derive(given_figures) == (["b"], ["a"])


@pytest.mark.parametrize("complaints", [2, 3, 4])
def test_three_complaints_take_all_keys_back(complaints: int) -> None:
    given_figures = figures(["a", "b"], [], complaints, a=(9, 90, 0), b=(9, 90, 0), c=(9, 90, 0))
    if complaints < 3:
        assert derive(given_figures) == (["a", "b", "c"], [])
    else:
        assert derive(given_figures) == (["c"], ["a", "b"])


def test_a_member_that_was_not_learned_is_contradicted_without_a_demotion() -> None:
    totals = {"k": {"supporting": 9, "supportingSamples": 90, "contradicting": 1}}
    assert keys_to_demote([], totals, 0) == []
    assert keys_to_demote(["k"], totals, 0) == ["k"]
    assert keys_to_demote(["k"], {}, 0) == []


def signal(**members: Any) -> dict[str, Any]:
    return {
        "kind": "outcome",
        "computed": True,
        "status": "SUCCEEDED",
        "alignment": "VALID",
        "outputSha256": "o",
        "members": [{"name": "k", "looSha256": "l", "valueSha256": "v"}],
        "cacheHit": False,
        "extractorVersion": 0,
        "rating": None,
        "decision": None,
        **members,
    }


@pytest.mark.parametrize(
    "change",
    [{"computed": False}, {"status": "FAILED"}, {"alignment": "ESCALATE"}, {"outputSha256": None},
     {"members": [{"name": "k" * 257, "looSha256": "l", "valueSha256": "v"}]},
     {"members": [{"name": f"k{i}", "looSha256": "l", "valueSha256": "v"} for i in range(33)]}],
)  # fmt: skip
def test_only_vetted_answers_that_were_computed_are_grouped(change: dict[str, Any]) -> None:
    assert len(members(signal())) == 1
    assert list(members(signal(**change))) == []


@pytest.mark.parametrize(
    ("change", "complains"),
    [({"kind": "rating", "rating": 2}, True), ({"kind": "rating", "rating": 3}, False),
     ({"kind": "rating", "rating": 1, "cacheHit": False}, False),
     ({"kind": "rating", "rating": 1, "extractorVersion": 0}, False),
     ({"kind": "approval", "decision": "rejected"}, True),
     ({"kind": "approval", "decision": "approved"}, False), ({"kind": "note"}, False)],
)  # fmt: skip
def test_a_complaint_is_about_an_answer_that_learned_keys_gave(
    change: dict[str, Any], complains: bool
) -> None:
    hit = {"cacheHit": True, "extractorVersion": 1}
    assert is_complaint(signal(**(hit | change))) is complains


ANSWERS = st.tuples(st.sampled_from("gh"), st.sampled_from("abc"), st.sampled_from("xy"))


@given(st.lists(ANSWERS, max_size=40))
def test_totals_are_the_sum_over_the_groups(answers: list[tuple[str, str, str]]) -> None:
    groups: dict[str, dict[str, Any]] = {}
    total: dict[str, int] = dict(NEW)
    for name, value, output in answers:
        before = groups.get(name)
        groups[name] = join(before, value, output)
        total = count(total, before, groups[name])
    supporting = [one for one in groups.values() if evidence_of(one) is Evidence.SUPPORTS]
    assert total == {
        "supporting": len(supporting),
        "supportingSamples": sum(one["samples"] for one in supporting),
        "contradicting": sum(evidence_of(one) is Evidence.CONTRADICTS for one in groups.values()),
    }
