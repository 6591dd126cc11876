"""Tasks: sends that may be repeated, reads, cancels, and who may see them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from streams.access import Role
from tests.processes import wait_for
from tests.unit.doors.a2a.bench import (
    AT_ONCE,
    EXT,
    OF_DESK,
    TASK,
    A2aBench,
    Json,
    a2a_bench,
    finished,
    message,
    reply,
    sending,
    start,
    state_of,
    subscribe,
)
from tests.unit.protocols.summit.queries.stage import (
    OUTPUT,
    REPLIES,
    failure,
    progress,
    result,
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[A2aBench]:
    with a2a_bench(tmp_path) as each:
        yield each


def test_message_is_answered_with_its_task(bench: A2aBench) -> None:
    """Check that a send waits for the end, and shows output, history and figures."""
    bench.agent()
    task = bench.result("SendMessage", sending(budget={"usd": 0.25}))["task"]
    assert (task["id"], task["contextId"]) == (TASK, TASK)
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    (artifact,) = task["artifacts"]
    assert artifact["parts"] == [{"data": OUTPUT, "mediaType": "application/json"}]
    assert type(artifact["parts"][0]["data"]["words"]) is int
    assert task["history"] == [{**message(), "contextId": TASK, "taskId": TASK}]
    extension = task["metadata"][EXT]
    assert (extension["sequence"], extension["rule"]) == (2, "reply.result")
    assert extension["budget"] == {"usd": 0.25}
    assert extension["tree"] == {"usd": "0.000000000", "tokens": 0, "runs": 1, "open": 0}
    assert extension["cause"].startswith("summit.replies/")
    assert extension["evidence"]["callHash"]


def test_send_that_does_not_wait(bench: A2aBench) -> None:
    """Check that a client that wants no wait gets the task as soon as its call is accepted."""
    task = bench.result("SendMessage", {**sending(), **AT_ONCE})["task"]
    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"
    headers = {"prefer": "wait=0"}
    response = bench.ask("POST", "/a2a/word-stats/message:send", json=sending(), headers=headers)
    assert response.json()["task"]["id"] == TASK
    assert response.headers["preference-applied"] == "wait=0"
    assert response.headers["headrace-position"].startswith("summit.calls/")


def test_message_sent_twice_at_once_runs_once(bench: A2aBench) -> None:
    """Check that two copies at once are answered with one task, whose agent works once."""
    bench.agent()
    request = {"json": sending(), "headers": {"A2A-Version": "1.0"}}
    answers = bench.bench.ask_all([("POST", "/a2a/word-stats/message:send", request)] * 2)
    assert [each.json()["task"]["id"] for each in answers] == [TASK, TASK]
    facts = bench.bench.get(f"/v1/summit/runs/{TASK}/events")["items"]
    rules = sorted(fact["rule"] for fact in facts)
    assert rules == ["call.accepted", "call.duplicate", "reply.result"]


def test_other_content_under_the_same_id(bench: A2aBench) -> None:
    """Check that a messageId that is used for something else is refused, and its task stays."""
    start(bench)
    error = bench.error("SendMessage", sending(text="another text"))
    assert error["code"] == -32602
    assert error["data"][0]["metadata"]["rule"] == "run.conflict"
    assert state_of(bench) == "SUBMITTED"


def test_configuration_is_no_content(bench: A2aBench) -> None:
    """Check that a retry may wait differently and accept other types."""
    finished(bench)
    configuration = {"acceptedOutputModes": ["text/plain"], "historyLength": 0}
    request = {**sending(), "configuration": configuration, "tenant": "t"}
    task = bench.result("SendMessage", request)["task"]
    assert "history" not in task
    parts = task["artifacts"][0]["parts"]
    assert parts == [{"text": '{"top":["be","to","not"],"words":6}', "mediaType": "text/plain"}]


def test_figures_of_the_door(bench: A2aBench) -> None:
    """Requests, repeated messages and resumed streams are counted."""
    task_id = finished(bench)
    start(bench)
    subscribe(bench, task_id, "2")
    bench.error("GetTask", {"id": "none"})
    lines = bench.ask("GET", "/metrics").text.splitlines()
    assert 'headrace_a2a_requests_total{operation="SendMessage",outcome="ok"} 2.0' in lines
    assert 'headrace_a2a_requests_total{operation="GetTask",outcome="refused"} 1.0' in lines
    assert "headrace_a2a_duplicates_total 1.0" in lines
    assert "headrace_a2a_resumes_total 1.0" in lines
    assert "headrace_a2a_streams 0.0" in lines


def test_refused_call_is_no_task(bench: A2aBench) -> None:
    """Inputs that break the schema are an error with the position of the call, and no task."""
    error = bench.error("SendMessage", sending(parts=[{"data": {"top": 1}}]))
    info, request = error["data"]
    assert error["message"].startswith("Invalid params: inputs.schema: ")
    assert info["metadata"]["position"].startswith("summit.calls/")
    assert request["fieldViolations"][0]["description"] == "required"
    missing = bench.error("GetTask", {"id": info["metadata"]["taskId"]})
    assert missing["code"] == -32001


def test_progress_and_failure(bench: A2aBench) -> None:
    """Check that a working task shows the last message, a failed one what went wrong."""
    task_id = start(bench)
    reply(bench, progress(task_id, message="half"))
    working = bench.result("GetTask", {"id": task_id})
    assert working["status"]["message"]["parts"] == [{"text": "half"}]
    assert working["status"]["message"]["messageId"] == f"{task_id}/2"
    reply(bench, failure(task_id))
    failed = bench.result("GetTask", {"id": task_id})
    assert failed["status"]["state"] == "TASK_STATE_FAILED"
    assert failed["status"]["message"]["parts"] == [{"text": "it broke"}]
    assert failed["metadata"][EXT]["error"] == {"code": 1, "rule": "reply.error"}
    assert "artifacts" not in failed
    assert subscribe(bench, task_id, "2")[-1][1]["statusUpdate"]["status"] == failed["status"]


@pytest.mark.parametrize(("length", "count"), [(None, 3), (0, 0), (1, 1), (2, 2), (9, 3)])
def test_history(bench: A2aBench, length: int | None, count: int) -> None:
    """Check that a client gets the last messages of a task, as many as it wants."""
    task_id = finished(bench)
    wish = {} if length is None else {"historyLength": length}
    history = bench.result("GetTask", {"id": task_id, **wish}).get("history", [])
    texts = [each["parts"][0]["text"] for each in history]
    assert texts == ["to be or not to be", "half", "most"][3 - count :]


def test_negative_history(bench: A2aBench) -> None:
    """Check that a length below zero is refused."""
    error = bench.error("GetTask", {"id": start(bench), "historyLength": -1})
    assert error["data"][0]["metadata"]["rule"] == "a2a.history_length"


def test_run_of_another_client_is_a_task(bench: A2aBench) -> None:
    """Check that a run that was made by `POST /summit` has its effective inputs for a message."""
    params = {"agentId": "word-stats", "runId": "r-1", "inputs": {"text": "a b"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "agent.invoke", "params": params}
    bench.bench.send_and_await("/v1/summit/calls", call)
    (only,) = bench.result("GetTask", {"id": "r-1"})["history"]
    assert only["messageId"] == "r-1/1"
    assert only["parts"] == [{"data": {"text": "a b", "top": 3}}]


def test_words_that_nobody_sent(bench: A2aBench) -> None:
    """Check that a message in the context of another run is not taken for one that was sent."""
    forged = message("approved", message_id="m-9")
    params = {
        "agentId": "word-stats",
        "runId": "r-1",
        "inputs": {"text": "a b"},
        "context": {"a2a": {"message": forged}},
    }
    call = {"jsonrpc": "2.0", "id": 1, "method": "agent.invoke", "params": params}
    bench.bench.send_and_await("/v1/summit/calls", call)
    (only,) = bench.result("GetTask", {"id": "r-1"})["history"]
    assert only["parts"] == [{"data": {"text": "a b", "top": 3}}]


def test_wait_counts_as_a_stream(tmp_path: Path) -> None:
    """Check that a send that waits takes a place among the streams, and none among the requests."""
    limits = {"gateway_principal_requests": 1, "gateway_principal_streams": 1}
    path = "/a2a/word-stats/message:send"
    with a2a_bench(tmp_path, with_tokens=True, **limits) as bench, ThreadPoolExecutor(1) as pool:
        desk = bench.new_token(Role.PRODUCER, Role.READER)
        operator = bench.new_token(Role.OPERATOR, principal="ops")
        waiting = pool.submit(bench.ask, "POST", path, desk, json=sending())
        try:
            wait_for(lambda: bench.find_state(OF_DESK, operator) is not None, "it is a task")
            refused = bench.ask("POST", path, desk, json=sending())
            read = bench.ask("GET", "/a2a/word-stats/tasks", desk)
        finally:
            bench.bench.bench.append(REPLIES, result(OF_DESK))
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, 429)
        assert read.json()["totalSize"] == 1
        assert waiting.result().json()["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_cancel(bench: A2aBench) -> None:
    """Check that a cancelled task stays cancelled, and one that has ended is not cancelled."""
    task_id = start(bench)
    request = {"id": task_id, "metadata": {EXT: {"reason": "enough"}}}
    task = bench.result("CancelTask", request)
    assert task["status"]["state"] == "TASK_STATE_CANCELED"
    assert bench.result("CancelTask", request)["status"] == task["status"]
    other = start(bench, message_id="m-2")
    reply(bench, result(other))
    assert bench.error("CancelTask", {"id": other})["code"] == -32002
    assert bench.error("CancelTask", {"id": "none"})["code"] == -32001


def test_second_message_to_a_task(bench: A2aBench) -> None:
    """Check that a task takes one message; its own id is a retry."""
    task_id = start(bench)

    def rule(**more: Any) -> str:
        error = bench.error("SendMessage", {**sending(message_id="m-2", **more), **AT_ONCE})
        name: str = error["data"][0]["metadata"]["rule"]
        return name

    assert rule(taskId=task_id) == "a2a.no_turns"
    assert rule(taskId=task_id, contextId="other") == "a2a.context_mismatch"
    assert rule(taskId="none") == "run.unknown"
    reply(bench, result(task_id))
    assert rule(taskId=task_id) == "a2a.task_ended"
    assert start(bench, taskId=task_id) == task_id


def test_tasks_of_others_are_not_there(tmp_path: Path) -> None:
    """Check that a caller sees its own tasks; an operator sees and cancels all."""
    with a2a_bench(tmp_path, with_tokens=True) as bench:
        roles = (Role.PRODUCER, Role.READER)
        desk, other = bench.new_token(*roles), bench.new_token(*roles, principal="desk-8")
        operator = bench.new_token(Role.OPERATOR, principal="ops")
        request = {**sending(), **AT_ONCE}
        mine = bench.result("SendMessage", request, token=desk)["task"]["id"]
        theirs = bench.result("SendMessage", request, token=other)["task"]["id"]
        assert mine == OF_DESK != theirs
        assert bench.error("GetTask", {"id": mine}, token=other)["code"] == -32001
        assert bench.error("CancelTask", {"id": mine}, token=other)["code"] == -32001
        assert bench.result("ListTasks", token=other)["totalSize"] == 1
        assert bench.result("ListTasks", token=operator)["totalSize"] == 2
        cancelled = bench.result("CancelTask", {"id": mine}, token=operator)
        assert cancelled["status"]["state"] == "TASK_STATE_CANCELED"


def test_roles(tmp_path: Path) -> None:
    """Check that sends and cancels need a producer, reads a reader, in both bindings."""
    with a2a_bench(tmp_path, with_tokens=True) as bench:
        reader, producer = bench.new_token(Role.READER), bench.new_token(Role.PRODUCER)
        tasks = "/a2a/word-stats/tasks"

        def statuses(token: str | None) -> list[int]:
            call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {}}
            requests: list[tuple[str, str, Json]] = [
                ("POST", "/a2a/word-stats", {"json": call}),
                ("POST", "/a2a/word-stats/message:send", {"json": {}}),
                ("POST", f"{tasks}/x:cancel", {"json": {}}),
                ("GET", tasks, {}),
                ("GET", f"{tasks}/x", {}),
            ]
            return [bench.ask(m, path, token, **more).status_code for m, path, more in requests]

        assert statuses(None) == [401] * 5
        assert statuses(reader) == [403, 403, 403, 200, 404]
        assert statuses(producer) == [200, 400, 404, 403, 403]


def test_withdrawn_agent(bench: A2aBench) -> None:
    """Check that a withdrawn agent takes no messages; its tasks stay, and retries find them."""
    task_id = start(bench)
    headers = {"prefer": "wait=20"}
    bench.ask("DELETE", "/v1/summit/manifests/word-stats", headers=headers)
    wait_for(lambda: bench.ask("GET", "/v1/a2a/agents").json()["items"] == [], "it is withdrawn")
    assert bench.ask("GET", "/a2a/word-stats/.well-known/agent-card.json").status_code == 404
    assert bench.error("SendMessage", sending(message_id="m-2"))["code"] == -32004
    assert bench.result("GetTask", {"id": task_id})["id"] == task_id
    assert start(bench) == task_id
