"""Lists of tasks: their order, pages, filters, and what is refused."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.doors.a2a.bench import (
    A2aBench,
    Json,
    a2a_bench,
    reply,
    start,
)
from tests.unit.protocols.summit.queries.stage import OUTPUT, progress, result


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[A2aBench]:
    with a2a_bench(tmp_path) as each:
        yield each


def test_list_of_tasks(bench: A2aBench) -> None:
    """Tasks come by their last change, page by page, each once though one changes meanwhile."""
    names = [start(bench, message_id=f"m-{n}", contextId=f"c-{n % 2}") for n in range(5)]
    reply(bench, result(names[0]))
    first = bench.result("ListTasks", {"pageSize": 2})
    assert [each["id"] for each in first["tasks"]] == [names[0], names[4]]
    assert (first["pageSize"], first["totalSize"]) == (2, 5)
    assert "history" not in first["tasks"][0]
    assert "artifacts" not in first["tasks"][0]
    reply(bench, progress(names[3]))
    more = bench.result("ListTasks", {"pageSize": 5, "pageToken": first["nextPageToken"]})
    assert [each["id"] for each in more["tasks"]] == [names[2], names[1]]
    assert more["nextPageToken"] == ""


def test_filters_of_lists(bench: A2aBench) -> None:
    """Check that a list is of one context, one state or one time on, and may show outputs."""
    names = [start(bench, message_id=f"m-{n}", contextId=f"c-{n % 2}") for n in range(3)]
    reply(bench, result(names[1]))

    def listed(**request: Any) -> list[str]:
        return [each["id"] for each in bench.result("ListTasks", request)["tasks"]]

    assert listed(contextId="c-0") == [names[2], names[0]]
    assert listed(status="TASK_STATE_COMPLETED") == [names[1]]
    assert listed(status="TASK_STATE_REJECTED") == []
    sizes = [
        bench.result("ListTasks", query)["totalSize"]
        for query in (
            {"status": "TASK_STATE_REJECTED"},
            {"status": "TASK_STATE_SUBMITTED"},
            {"status": "TASK_STATE_SUBMITTED", "contextId": "c-1"},
            {"contextId": "c-0", "pageSize": 1},
        )
    ]
    assert sizes == [0, 2, 0, 2]
    since = bench.result("GetTask", {"id": names[1]})["status"]["timestamp"]
    assert listed(statusTimestampAfter=since) == [names[1]]
    path = "/a2a/word-stats/tasks?status=TASK_STATE_COMPLETED&includeArtifacts=true"
    (task,) = bench.ask("GET", path).json()["tasks"]
    assert task["artifacts"][0]["parts"][0]["data"] == OUTPUT


@pytest.mark.parametrize(
    ("request_value", "rule"),
    [
        ({"pageSize": 0}, "a2a.page_size"),
        ({"pageSize": 101}, "a2a.page_size"),
        ({"pageToken": "x"}, "a2a.page_token"),
        ({"pageToken": "é"}, "a2a.page_token"),
        ({"status": "TASK_STATE_GONE"}, "a2a.shape"),
        ({"statusTimestampAfter": "yesterday"}, "a2a.shape"),
    ],
)
def test_lists_that_are_refused(bench: A2aBench, request_value: Json, rule: str) -> None:
    """Check that a wrong page, token, state or time is named by its rule."""
    assert bench.error("ListTasks", request_value)["data"][0]["metadata"]["rule"] == rule


def test_token_of_another_list(bench: A2aBench) -> None:
    """Check that a page token counts for the list that has given it."""
    for number in range(2):
        start(bench, message_id=f"m-{number}")
    token = bench.result("ListTasks", {"pageSize": 1})["nextPageToken"]
    error = bench.error("ListTasks", {"pageToken": token, "contextId": "c-1"})
    assert error["data"][0]["metadata"]["rule"] == "a2a.page_token"


@pytest.mark.parametrize("at", [-1, 2**53, 2**63, None, "1"])
def test_token_that_somebody_has_made(bench: A2aBench, at: Any) -> None:
    """Check that a token with a time that no task has is refused, not read."""
    for number in range(2):
        start(bench, message_id=f"m-{number}")
    token = bench.result("ListTasks", {"pageSize": 1})["nextPageToken"]
    digest, _, task_id = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    forged = base64.urlsafe_b64encode(json.dumps([digest, at, task_id]).encode()).decode()
    error = bench.error("ListTasks", {"pageToken": forged})
    assert error["data"][0]["metadata"]["rule"] == "a2a.page_token"
