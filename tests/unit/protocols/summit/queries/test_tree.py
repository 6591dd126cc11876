"""The tree of a run, and its pages."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.protocols.summit.queries.stage import (
    AGENT,
    CALLS,
    REPLIES,
    Json,
    invoke,
    progress,
    registered,
)
from tests.unit.views.bench import Bench

RUNS = "/v1/summit/runs"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    registered(bench)
    yield bench
    bench.close()


def run(bench: Bench, name: str, parent: str | None = None) -> None:
    context = {} if parent is None else {"parentRunId": parent}
    bench.send(CALLS, invoke(name, traceId="tr-1", **context))


def tree(bench: Bench, name: str, size: int = 1000) -> list[Json]:
    """All pages of a tree."""
    items: list[Any] = []
    query = f"limit={size}"
    while True:
        page = bench.look(f"{RUNS}/{name}/tree", query)
        items += page["items"]
        if page["next"] is None:
            return items
        assert len(page["items"]) == size
        query = f"limit={size}&cursor={page['next']}"


def test_a_run_without_children_is_its_own_tree(bench: Bench) -> None:
    run(bench, "alone")
    assert tree(bench, "alone") == [
        {
            "runId": "alone",
            "parentRunId": None,
            "depth": 0,
            "agentId": AGENT,
            "status": "queued",
            "tokens": 0,
            "usd": "0.000000000",
            "treeUsd": "0.000000000",
        }
    ]


def test_each_run_shows_what_it_used_itself_to_nine_decimals(bench: Bench) -> None:
    run(bench, "root")
    run(bench, "child", "root")
    bench.send(REPLIES, progress("child", metrics={"tokens": 16, "cost_usd": 0.00016}))
    bench.send(REPLIES, progress("root", metrics={"tokens": 1, "cost_usd": 0.1000000006}))
    figures = [(each["status"], each["tokens"], each["usd"]) for each in tree(bench, "root")]
    assert figures == [("running", 1, "0.100000001"), ("running", 16, "0.000160000")]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_a_tree_is_depth_first_in_order_of_creation_on_pages_of_any_size(
    bench: Bench, size: int
) -> None:
    chance = random.Random(3)
    names = ["r0"]
    children: dict[str, list[str]] = {"r0": []}
    run(bench, "r0")
    for number in range(1, 25):
        parent = chance.choice(names)
        name = f"r{number}"
        run(bench, name, parent)
        children[parent].append(name)
        children[name] = []
        names.append(name)

    def expected(name: str, depth: int) -> list[tuple[str, int]]:
        below = (pair for child in children[name] for pair in expected(child, depth + 1))
        return [(name, depth), *below]

    nodes = [(each["runId"], each["depth"]) for each in tree(bench, "r0", size)]
    assert nodes == expected("r0", 0)


def test_runs_that_name_each_other_end(bench: Bench) -> None:
    run(bench, "hen", "egg")
    run(bench, "egg", "hen")
    assert [each["runId"] for each in tree(bench, "hen", 1)] == ["hen", "egg"]
    assert [each["runId"] for each in tree(bench, "egg", 1)] == ["egg", "hen"]


def test_a_tree_of_a_run_that_is_not_there(bench: Bench) -> None:
    answer = bench.get(f"{RUNS}/none/tree")
    assert (answer.status, answer.body["rule"]) == (404, "run.unknown")


def test_a_cursor_of_another_tree_is_refused(bench: Bench) -> None:
    run(bench, "a")
    run(bench, "b")
    run(bench, "a1", "a")
    cursor = bench.look(f"{RUNS}/a/tree", "limit=1")["next"]
    answer = bench.get(f"{RUNS}/b/tree", f"cursor={cursor}")
    assert (answer.status, answer.body["rule"], answer.body["path"]) == (
        422,
        "query_value",
        "cursor",
    )
