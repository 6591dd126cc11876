"""A2A in scenarios: each request is a line, answered with what is there at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from streams.doors.playing import SERVERS
from streams.play.scenario import Scenario, open_scenario
from streams.settings import Settings
from tests.unit.doors.a2a.bench import sending
from tests.unit.protocols.summit.queries.stage import OUTPUT, manifest, progress, result

Json = dict[str, Any]
TASK = "adaa3e69-07a4-506f-9423-e7166b1f2f47"
TASKS = f"/a2a/word-stats/tasks/{TASK}"


@pytest.fixture
def scenario() -> Iterator[Scenario]:
    settings = replace(Settings(), partitions=1)
    with open_scenario(settings, servers=SERVERS) as scenario:
        scenario.line(1, json.dumps({"topic": "summit.manifests", "value": manifest()}))
        yield scenario


def ask(scenario: Scenario, query: str, body: Any = None, **headers: str) -> Json:
    """Return the output of a line that asks."""
    line = {"query": query, "body": body, "headers": headers}
    text = json.dumps({name: value for name, value in line.items() if value})
    outputs = scenario.line(2, text)
    return next(output for output in outputs if "query" in output)


def test_message_and_its_task(scenario: Scenario) -> None:
    """Send a message, reply as the agent, and read the task."""
    sent = ask(scenario, "POST /a2a/word-stats/message:send", sending())
    assert sent["body"]["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"
    scenario.line(3, json.dumps({"topic": "summit.replies", "value": result(TASK)}))
    task = ask(scenario, f"GET {TASKS}")["body"]
    assert task["artifacts"][0]["parts"][0]["data"] == OUTPUT


def test_stream_is_a_list_of_events(scenario: Scenario) -> None:
    """Show the events that are there, while the task is open and after its end."""
    first = ask(scenario, "POST /a2a/word-stats/message:stream", sending())
    assert [event["id"] for event in first["body"]] == ["1"]
    for reply in (progress(TASK, message="half"), result(TASK)):
        scenario.line(3, json.dumps({"topic": "summit.replies", "value": reply}))
    headers = {"Last-Event-ID": "1"}
    later = ask(scenario, f"GET {TASKS}:subscribe", **headers)["body"]
    assert [event["id"] for event in later] == ["1", "2", "3a", "3"]
    assert later[-1]["data"]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_cards_and_refusals(scenario: Scenario) -> None:
    """Answer cards, agents and errors as a gateway does."""
    card = ask(scenario, "GET /.well-known/agent-card.json")["body"]
    assert card["name"] == "word-stats"
    (agent,) = ask(scenario, "GET /v1/a2a/agents")["body"]["items"]
    assert agent["agentId"] == "word-stats"
    assert ask(scenario, "GET /a2a/nobody/tasks")["status"] == 404
    assert ask(scenario, f"PUT {TASKS}")["status"] == 404
    old = ask(scenario, f"GET {TASKS}", **{"A2A-Version": "0.3"})
    assert old["body"]["error"]["details"][0]["metadata"]["rule"] == "a2a.version"
