"""Turns, verdicts and escalations, by every filter and page by page."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocols.saop.queries.stage import ask, items, move, turn
from tests.unit.views.bench import Bench

TURNS, VERDICTS, ESCALATIONS = "/v1/saop/turns", "/v1/saop/verdicts", "/v1/saop/escalations"
AGENTS = ("researcher", "architect", "developer", "reviewer")


def indexes(logged_turns: list[dict[str, Any]]) -> list[int]:
    return [logged["turn"]["turn_index"] for logged in logged_turns]


@pytest.fixture
def turns_bench(bench: Bench) -> Bench:
    """Eight turns of A, in an order of their own, and one of B."""
    for index in (0, 2, 1, 3, 7, 6, 5, 4):
        bench.send("saop.turns", turn("A", index, AGENTS[index % 4]))
    bench.send("saop.turns", turn("B", 0), turn("A", 0, "reviewer"), turn("A", 0, AGENTS[0]))
    return bench


def test_turns_are_in_order(turns_bench: Bench) -> None:
    assert indexes(items(turns_bench, TURNS, task_id="A")) == list(range(8))
    assert indexes(items(turns_bench, TURNS, task_id="B")) == [0]
    assert items(turns_bench, TURNS, task_id="C") == []


@pytest.mark.parametrize("first", [0, 1, 3, 8, 2**53 - 1])
def test_turns_from_an_index_on(turns_bench: Bench, first: int) -> None:
    assert (
        indexes(items(turns_bench, TURNS, task_id="A", from_index=first)) == list(range(8))[first:]
    )


@pytest.mark.parametrize("index", [0, 3, 8])
def test_one_turn(turns_bench: Bench, index: int) -> None:
    expected = [index] if index < 8 else []
    assert indexes(items(turns_bench, TURNS, task_id="A", turn_index=index)) == expected
    assert items(turns_bench, TURNS, task_id="A", turn_index=index, from_index=index + 1) == []


@pytest.mark.parametrize("agent_id", AGENTS)
def test_turns_of_an_agent(turns_bench: Bench, agent_id: str) -> None:
    expected = [index for index in range(8) if AGENTS[index % 4] == agent_id]
    assert indexes(items(turns_bench, TURNS, task_id="A", agent_id=agent_id)) == expected


def test_verdicts_are_by_offset(turns_bench: Bench) -> None:
    verdicts = items(turns_bench, VERDICTS, task_id="A")
    assert [verdict["turn_index"] for verdict in verdicts] == [0, 2, 1, 3, 7, 6, 5, 4, 0, 0]
    assert [v["rule"] for v in items(turns_bench, VERDICTS, task_id="A", verdict="rejected")] == [
        "turn_conflict"
    ]
    assert len(items(turns_bench, VERDICTS, task_id="A", verdict="duplicate")) == 1
    assert len(items(turns_bench, VERDICTS, task_id="A", verdict="accepted")) == 8


@pytest.fixture
def alarmed(bench: Bench) -> Bench:
    """Escalations: repetition of A's developer, then of B's reviewer, then failures of C in s1."""
    for task_id, agent_id in (("A", "developer"), ("B", "reviewer")):
        for index in range(3):
            bench.send("saop.turns", turn(task_id, index, agent_id, observation="same"))
    state = "PENDING"
    for _ in range(5):
        for target in ("IN_PROGRESS", "FAILED"):
            bench.send("rtes.raw", move("s1", "C", state, target))
            state = target
    return bench


def test_escalations_are_newest_first(alarmed: Bench) -> None:
    escalations = items(alarmed, ESCALATIONS)
    assert [(e["task_id"], e["detector"]) for e in escalations] == [
        ("C", "failures"),
        ("B", "repetition"),
        ("A", "repetition"),
    ]


@pytest.mark.parametrize(
    ("query", "tasks"),
    [
        ({"task_id": "B"}, ["B"]),
        ({"session_id": "s1"}, ["C"]),
        ({"agent_id": "developer"}, ["A"]),
        ({"detector": "repetition"}, ["B", "A"]),
        ({"detector": "repetition", "agent_id": "reviewer"}, ["B"]),
        ({"detector": "confidence"}, []),
        ({"task_id": "A", "session_id": "s1"}, []),
    ],
)
def test_escalations_that_fit(alarmed: Bench, query: dict[str, str], tasks: list[str]) -> None:
    assert [e["task_id"] for e in items(alarmed, ESCALATIONS, **query)] == tasks


def test_escalations_of_a_session_include_those_before_its_first_transition(
    alarmed: Bench,
) -> None:
    assert [e["task_id"] for e in items(alarmed, ESCALATIONS, session_id="s1")] == ["C"]
    for task_id in ("A", "B"):
        alarmed.send("rtes.raw", move("s1", task_id, "PENDING", "IN_PROGRESS"))
    alarmed.send("rtes.raw", move("s2", "A", "PENDING", "IN_PROGRESS"))
    assert [e["task_id"] for e in items(alarmed, ESCALATIONS, session_id="s1")] == ["C", "B", "A"]
    assert [e["task_id"] for e in items(alarmed, ESCALATIONS, session_id="s2")] == ["A"]
    first = ask(alarmed, ESCALATIONS, session_id="s1", limit=1)
    second = ask(alarmed, ESCALATIONS, session_id="s1", cursor=first["next"])
    assert [e["task_id"] for e in first["items"] + second["items"]] == ["C", "B", "A"]
    assert second["next"] is None
    of_task = items(alarmed, ESCALATIONS, session_id="s1", task_id="B")
    assert [e["task_id"] for e in of_task] == ["B"]


@pytest.mark.parametrize(
    ("path", "query", "rule", "name"),
    [
        (TURNS, "", "query_value", "task_id"),
        (TURNS, "task_id=A&limit=0", "limit_invalid", "limit"),
        (TURNS, "task_id=A&limit=1001", "limit_invalid", "limit"),
        (TURNS, "task_id=A&turn_index=-1", "query_value", "turn_index"),
        (TURNS, "task_id=A&from_index=x", "query_value", "from_index"),
        (TURNS, "task_id=A&agent_id=me", "query_value", "agent_id"),
        (TURNS, "task_id=A&cursor=AAAA", "query_value", "cursor"),
        (VERDICTS, "", "query_value", "task_id"),
        (VERDICTS, "task_id=A&verdict=good", "query_value", "verdict"),
        (ESCALATIONS, "detector=luck", "query_value", "detector"),
        (ESCALATIONS, "limit=", "limit_invalid", "limit"),
    ],
)
def test_a_bad_query_is_named(bench: Bench, path: str, query: str, rule: str, name: str) -> None:
    answer = bench.get(path, query)
    assert (answer.status, answer.body["rule"], answer.body["path"]) == (422, rule, name)


def test_a_cursor_of_another_task_is_refused(turns_bench: Bench) -> None:
    cursor = ask(turns_bench, TURNS, task_id="A", limit=1)["next"]
    answer = turns_bench.get(TURNS, f"task_id=B&cursor={cursor}")
    assert (answer.status, answer.body["path"]) == (422, "cursor")


def test_a_rebuilt_view_answers_the_same(alarmed: Bench) -> None:
    before = [items(alarmed, ESCALATIONS), items(alarmed, TURNS, task_id="A")]
    alarmed.view.close()
    alarmed.folder = alarmed.folder / "again"
    alarmed.view = alarmed.open_view()
    assert [items(alarmed, ESCALATIONS), items(alarmed, TURNS, task_id="A")] == before
