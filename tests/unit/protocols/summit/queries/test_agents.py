"""Agents, their versions, and the facts about their manifests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.engine.records import Output
from tests.unit.protocols.summit.queries.stage import (
    AGENT,
    HASHES,
    MANIFESTS,
    critic,
    manifest,
    registered,
)
from tests.unit.views.bench import Bench

Json = dict[str, Any]
AGENTS = "/v1/summit/agents"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.close()


def withdraw(bench: Bench, name: str = AGENT) -> None:
    bench.log.append([Output(MANIFESTS, name.encode(), None)])
    bench.host.run()


def ids(page: Json) -> list[str]:
    return [agent["agentId"] for agent in page["items"]]


def test_an_agent_is_shown_with_its_manifest(bench: Bench) -> None:
    registered(bench)
    agent = bench.look(f"{AGENTS}/{AGENT}")
    assert (agent["version"], agent["state"]) == ("1.2.0", "registered")
    assert agent["manifestHash"] == HASHES["manifestHash"]
    assert agent["manifest"] == manifest(resources={})


def test_versions_are_kept(bench: Bench) -> None:
    registered(bench)
    bench.send(MANIFESTS, manifest(version="1.3.0"))
    assert bench.look(f"{AGENTS}/{AGENT}")["version"] == "1.3.0"
    assert bench.look(f"{AGENTS}/{AGENT}", "version=1.2.0")["version"] == "1.2.0"
    answer = bench.get(f"{AGENTS}/{AGENT}", "version=9.9.9")
    assert (answer.status, answer.body["rule"]) == (404, "agent.unknown")


def test_an_agent_that_is_not_there(bench: Bench) -> None:
    assert bench.get(f"{AGENTS}/nobody").status == 404
    assert bench.look(f"{AGENTS}/nobody/events") == {"items": [], "next": None}


def test_a_withdrawn_agent_is_still_shown(bench: Bench) -> None:
    registered(bench)
    withdraw(bench)
    assert bench.look(f"{AGENTS}/{AGENT}")["state"] == "withdrawn"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["a-agent", "fact-check", AGENT]),
        ("role=critic", ["fact-check"]),
        ("role=x-text", ["a-agent", AGENT]),
        ("capability=text%3Acount", ["fact-check", AGENT]),
        ("capability=web%3Asearch", ["a-agent"]),
        ("state=registered", ["a-agent", "fact-check"]),
        ("state=withdrawn", [AGENT]),
        ("role=x-text&state=withdrawn", [AGENT]),
        ("role=writer", []),
    ],
)
def test_agents_are_found_by_what_they_are(bench: Bench, query: str, expected: list[str]) -> None:
    registered(bench, critic(), manifest("a-agent", capabilities=["web:search"]))
    withdraw(bench)
    assert ids(bench.look(AGENTS, query)) == expected


def test_agents_come_in_pages(bench: Bench) -> None:
    registered(bench, critic(), manifest("a-agent"))
    page = bench.look(AGENTS, "limit=2")
    second = bench.look(AGENTS, f"limit=2&cursor={page['next']}")
    assert (ids(page), ids(second), second["next"]) == (["a-agent", "fact-check"], [AGENT], None)


def test_events_of_an_agent_are_those_about_its_manifests(bench: Bench) -> None:
    registered(bench)
    bench.send(MANIFESTS, manifest(), manifest(role="writer"))
    withdraw(bench)
    withdraw(bench)
    events = bench.look(f"{AGENTS}/{AGENT}/events")["items"]
    assert [event["rule"] for event in events] == [
        "manifest.accepted",
        "manifest.duplicate",
        "manifest.version_conflict",
        "manifest.withdrawn",
        "manifest.not_registered",
    ]
    assert {event["subject"] for event in events} == {"manifest"}
