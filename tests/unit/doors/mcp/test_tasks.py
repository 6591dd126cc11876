"""Tests of the Tasks extension: handles, what they show, and what they call off."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.access import Role
from streams.doors.mcp.handles import Handle, load_keys, read_handle, write_handle
from streams.errors import SettingsError
from streams.settings import Settings
from tests.unit.doors.mcp.bench import LEGACY, MODERN, Json, McpBench, mcp_bench
from tests.unit.doors.mcp.gated import answer_and_judge, answer_only, gated_bench
from tests.unit.protocols.asap.queries.stage import request, response, update
from tests.unit.protocols.sap.queries.stage import result, task
from tests.unit.protocols.summit.queries.stage import AGENT

KEY = b"a key of thirty-two bytes or more"
TASKS = "io.modelcontextprotocol/tasks"
ASAP, SAP = "asap.envelopes", "sap.tasks"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBench]:
    folder = tmp_path_factory.mktemp("mcp")
    with mcp_bench(folder, mcp_task_after_ms=0, gateway_key=KEY.decode()) as bench:
        yield bench


def message(
    method: str, params: Json, *, with_tasks: bool = True, with_input: bool = True
) -> bytes:
    capabilities: Json = {"elicitation": {}} if with_input else {}
    if with_tasks:
        capabilities["extensions"] = {TASKS: {}}
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }
    named = {**params, "_meta": {**meta, **params.get("_meta", {})}}
    whole = {"jsonrpc": "2.0", "id": 1, "method": method, "params": named}
    return json.dumps(whole).encode()


def ask(bench: McpBench, method: str, params: Json, token: str | None = None, **how: bool) -> Json:
    """Return the response of JSON-RPC."""
    name = str(params.get("name") or params.get("taskId"))
    headers = {"mcp-protocol-version": MODERN, "mcp-method": method, "mcp-name": name}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    response = bench.post(message(method, params, **how), **headers)
    text = response.text
    if "data: " in text:
        text = text.partition("data: ")[2]
    answer: Json = json.loads(text)
    return answer


def send(bench: McpBench, topic: str, envelope: Json, wait: str = "outcome", **more: Any) -> Json:
    arguments = {"topic": topic, "envelope": envelope, "wait": wait, "wait_s": 20}
    answer = ask(bench, "tools/call", {"name": "send", "arguments": arguments}, **more)
    outcome: Json = answer["result"]
    return outcome


def get(bench: McpBench, task_id: str, **more: Any) -> Json:
    seen: Json = ask(bench, "tasks/get", {"taskId": task_id}, **more)["result"]
    return seen


def await_status(bench: McpBench, task_id: str, status: str) -> Json:
    deadline = time.monotonic() + 30
    while True:
        seen = get(bench, task_id)
        if seen["status"] == status:
            return seen
        assert time.monotonic() < deadline, seen


def test_a_task_of_sap_is_answered_by_a_handle_and_then_by_its_outcome(bench: McpBench) -> None:
    envelope = task(1)
    created = send(bench, SAP, envelope)
    assert created["resultType"] == "task"
    assert (created["status"], created["statusMessage"]) == ("working", "QUEUED")
    assert (created["ttlMs"], created["pollIntervalMs"]) == (None, 1000)
    assert "result" not in created
    assert created["_meta"]["dev.headrace/task-id"] == envelope["taskId"]
    text = base64.urlsafe_b64encode(envelope["taskId"].encode()).rstrip(b"=").decode()
    mac = hmac.digest(KEY, f"task\0\0s\0{envelope['taskId']}".encode(), "sha256")
    proof = base64.urlsafe_b64encode(mac).decode()[:22]
    assert created["taskId"] == f"t1.s.{text}.{proof}"
    assert get(bench, created["taskId"])["status"] == "working"
    send(bench, "sap.results", result(envelope), wait="verdict")
    seen = await_status(bench, created["taskId"], "completed")
    assert seen["resultType"] == "complete"
    answer = seen["result"]
    assert answer["isError"] is False
    body = answer["structuredContent"]
    assert (body["verdict"], body["state"]) == ("accepted", "SUCCEEDED")
    assert body["outcome"]["taskId"] == envelope["taskId"]


def test_a_failed_task_is_completed_with_an_error(bench: McpBench) -> None:
    envelope = task(2)
    created = send(bench, SAP, envelope)
    failure = result(envelope, "FAILED", error={"code": "E_MODEL", "message": "no answer"})
    send(bench, "sap.results", failure, wait="verdict")
    assert await_status(bench, created["taskId"], "completed")["result"]["isError"] is True


def test_a_task_is_cancelled_once(bench: McpBench) -> None:
    created = send(bench, SAP, task(3))
    for _ in range(2):
        answer = ask(bench, "tasks/cancel", {"taskId": created["taskId"]})
        assert answer.get("result", {}).get("resultType") == "complete", answer
    seen = await_status(bench, created["taskId"], "cancelled")
    assert "result" not in seen


def test_a_rejection_is_a_plain_result(bench: McpBench) -> None:
    refused = send(bench, SAP, {**task(4), "protocolVersion": "1.0"})
    assert refused["resultType"] == "complete"
    assert refused["isError"] is True


def test_clients_that_know_no_tasks_get_none(bench: McpBench) -> None:
    arguments = {"topic": SAP, "envelope": task(5), "wait": "outcome", "wait_s": 0.2}
    params = {"name": "send", "arguments": arguments}
    plain = ask(bench, "tools/call", params, with_tasks=False)["result"]
    assert plain["structuredContent"]["verdict"] == "accepted"
    answer = ask(bench, "tasks/get", {"taskId": "t1.s.eA.x"}, with_tasks=False)
    assert answer["error"]["code"] == -32021
    assert TASKS in answer["error"]["data"]["requiredCapabilities"]["extensions"]


def test_older_versions_have_no_such_method(bench: McpBench) -> None:
    whole = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": "t1"}}
    response = bench.post(json.dumps(whole).encode(), mcp_protocol_version=LEGACY)
    assert "-32601" in response.text


def test_the_header_names_the_task(bench: McpBench) -> None:
    names = {"mcp-protocol-version": MODERN, "mcp-method": "tasks/get", "mcp-name": "other"}
    response = bench.post(message("tasks/get", {"taskId": "t1"}), **names)
    assert "-32020" in response.text


@pytest.mark.parametrize(
    "text", ["", "t1", "t1.s.eA.AAAA", "t1.x.eA.AAAA", "t1.s.\u00e4.A", "x" * 5000]
)
def test_texts_that_are_no_handles(text: str) -> None:
    assert read_handle([KEY], None, text) is None


def test_a_handle_is_of_one_principal_and_of_any_of_the_keys() -> None:
    handle = Handle("r", "run-1", True)
    text = write_handle([KEY], "kim", handle)
    assert read_handle([b"new" * 11, KEY], "kim", text) == handle
    assert read_handle([KEY], "ana", text) is None
    assert read_handle([KEY], None, text) is None
    assert read_handle([b"new" * 11], "kim", text) is None


def test_without_the_setting_the_state_directory_has_the_key(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path)
    (key,) = load_keys(settings)
    assert (len(key), load_keys(settings)) == (32, [key])
    assert (tmp_path / "mcp-task-key").stat().st_mode & 0o777 == 0o600


def test_keys_are_long_enough() -> None:
    with pytest.raises(SettingsError, match="GATEWAY_KEY"):
        Settings().assign({"GATEWAY_KEY": "short"})


def question(id: str, **input_request: Any) -> Json:
    return update(f"{id}-u2", "input_required", task=id, input_request=input_request)


def begin(bench: McpBench, id: str, *updates: Json) -> str:
    """Return the handle of a new task of ASAP."""
    created = send(bench, ASAP, request(id))
    for each in (update(f"{id}-u1", task=id), *updates):
        assert send(bench, ASAP, each, wait="verdict")["isError"] is False
    task_id: str = created["taskId"]
    return task_id


def test_a_question_is_answered(bench: McpBench) -> None:
    schema = {"type": "object", "properties": {"pages": {"type": "integer"}}}
    handle = begin(bench, "q1", question("q1", prompt="How many?", schema=schema))
    seen = await_status(bench, handle, "input_required")
    ((key, prompt),) = seen["inputRequests"].items()
    assert prompt["method"] == "elicitation/create"
    params = {"mode": "form", "message": "How many?", "requestedSchema": schema}
    assert prompt["params"] == params
    assert get(bench, handle, with_input=False)["status"] == "working"
    responses = {"no": {"action": "accept"}, key: {"action": "accept", "content": {"pages": 4}}}
    answer = ask(bench, "tasks/update", {"taskId": handle, "inputResponses": responses})
    assert answer["result"]["resultType"] == "complete", answer
    await_status(bench, handle, "working")
    again = ask(bench, "tasks/update", {"taskId": handle, "inputResponses": responses})
    assert again["result"]["resultType"] == "complete"
    send(bench, ASAP, response("q1-r", task="q1"), wait="verdict")
    body = await_status(bench, handle, "completed")["result"]["structuredContent"]
    assert body["outcome"]["result"] == {"pages": 4}


def test_a_question_of_another_form_is_asked_for_a_text_and_declined(bench: McpBench) -> None:
    handle = begin(bench, "q2", question("q2", schema={"type": "array"}))
    seen = await_status(bench, handle, "input_required")
    ((key, prompt),) = seen["inputRequests"].items()
    assert prompt["params"]["requestedSchema"]["required"] == ["reply"]
    ask(bench, "tasks/update", {"taskId": handle, "inputResponses": {key: {"action": "decline"}}})
    await_status(bench, handle, "cancelled")


def test_another_may_not_cancel(tmp_path: Path) -> None:
    with mcp_bench(tmp_path, with_tokens=True, mcp_task_after_ms=0) as bench:
        ana = bench.new_token(Role.PRODUCER, principal="ana")
        kim = bench.new_token(Role.PRODUCER, Role.OPERATOR, principal="kim")
        created = send(bench, SAP, task(1), token=ana)
        unknown = ask(bench, "tasks/get", {"taskId": created["taskId"]}, kim)
        assert unknown["error"]["data"]["rule"] == "task_unknown"
        refused = ask(bench, "tasks/cancel", {"taskId": created["taskId"]}, ana)
        assert refused["error"]["code"] == -32012, refused
        assert get(bench, created["taskId"], token=ana)["status"] == "working"


def test_a_gate_holds_the_result_until_the_critic_has_judged(tmp_path: Path) -> None:
    with gated_bench(tmp_path, mcp_task_after_ms=0) as gated:
        door = McpBench(gated, None)
        gated.agent(answer_only)
        handle = run_agent(door, "r-1")
        deadline = time.monotonic() + 30
        while get(door, handle)["statusMessage"] != "completed":
            assert time.monotonic() < deadline
        assert get(door, handle)["status"] == "working"
        gated.agent(answer_and_judge)
        seen = await_status(door, run_agent(door, "r-2"), "completed")
    assert seen["result"]["structuredContent"] == {"words": 6, "top": ["be"]}
    assert seen["result"]["_meta"]["dev.headrace/run"]["verification"]["status"] == "passed"


def run_agent(bench: McpBench, run_id: str) -> str:
    """Return the handle of a new run."""
    params = {
        "name": f"run_{AGENT}",
        "arguments": {"text": "to be or not to be", "top": 1},
        "_meta": {"dev.headrace/run-id": run_id},
    }
    task_id: str = ask(bench, "tools/call", params)["result"]["taskId"]
    return task_id
