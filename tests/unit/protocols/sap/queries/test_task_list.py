"""`GET /v1/sap/tasks`, and the explanation of one task over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocols.saop.queries.stage import items
from tests.unit.protocols.sap.queries.stage import (
    SapInboxAgent,
    cached,
    result,
    task,
    task_id,
)
from tests.unit.views.bench import Bench

PATH = "/v1/sap/tasks"
Json = dict[str, Any]


@pytest.fixture
def story(bench: Bench, inbox_agent: SapInboxAgent) -> Bench:
    """Tasks 1 to 4, of which the first is answered, and the refusal of another one."""
    bench.send("sap.tasks", cached(1))
    inbox_agent.work()
    bench.send("sap.tasks", task(2, issuer={"agentId": "bo", "agentKind": "agent"}))
    bench.send("sap.tasks", task(3, target={"capability": "nobody.there"}), task(4))
    bench.send("sap.results", result(task(9)))
    return bench


def numbers(rows: list[Json]) -> list[int]:
    by_id = {task_id(number): number for number in range(1, 10)}
    return [by_id[row["taskId"]] for row in rows]


def test_accepted_tasks_come_the_newest_first(story: Bench) -> None:
    rows = story.look(PATH)["items"]
    assert numbers(rows) == [4, 3, 2, 1]
    first = story.look(f"{PATH}/{task_id(1)}")
    last = rows[-1]
    common = set(last) & set(first)
    assert {name: last[name] for name in common} == {name: first[name] for name in common}
    assert set(last) - common == {"territory", "cacheState"}
    assert (last["territory"], last["cacheState"]) == ("NORDIC", first["cache"]["state"])


def test_tasks_come_in_pages(story: Bench) -> None:
    assert numbers(items(story, PATH)) == [4, 3, 2, 1]
    page = story.look(PATH, "limit=3")
    assert numbers(story.look(PATH, f"limit=3&cursor={page['next']}")["items"]) == [1]


@pytest.mark.parametrize(
    ("query", "listed"),
    [
        ("state=SUCCEEDED", [1]),
        ("state=QUEUED&issuer=ana", [4, 3]),
        ("issuer=bo", [2]),
        ("capability=nobody.there", [3]),
        ("capability=nobody.there&issuer=bo", []),
    ],
)
def test_tasks_by_state_issuer_and_capability(story: Bench, query: str, listed: list[int]) -> None:
    assert numbers(story.look(PATH, query)["items"]) == listed


def test_tasks_from_and_to_a_time(story: Bench) -> None:
    rows = story.look(PATH)["items"]
    third, second = rows[1]["acceptedAt"], rows[2]["acceptedAt"]
    assert numbers(story.look(PATH, f"from={third}")["items"]) == [4, 3]
    assert numbers(story.look(PATH, f"to={third}")["items"]) == [2, 1]
    assert numbers(story.look(PATH, f"from={second}&to={third}")["items"]) == [2]
    page = story.look(PATH, f"to={third}&limit=1")
    assert numbers(story.look(PATH, f"to={third}&cursor={page['next']}")["items"]) == [1]


@pytest.mark.parametrize("query", ["state=DONE", "from=yesterday", "issuer=", "limit=1001"])
def test_a_bad_query_is_refused(bench: Bench, query: str) -> None:
    answer = bench.get(PATH, query)
    assert (answer.status, answer.body["rule"]) == (422, "query_value")


def test_an_explanation_has_every_command_with_its_checks(story: Bench) -> None:
    explanation = story.look(f"{PATH}/{task_id(1).upper()}/explain")
    commands = explanation["commands"]
    assert (explanation["taskId"], explanation["state"]) == (task_id(1), "SUCCEEDED")
    assert [each["subject"] for each in commands] == ["TASK", "RESULT", "RESULT"]
    for each in commands:
        assert {check["outcome"] for check in each["checks"]} == {"passed"}
        assert each["evaluation"]["alignment"] == "VALID"
    assert [each["verdict"] for each in explanation["lookups"]] == ["miss", "stored"]
    assert [each["status"] for each in explanation["outcomes"]] == ["RUNNING", "SUCCEEDED"]


def test_an_explanation_of_a_refused_command(story: Bench) -> None:
    (command,) = story.look(f"{PATH}/{task_id(9)}/explain")["commands"]
    deciding = [check for check in command["checks"] if check["outcome"] == "failed"]
    assert [check["rule"] for check in deciding] == [command["rule"]] == ["unknown_task"]
    assert story.get(f"{PATH}/{task_id(8)}/explain").status == 404
