"""Protocols over all runs, marks of blocked ones, and pages of ranked lists."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from streams.apc import ApcQueries, Effectiveness, EvalCorrelation, LineageSummary, Propagation
from streams.client import Client
from tests.unit.protocols.apc.queries.facts import bearing, evaluation, transfer
from tests.unit.views.bench import Bench


@pytest.fixture
def live(tmp_path: Path) -> Any:
    """Three protocols, of which px has decayed; one task for each transfer of pa."""
    bench = Bench(tmp_path, 2)
    bench.send("apc.packets", *[transfer(number, "px") for number in range(6)])
    for number in range(4):
        of_task = {"trace__task_id": f"task-{number}", "payload__accepted": number % 2 == 0}
        bench.send("apc.packets", transfer(20 + number, "pa", **of_task))
        outcome = 0.9 - number / 10
        task = {"trace__task_id": f"task-{number}"}
        bench.send("apc.packets", evaluation(30 + number, outcome, 0.1, **task))
    bench.send("apc.packets", bearing(50), bearing(51, lineage={"protocol_id": "pz"}))
    yield bench
    bench.close()


def test_protocols_over_all_runs(live: Bench) -> None:
    items = live.look("/v1/apc/protocols")["items"]
    assert [each["protocol_id"] for each in items] == ["pa", "px", "pz"]
    decayed = items[1]
    assert (decayed["blocked"], decayed["transfers"]) == (True, 6)
    assert decayed["last_decision"]["decay"]["blocked"] is True
    assert decayed["blocked_since"] == decayed["last_decision"]["at"]
    (only,) = live.look("/v1/apc/protocols", "blocked=true")["items"]
    assert only == decayed
    others = live.look("/v1/apc/protocols", "blocked=false&limit=1")
    assert [each["protocol_id"] for each in others["items"]] == ["pa"]
    second = live.look("/v1/apc/protocols", f"blocked=false&cursor={others['next']}")
    assert [each["protocol_id"] for each in second["items"]] == ["pz"]


def test_a_summary_marks_blocked_protocols(live: Bench) -> None:
    answer = live.look("/v1/lineage/summary")
    since = live.look("/v1/apc/protocols/px")["blocked_since"]
    for name in ("protocols", "protocol_effectiveness"):
        marks = {
            each["protocol_id"]: (each["blocked"], each["blocked_since"]) for each in answer[name]
        }
        assert marks["px"] == (True, since)
        assert marks["pa"] == (False, None)


@pytest.mark.parametrize("name", ["protocols", "effectiveness", "propagation"])
def test_pages_are_the_whole_list(live: Bench, name: str) -> None:
    whole = live.look(f"/v1/lineage/{name}")["items"]
    assert len(whole) > 1
    items: list[Any] = []
    query = "limit=1"
    while True:
        page = live.look(f"/v1/lineage/{name}", query)
        items += page["items"]
        if page["next"] is None:
            break
        query = f"limit=1&cursor={page['next']}"
    assert items == whole


def test_the_client_has_the_queries_by_their_names(live: Bench) -> None:
    asyncio.run(check_queries(live))


async def check_queries(live: Bench) -> None:
    paths: list[str] = []

    async def query(path: str, *, after: str | None = None, **params: Any) -> Any:
        paths.append(path)
        pairs = {name: value for name, value in params.items() if value is not None}
        return live.look(path, "&".join(f"{name}={value}" for name, value in pairs.items()))

    apc = ApcQueries(query)
    summary = await apc.get_packet_lineage_summary(run_id="r1", limit=2)
    assert isinstance(summary, LineageSummary)
    assert summary.summary.protocol_count == 3
    first = await apc.list_protocol_propagation(limit=3)
    assert isinstance(first, Propagation)
    assert first.next is not None
    second = await apc.list_protocol_propagation(limit=100, cursor=first.next)
    assert (len(second.items), second.next) == (9, None)
    assert (await apc.get_transfer_quality_rollup()).items[0].total_count == 10
    effective = await apc.get_protocol_effectiveness(limit=1)
    assert isinstance(effective, Effectiveness)
    assert effective.items[0].protocol_id == "px"
    correlated = await apc.get_transfer_eval_correlation(run_id="r1")
    assert isinstance(correlated, EvalCorrelation)
    assert correlated.correlation.pearson.n == 4
    assert correlated.correlation.pearson.coefficient is None  # equal differences of scores
    # accepted 1, 0, 1, 0 against 0.9, 0.8, 0.7, 0.6: r = 0.1 / sqrt(0.05)
    assert correlated.correlation.point_biserial.coefficient == 0.447214
    assert len(paths) == 6
    assert isinstance(Client("http://127.0.0.1:9").apc, ApcQueries)
