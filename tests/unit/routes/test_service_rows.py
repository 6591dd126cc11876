"""The overview, the verdicts, the agents and the search, over scenarios of all protocols."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.formats import iso_ms
from streams.gateway.service_responses import AgentPage, Overview, SearchResults, VerdictPage
from streams.routes.handle import Routes
from streams.view_store.view import View
from tests.unit.views.service.played import (
    COMMAND_FACTS,
    SETTINGS,
    Fact,
    counted,
    facts,
    played,
)

Json = dict[str, Any]
WINDOWS = {"15m": (60, 15), "1h": (60, 60), "6h": (600, 36), "24h": (600, 144), "7d": (3600, 168)}
PLAYED = ("five-protocols.jsonl", "sap-cache.jsonl", "rtes-refusals.jsonl", "promotion.jsonl")


class Asked:
    """The routes over the log of a scenario."""

    def __init__(self, name: str, folder: Path) -> None:
        self.log = played(name)
        self.view = View(self.log, folder, clock=self.log.clock)
        self.view.catch_up(0)
        self.now = self.log.clock()
        self._routes = Routes(self.view, self.log, SETTINGS, lambda: self.now)

    def pass_ms(self, ms: int) -> None:
        self.now += ms

    def get(self, path: str, query: str = "") -> Json:
        answer = self._routes.handle("GET", path, query)
        assert answer.status == 200, answer.body
        body: Json = answer.body
        return body

    def problem(self, path: str, query: str) -> tuple[int, str, str]:
        answer = self._routes.handle("GET", path, query)
        return answer.status, answer.body["rule"], answer.body.get("path", "")


@pytest.fixture(scope="module", params=PLAYED)
def system(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Asked]:
    started = Asked(request.param, tmp_path_factory.mktemp("view") / "rows")
    yield started
    started.view.close()


@pytest.fixture
def refusals(tmp_path: Path) -> Iterator[Asked]:
    system = Asked("refusals.jsonl", tmp_path / "rows")
    yield system
    system.view.close()


def bucket(at: int, step_s: int) -> int:
    return at // (step_s * 1000)


@pytest.mark.parametrize("window", WINDOWS)
def test_the_overview_equals_a_fold_of_the_facts(system: Asked, window: str) -> None:
    body = system.get("/v1/overview", f"window={window}")
    Overview.model_validate(body)
    step_s, buckets = WINDOWS[window]
    last = bucket(system.log.clock(), step_s)
    span = range(last - buckets + 1, last + 1)
    commands = [
        fact for fact in facts(system.log, *COMMAND_FACTS) if bucket(fact.at, step_s) in span
    ]
    verdicts = Counter(fact.verdict for fact in commands)
    assert {name: body[name] for name in ("accepted", "duplicate", "rejected")} == {
        name: verdicts[name] for name in ("accepted", "duplicate", "rejected")
    }
    assert body["commands"] == sum(n for name, n in verdicts.items() if name != "none")
    assert (body["from"], body["to"]) == (
        iso_ms(span.start * step_s * 1000),
        iso_ms(span.stop * step_s * 1000),
    )
    assert series_of(body, span) == Counter(
        (COMMAND_FACTS[fact.topic], fact.verdict, bucket(fact.at, step_s)) for fact in commands
    )


def series_of(body: Json, span: range) -> Counter[tuple[str, str, int]]:
    counts = {
        (series["protocol"], series["verdict"], number): count
        for series in body["series"]
        for number, count in zip(span, series["counts"], strict=True)
    }
    return Counter({name: count for name, count in counts.items() if count})


def test_rules_events_and_cache_equal_a_fold_of_the_facts(system: Asked) -> None:
    body = system.get("/v1/overview", "window=7d")
    expected = counted(system.log)
    service = ("sap.verdicts", "saop.escalations")
    rules = {(r["topic"], r["verdict"], r["rule"]): r["count"] for r in body["rules"]}
    assert rules == {name: n for name, n in expected.items() if name[0] not in service}
    counts = [rule["count"] for rule in body["rules"]]
    assert counts == sorted(counts, reverse=True)
    by_topic = Counter[tuple[str, str]]()
    for (topic, verdict, _), n in expected.items():
        by_topic[topic, verdict] += n
    assert body["events"] == {
        "recorded": by_topic["rtes.events", "accepted"],
        "duplicate": by_topic["rtes.rejections", "duplicate"],
        "rejected": by_topic["rtes.rejections", "rejected"],
    }
    words = {rule: n for (topic, _, rule), n in expected.items() if topic == "sap.verdicts"}
    cache = body["cache"]
    assert cache["hits"] == words.get("hit", 0)
    assert cache["stored"] == words.get("stored", 0)
    assert (cache["hit_rate"] is None) == (cache["lookups"] == 0)
    assert body["escalations"] == by_topic["saop.escalations", "none"]
    assert {each["name"] for each in body["lag"]["processors"]} >= {"apc", "sap-cache", "rtes"}
    assert body["lag"]["view"] == 0


def test_counts_leave_the_window_with_time(refusals: Asked) -> None:
    rejected = refusals.get("/v1/overview")["rejected"]
    assert rejected > 0
    refusals.pass_ms(20 * 60_000)
    assert refusals.get("/v1/overview")["commands"] == 0
    assert refusals.get("/v1/overview", "window=1h")["rejected"] == rejected


def test_verdicts_come_newest_first_by_pages(refusals: Asked) -> None:
    whole = refusals.get("/v1/verdicts")
    VerdictPage.model_validate(whole)
    assert len(whole["items"]) >= 6
    assert whole["next"] is None
    items: list[Json] = []
    cursor = ""
    while True:
        page = refusals.get("/v1/verdicts", f"limit=2{cursor}")
        items += page["items"]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert items == whole["items"]
    times = [item["at"] for item in items]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("member", ["protocol", "verdict", "rule", "fault", "principal", "agent"])
def test_verdicts_are_filtered_by_each_member(refusals: Asked, member: str) -> None:
    items = refusals.get("/v1/verdicts")["items"]
    values = {item[member] for item in items} - {None}
    assert values
    for value in values:
        page = refusals.get("/v1/verdicts", f"{member}={value}")
        assert page["items"] == [item for item in items if item[member] == value]


def test_verdicts_are_filtered_by_time(refusals: Asked) -> None:
    items = refusals.get("/v1/verdicts")["items"]
    newest, oldest = items[0]["at"], items[-1]["at"]
    between = refusals.get("/v1/verdicts", f"from={oldest}&to={newest}")["items"]
    assert between == [item for item in items if oldest <= item["at"] < newest]
    assert refusals.get("/v1/verdicts", f"from={newest}&rule=packet_conflict")["items"] == [
        item for item in items if item["at"] == newest and item["rule"] == "packet_conflict"
    ]


def test_pages_end_when_they_have_read_enough(
    refusals: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.routes.verdicts.MOST_READ", 2)
    every = refusals.get("/v1/verdicts")
    assert len(every["items"]) == 2
    items, cursor = [], ""
    for _ in range(20):
        page = refusals.get("/v1/verdicts", f"verdict=duplicate{cursor}")
        items += page["items"]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert items
    assert page["next"] is None


@pytest.mark.parametrize(
    "query",
    ["verdict=accepted", "from=yesterday", "limit=0", "protocol=http", "cursor=AAAA", "window=1h"],
)
def test_bad_filters_are_named(refusals: Asked, query: str) -> None:
    name = query.partition("=")[0]
    assert refusals.problem("/v1/verdicts", query) == (422, "query_value", name)


def test_agents_are_listed_and_filtered(system: Asked) -> None:
    page = system.get("/v1/agents")
    AgentPage.model_validate(page)
    items = page["items"]
    for item in items:
        named = system.get("/v1/agents", f"q={item['agent'][1:]}&protocol={item['protocol']}")
        assert item in named["items"]
    if items:
        first = system.get("/v1/agents", "limit=1")
        assert first["items"] == items[:1]
        if len(items) > 1:
            others = system.get("/v1/agents", f"cursor={first['next']}")
            assert others["items"] == items[1:]
    for item in items:
        since = system.get("/v1/agents", f"from={item['last_at']}")["items"]
        assert since == [each for each in items if each["last_at"] >= item["last_at"]]


def test_search_has_the_exact_id_first(system: Asked) -> None:
    for fact in facts(system.log, *COMMAND_FACTS):
        node, id = thing(fact)
        if node is None or len(id) < 4:
            continue
        exact = system.get("/v1/search", f"q={id}")
        SearchResults.model_validate(exact)
        assert (node, "exact") in {(item["node"], item["match"]) for item in exact["items"]}
        matches = [item["match"] for item in exact["items"]]
        assert matches == sorted(matches)
        begun = system.get("/v1/search", f"q={id[:-1]}&limit=100")["items"]
        assert (node, "prefix") in {(item["node"], item["match"]) for item in begun}
        assert system.get("/v1/search", f"q={node}")["items"][0]["node"] == node


def thing(fact: Fact) -> tuple[str | None, str]:
    kinds = {
        "apc.events": ("apc:packet", "packet_id"),
        "sap.acks": ("sap:task", "taskId"),
        "asap.events": ("asap:task", "task_id"),
        "summit.events": ("summit:run", "runId"),
        "saop.verdicts": ("saop:task", "task_id"),
    }
    kind, member = kinds.get(fact.topic, ("", ""))
    id = fact.value.get(member)
    if id is None or fact.value.get("subject") == "manifest":
        return None, ""
    return f"{kind}:{id}", str(id)


def test_search_knows_positions_agents_and_traces(system: Asked) -> None:
    fact = next(facts(system.log, *COMMAND_FACTS, "rtes.events"))
    (item,) = system.get("/v1/search", f"q={fact.position}")["items"]
    assert (item["node"], item["kind"], item["match"]) == (fact.position, "record", "exact")
    assert system.get("/v1/search", f"q={fact.record.topic}/0/99999")["items"] == []
    for row in system.get("/v1/agents")["items"]:
        if len(row["agent"]) > 3:
            items = system.get("/v1/search", f"q={row['agent']}")["items"]
            assert ("agent", "exact") in {(each["kind"], each["match"]) for each in items}


def test_a_search_for_little_is_refused(refusals: Asked) -> None:
    assert refusals.problem("/v1/search", "q=ab") == (422, "query_value", "q")
    assert refusals.problem("/v1/search", "q=" + 201 * "a") == (422, "query_value", "q")
    assert json.dumps(refusals.get("/v1/search", "q=nothing-like-it")["items"]) == "[]"
