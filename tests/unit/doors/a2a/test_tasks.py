"""Tasks: sends that may be repeated, reads, lists, cancels, and streams that resume."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from streams.access import Role
from tests.processes import wait_for
from tests.unit.doors.a2a.bench import (
    EXT,
    A2aBench,
    a2a_bench,
    events_in,
    message,
    sending,
)
from tests.unit.protocols.summit.queries.stage import (
    OUTPUT,
    REPLIES,
    failure,
    progress,
    result,
    words,
)

Json = dict[str, Any]
TASK = "adaa3e69-07a4-506f-9423-e7166b1f2f47"
OF_DESK = "02d866f5-abd4-5e91-8dac-1d4c791091ac"
"""The same message is this task when desk-7 sends it."""
AT_ONCE = {"configuration": {"returnImmediately": True}}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[A2aBench]:
    with a2a_bench(tmp_path) as each:
        yield each


def start(bench: A2aBench, **more: Any) -> str:
    """Send a message, a ms later, without waiting for its end; return the id of its task."""
    bench.bench.bench.tick()
    task_id: str = bench.result("SendMessage", {**sending(**more), **AT_ONCE})["task"]["id"]
    return task_id


def reply(bench: A2aBench, *replies: Json) -> None:
    """Reply as the agent, and wait until the view has seen the verdicts."""
    (*_, last) = bench.bench.bench.append(REPLIES, *replies)
    bench.bench.get("/v1/summit/agents", after=last)


def state_of(bench: A2aBench, task_id: str = TASK) -> str:
    state: str = bench.result("GetTask", {"id": task_id})["status"]["state"]
    return state.removeprefix("TASK_STATE_")


def finished(bench: A2aBench) -> str:
    """Make a task of four versions: queued, two messages of progress, completed."""
    task_id = start(bench)
    half = progress(task_id, "p-1", message="half", metrics={"tokens": 3, "cost_usd": 0.5})
    reply(bench, half, progress(task_id, "p-2", message="most"), result(task_id))
    return task_id


def subscribe(bench: A2aBench, task_id: str, last_id: str | None = None) -> list[tuple[str, Json]]:
    headers = {} if last_id is None else {"Last-Event-ID": last_id}
    response = bench.ask("GET", f"/a2a/word-stats/tasks/{task_id}:subscribe", headers=headers)
    assert response.headers["content-type"].startswith("text/event-stream"), response.text
    return events_in(response.text)


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


def test_stream_of_a_message(bench: A2aBench) -> None:
    """Check that a stream begins with the task, has each event once, and ends with the task."""
    bench.agent(lambda call: [progress(call["params"]["runId"], message="half"), *words(call)])
    response = bench.ask("POST", "/a2a/word-stats/message:stream", json=sending())
    events = events_in(response.text)
    first, last = events[0][1]["task"], events[-1][1]
    assert first["id"] == TASK
    assert (
        last["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
        if len(events) > 1
        else first["status"]["state"] == "TASK_STATE_COMPLETED"
    )
    ids = [event_id for event_id, _ in events]
    assert ["1", "2", "3a", "3"][-len(ids) :] == ids or ids == ["3"]
    assert response.headers["cache-control"] == "no-store"


def test_stream_resumes_at_each_event(bench: A2aBench) -> None:
    """Whatever event a client has seen last, the events after it are the same."""
    task_id = finished(bench)
    whole = subscribe(bench, task_id, "1")
    assert [event_id for event_id, _ in whole] == ["1", "2", "3", "4a", "4"]
    for place, (event_id, _) in enumerate(whole[:-1]):
        resumed = subscribe(bench, task_id, event_id)
        assert resumed[0][0] == event_id
        assert resumed[0][1]["task"]["metadata"][EXT]["id"] == event_id
        assert resumed[1:] == whole[place + 1 :]


def test_snapshot_as_of_an_event(bench: A2aBench) -> None:
    """Check that a resumed stream begins with the task as that event left it."""
    task_id = finished(bench)
    second, artifact = (subscribe(bench, task_id, each)[0][1]["task"] for each in ("2", "4a"))
    assert second["status"]["state"] == "TASK_STATE_WORKING"
    assert second["metadata"][EXT]["metrics"] == {"tokens": 3, "cost_usd": 0.5}
    assert len(second["history"]) == 2
    assert "artifacts" not in second
    assert artifact["status"]["state"] == "TASK_STATE_WORKING"
    assert artifact["artifacts"][0]["parts"][0]["data"] == OUTPUT


def test_events_of_a_task(bench: A2aBench) -> None:
    """Events name their sequence, their cause and their rule."""
    events = dict(subscribe(bench, finished(bench), "1"))
    half = events["2"]["statusUpdate"]
    assert half["status"]["message"]["parts"] == [{"text": "half"}]
    assert half["metadata"][EXT] == {
        "id": "2",
        "sequence": 2,
        "cause": half["metadata"][EXT]["cause"],
        "rule": "reply.progress",
        "metrics": {"tokens": 3, "cost_usd": 0.5},
    }
    artifact = events["4a"]["artifactUpdate"]
    assert artifact["lastChunk"] is True
    assert artifact["metadata"][EXT]["id"] == "4a"
    assert events["4"]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("last_id", ["0", "5", "2a", "04", "4b", "x", "1" * 16])
def test_event_that_the_task_never_had(bench: A2aBench, last_id: str) -> None:
    """Check that a cursor of another form, or beyond the task, is refused."""
    error = bench.error(
        "SubscribeToTask", {"id": finished(bench)}, headers={"Last-Event-ID": last_id}
    )
    assert error["data"][0]["metadata"]["rule"] == "a2a.cursor"


def test_end_of_a_stream_for_browsers(bench: A2aBench) -> None:
    """GET at the last event of an ended task has no content, so EventSource stops."""
    path = f"/a2a/word-stats/tasks/{finished(bench)}:subscribe"
    assert bench.ask("GET", path, headers={"Last-Event-ID": "4"}).status_code == 204
    again = bench.ask("POST", path, headers={"Last-Event-ID": "4"})
    assert [event_id for event_id, _ in events_in(again.text)] == ["4"]
    assert bench.ask("GET", path).json()["error"]["details"][0]["metadata"]["rule"] == (
        "a2a.task_ended"
    )


def test_streams_are_given_back(tmp_path: Path) -> None:
    """Check that a stream that has ended takes no place any more."""
    with a2a_bench(tmp_path, gateway_max_streams=1, gateway_principal_streams=1) as bench:
        task_id = finished(bench)
        for _ in range(3):
            assert len(subscribe(bench, task_id, "1")) == 5


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
