"""What is known of strategies: lists, and the tasks that a prior is the sum of."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import decode, to_json
from streams.apc import ApcQueries, PriorExplanation, Priors
from streams.verify.run import verify
from tests.examples import example_count
from tests.unit.envelopes import idea as any_idea
from tests.unit.envelopes import packet_id
from tests.unit.protocols.apc.queries.facts import evaluation
from tests.unit.protocols.apc.queries.test_protocols import retraction
from tests.unit.views.bench import Bench

PRIORS, EXPLAIN = "/v1/apc/priors", "/v1/apc/priors/explain"
NANO = 10**9
KEY = ("use_case", "kind", "strategy")
SUMS = ("attempts", "outcome_sum_nano", "gates_met", "drift_weight", "drift_sum_nano")


def idea(number: int, method: str = "m-1", use_case: str | None = "u", **changes: Any) -> Any:
    metadata = {} if use_case is None else {"metadata": {"use_case": use_case}}
    members = {"payload__method_id": method, "routing__requires_ack": False, **metadata}
    return any_idea(number, **{**members, **changes})


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


@pytest.fixture
def filled(bench: Bench) -> Bench:
    """Three methods and a protocol in two use cases, of eight tasks."""
    number = 0
    for task, (method, use_case, outcome) in enumerate(
        (
            *(("m-1", "u", 0.7), ("m-1", "u", 0.55), ("m-2", "u", 0.9), ("m-3", "u", 0.2)),
            *(("m-3", "u", 0.3), ("m-3", "u", 0.1), ("m-2", "w", 0.5), ("m-1", None, 0.4)),
        )
    ):
        number += 2
        at = {"trace__task_id": f"t{task}"}
        lineage = {"lineage": {"protocol_id": "px"}} if use_case == "w" else {}
        bench.send("apc.packets", idea(number, method, use_case, **lineage, **at))
        bench.send("apc.packets", evaluation(number + 1, outcome, 0.2, **at))
    return bench


def ids(page: Any) -> list[str]:
    return ["/".join(item[name] for name in KEY) for item in page["items"]]


def test_they_come_by_use_case_kind_and_strategy(filled: Bench) -> None:
    assert ids(filled.look(PRIORS)) == [
        *("-/method/m-1", "u/method/m-1", "u/method/m-2", "u/method/m-3"),
        *("w/method/m-2", "w/protocol/px"),
    ]


def test_the_worked_example(filled: Bench) -> None:
    (item,) = filled.look(PRIORS, "use_case=u&strategy=m-1")["items"]
    assert [item[name] for name in ("alpha", "beta", "mean", "sd")] == [
        *("2.25", "1.75"),
        *(0.5625, 0.221853),
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("use_case=u&order=mean", "u/method/m-2 u/method/m-1 u/method/m-3"),
        ("use_case=u&order=attempts", "u/method/m-3 u/method/m-1 u/method/m-2"),
        ("kind=protocol", "w/protocol/px"),
        ("strategy=m-2", "u/method/m-2 w/method/m-2"),
        ("min_attempts=2&order=attempts", "u/method/m-3 u/method/m-1"),
        ("use_case=nobody", ""),
    ],
)
def test_filters_and_orders(filled: Bench, query: str, expected: str) -> None:
    assert ids(filled.look(PRIORS, query)) == expected.split()


@pytest.mark.parametrize("order", ["", "order=mean", "order=attempts"])
def test_pages_have_each_prior_once(filled: Bench, order: str) -> None:
    whole = filled.look(PRIORS, order)["items"]
    items, cursor = [], ""
    while True:
        page = filled.look(PRIORS, f"{order}&limit=2{cursor}".lstrip("&"))
        items += page["items"]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert items == whole


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("use_case=u&kind=method&strategy=nobody", 404),
        ("use_case=u&kind=method", 422),
        ("use_case=u&kind=swarm&strategy=m-1", 422),
    ],
)
def test_what_cannot_be_explained(filled: Bench, query: str, status: int) -> None:
    filled.view.catch_up(0)
    assert filled.get(EXPLAIN, query).status == status


def test_an_explanation_names_the_packets_and_the_way_on(filled: Bench) -> None:
    page = filled.look(EXPLAIN, "use_case=w&kind=protocol&strategy=px")
    assert page["tasks"] == [
        {
            "session_id": "s1",
            "run_id": "r1",
            "task_id": "t6",
            "outcome": 0.5,
            "drift_risk": 0.2,
            "gates_met": True,
            "evals": [packet_id(15)],
            "packets": [packet_id(14)],
            "explain": f"/v1/apc/sessions/s1/packets/{packet_id(15)}/explain",
        }
    ]
    assert filled.look(page["tasks"][0]["explain"])


def test_tasks_come_in_pages(filled: Bench) -> None:
    query = "use_case=u&kind=method&strategy=m-3&limit=2"
    first = filled.look(EXPLAIN, query)
    second = filled.look(EXPLAIN, f"{query}&cursor={first['next']}")
    listed = [task["task_id"] for page in (first, second) for task in page["tasks"]]
    assert (listed, second["next"]) == (["t3", "t4", "t5"], None)


def test_alpha_and_beta_begin_with_the_policys(tmp_path: Path) -> None:
    bench = Bench(tmp_path, apc_priors_alpha=Decimal("0.5"), apc_priors_beta=Decimal(3))
    bench.send("apc.packets", idea(1), evaluation(2, 0.7, None))
    (item,) = bench.look(PRIORS)["items"]
    assert (item["alpha"], item["beta"]) == ("1.2", "3.3")
    bench.close()


def story(rnd: random.Random, count: int) -> Iterator[Any]:
    """Ideas and evaluations of four tasks, some of which are retracted or had expired."""
    listed: list[Any] = []
    for number in range(1, count + 1):
        at = {"trace__session_id": rnd.choice("ab"), "trace__task_id": rnd.choice("xy")}
        lineage = {"lineage": {"protocol_id": rnd.choice(("px", "py"))}}
        members = {**at, **(lineage if rnd.random() < 0.4 else {})}
        kind = rnd.randrange(6)
        if kind == 0 and listed:
            target = rnd.choice(listed)
            at["trace__session_id"] = target["trace"]["session_id"]
            yield retraction(number, int(target["packet_id"][-12:]), **{**members, **at})
            continue
        if kind < 3:
            drift = rnd.choice((None, 0.2, 0.9))
            made = evaluation(number, rnd.choice((0.3, 0.7, 0.55)), drift, **members)
        else:
            use_case = rnd.choice(("u", None))
            made = idea(number, rnd.choice(("m-1", "m-2")), use_case, **members)
            if kind == 3:
                made["expires_at"] = "2020-01-01T00:00:00Z"
        listed.append(made)
        yield made


@settings(max_examples=example_count(12), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_sums_of_an_explanation_are_the_rows(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("bench")
    bench = Bench(folder)
    bench.send("apc.packets", *story(random.Random(seed), 40))
    record = "headrace.apc.ApcPrior"
    rows = {
        each.key: to_json(record, decode(each.value, record).value)
        for each in bench.records("apc.priors")
    }
    items = bench.look(PRIORS)["items"]
    assert {item["strategy"] for item in items} == {row["strategy"] for row in rows.values()}
    for item in items:
        page = bench.look(EXPLAIN, urlencode({name: item[name] for name in KEY}))
        tasks = page["tasks"]
        drifts = [task["drift_risk"] for task in tasks if task["drift_risk"] is not None]
        sums = (
            *(len(tasks), sum(round(task["outcome"] * NANO) for task in tasks)),
            *(sum(task["gates_met"] for task in tasks), len(drifts)),
            sum(round(drift * NANO) for drift in drifts),
        )
        assert [item[name] for name in SUMS] == list(sums)
        assert page["prior"] == item
        assert all(task["evals"] and task["packets"] for task in tasks)
    (folder / "verify").mkdir()
    assert verify(bench.log, bench.settings, folder / "verify").clean
    bench.close()


def test_a_client_samples_what_it_reads(filled: Bench) -> None:
    async def query(path: str, *, after: str | None = None, **params: Any) -> Any:
        named = {name: value for name, value in params.items() if value is not None}
        return filled.look(path, urlencode(named))

    async def read() -> tuple[Priors, PriorExplanation]:
        apc = ApcQueries(query)
        return (
            await apc.priors(use_case="u", order="mean", min_attempts=1),
            await apc.explain_prior(use_case="u", kind="method", strategy="m-1"),
        )

    page, explained = asyncio.run(read())
    assert [prior.strategy for prior in page.items] == ["m-2", "m-1", "m-3"]
    assert page.items[1].sample(Random(7)) == Random(7).betavariate(2.25, 1.75)
    assert [task.outcome for task in explained.tasks] == [0.7, 0.55]
