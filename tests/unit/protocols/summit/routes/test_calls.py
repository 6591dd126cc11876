"""`POST /summit`: calls and what comes of them (Summit guide, 6.1)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocols.summit.queries.stage import (
    AGENT,
    HASHES,
    MADE,
    NO_COST,
    RESULT,
    RUN,
    Json,
    cancel,
    failure,
    invoke,
    manifest,
    progress,
    query,
    result,
    tool_call,
)
from tests.unit.protocols.summit.routes.summit_bench import (
    CALLS,
    MANIFESTS,
    REPLIES,
    RUNS,
    SummitBench,
)


@pytest.fixture
def ready(summit: SummitBench) -> SummitBench:
    """The example's agent is registered."""
    (fact,) = summit.send_and_await(MANIFESTS, manifest())
    assert fact["rule"] == "manifest.accepted"
    return summit


@pytest.fixture
def served(ready: SummitBench) -> SummitBench:
    """And it answers."""
    ready.agent()
    return ready


def test_the_worked_example_is_answered_as_printed(served: SummitBench) -> None:
    assert served.call(invoke()) == {"jsonrpc": "2.0", "id": "q-31", "result": RESULT}


def test_a_tool_answers_with_the_id_of_its_call(served: SummitBench) -> None:
    response = served.call(tool_call())
    assert response == {"jsonrpc": "2.0", "id": 7, "result": {"id": "t/1", "output": "to-be"}}


def test_positions_and_the_preference_applied_come_back(served: SummitBench) -> None:
    answer = served.post(invoke(), prefer=15)
    assert answer.headers["preference-applied"] == "wait=15"
    position = answer.headers["headrace-position"]
    assert position.startswith("summit.calls/")
    run = served.get(f"{RUNS}/{RUN}")
    assert run["evidence"]["callPosition"] == position
    assert "preference-applied" not in served.post(invoke()).headers
    response = served.post(query("agent.list"), prefer=15)
    assert not {"headrace-position", "preference-applied"} & set(response.headers)


def test_a_long_preference_is_cut(served: SummitBench) -> None:
    assert served.post(invoke(), prefer=99_999).headers["preference-applied"] == "wait=600"


def test_a_run_that_has_not_ended_is_told_where_to_ask(ready: SummitBench) -> None:
    ready.result(query("agent.status", agentId=AGENT))
    (accepted,) = ready.send_and_await(CALLS, invoke())
    error = ready.error(invoke(), prefer=0)
    assert (error["code"], error["message"]) == (-32001, "Run not finished")
    data = error["data"]
    assert (data["rule"], data["runId"], data["poll"]) == ("run.pending", RUN, "agent.status")
    assert data["position"] != accepted["cause"]
    assert data["status"] in (None, "queued")
    assert set(data) == {"rule", "runId", "status", "poll", "position"}


def test_a_run_under_way_is_told_with_its_status(ready: SummitBench) -> None:
    ready.send_and_await(CALLS, invoke())
    ready.send_and_await(REPLIES, progress())
    error = ready.error(invoke(), prefer=1)
    assert (error["code"], error["data"]["status"]) == (-32001, "running")


def test_a_repeated_call_gets_the_result_of_the_first(served: SummitBench) -> None:
    first = served.result(invoke())
    again = {**invoke(), "id": 4}
    assert served.call(again) == {"jsonrpc": "2.0", "id": 4, "result": first}


def test_a_repeated_call_waits_for_the_first(ready: SummitBench) -> None:
    ready.send_and_await(CALLS, invoke())
    ready.agent()
    assert ready.result(invoke())["status"] == "completed"


def test_another_call_under_the_same_id_is_a_conflict(served: SummitBench) -> None:
    served.result(invoke())
    error = served.error(invoke(inputs={"text": "other"}))
    assert (error["code"], error["data"]["rule"]) == (-32003, "run.conflict")
    assert error["data"]["runId"] == RUN


@pytest.mark.parametrize(
    ("call", "code", "rule"),
    [
        (invoke(agent="nobody"), -32004, "agent.unknown"),
        (tool_call(name="sing"), -32006, "tool.unknown"),
        (cancel("none"), -32002, "run.unknown"),
    ],
)
def test_what_the_log_refuses(ready: SummitBench, call: Json, code: int, rule: str) -> None:
    error = ready.error(call)
    assert (error["code"], error["data"]["rule"]) == (code, rule)
    assert error["message"].partition(": ")[2]
    assert error["data"]["position"].startswith("summit.calls/")


def test_inputs_that_break_the_schema_are_told_path_by_path(ready: SummitBench) -> None:
    error = ready.error(invoke(inputs={"top": 12, "loud": True}))
    assert error["code"] == -32602
    assert error["message"].startswith("Invalid params: ")
    assert error["data"]["rule"] == "inputs.schema"
    assert error["data"]["errors"] == [
        {"path": "/params/inputs/loud", "keyword": "additionalProperties"},
        {"path": "/params/inputs/text", "keyword": "required"},
        {"path": "/params/inputs/top", "keyword": "maximum"},
    ]


def test_a_withdrawn_agent_takes_no_calls(ready: SummitBench) -> None:
    headers = {"Prefer": "wait=20"}
    gone = ready.ask("DELETE", f"{MANIFESTS}/{AGENT}", headers=headers)
    assert [fact["rule"] for fact in gone.json()["verdicts"]] == ["manifest.withdrawn"]
    error = ready.error(invoke())
    assert (error["code"], error["data"]["rule"]) == (-32004, "agent.withdrawn")


def test_a_run_that_ends_badly_answers_with_a_result(ready: SummitBench) -> None:
    ready.agent(lambda call: [failure(call["params"]["runId"])])
    assert ready.result(invoke()) == {
        "status": "failed",
        "metrics": NO_COST,
        "provenance": MADE,
        "error": {"code": 1, "message": "it broke"},
    }


def test_a_refused_output_is_never_passed_on(ready: SummitBench) -> None:
    ready.agent(lambda call: [result(call["params"]["runId"], {"words": "six"})])
    run_json = ready.result(invoke())
    assert (run_json["status"], run_json["error"]["code"]) == ("failed", -32010)
    assert "output" not in run_json
    assert run_json["error"]["data"]["errors"] == [{"path": "/output/words", "keyword": "type"}]


def test_an_overspent_run_says_so(ready: SummitBench) -> None:
    ready.agent(lambda call: [result(metrics={"tokens": 0, "cost_usd": 0.01})])
    run_json = ready.result(invoke())
    assert (run_json["status"], run_json["error"]["code"]) == ("budget_exceeded", -32013)
    assert run_json["metrics"]["cost_usd"] == 0.01


def test_a_tool_that_fails_says_so(ready: SummitBench) -> None:
    ready.agent(lambda call: [failure("tool-1")])
    assert ready.result(tool_call()) == {
        "id": "t/1",
        "error": {"code": 1, "message": "it broke"},
    }


def test_the_agents_own_verification_comes_with_the_result(ready: SummitBench) -> None:
    checks = [{"name": "tone", "passed": True}, {"name": "sources", "passed": False}]
    ready.agent(lambda call: [result(verification={"status": "passed", "checks": checks})])
    assert ready.result(invoke())["verification"] == {"status": "failed", "checks": checks}


def test_a_cancel_waits_for_its_verdict(ready: SummitBench) -> None:
    ready.send_and_await(CALLS, invoke())
    assert ready.result(cancel(), prefer=0) == {"runId": RUN, "status": "cancelled"}
    assert ready.result({**cancel(), "id": 2}) == {"runId": RUN, "status": "cancelled"}
    ended = ready.result(invoke())
    assert (ended["status"], ended["error"]["code"]) == ("cancelled", -32014)


def test_a_cancel_of_an_ended_run(served: SummitBench) -> None:
    served.result(invoke())
    error = served.error(cancel())
    assert (error["code"], error["data"]["rule"]) == (-32005, "run.terminal")
    assert error["data"]["status"] == "completed"


def test_only_the_caller_cancels(ready: SummitBench) -> None:
    ready.send_and_await(CALLS, {**invoke(), "caller": "desk-7"})
    for caller in ({}, {"caller": "desk-8"}):
        error = ready.error({**cancel(), **caller})
        assert (error["code"], error["data"]["rule"]) == (-32007, "cancel.not_caller")
    assert ready.result({**cancel(), "caller": "desk-7"})["status"] == "cancelled"


def test_a_notification_is_carried_out_and_not_answered(ready: SummitBench) -> None:
    ready.send_and_await(CALLS, invoke())
    notification = {k: v for k, v in cancel().items() if k != "id"}
    answer = ready.post(notification)
    assert (answer.status_code, answer.content) == (204, b"")
    position = answer.headers["headrace-position"]
    assert ready.get(f"{RUNS}/{RUN}", after=position)["status"] == "cancelled"


def test_a_notification_that_is_refused_is_not_answered_either(ready: SummitBench) -> None:
    notification = {"jsonrpc": "2.0", "method": "agent.cancel", "params": {"runId": "none"}}
    position = ready.post(notification).headers["headrace-position"]
    (event,) = ready.get(f"{RUNS}/none/events", after=position)["items"]
    assert (event["rule"], event["verdict"]) == ("run.unknown", "rejected")
    bad = {**notification, "params": {"runId": "?"}}
    answer = ready.post(bad)
    assert (answer.status_code, "headrace-position" in answer.headers) == (204, False)


def test_any_other_request_needs_an_id(ready: SummitBench) -> None:
    bare = {k: v for k, v in invoke().items() if k != "id"}
    response = ready.call(bare)
    assert (response["id"], response["error"]["code"]) == (None, -32600)
    assert response["error"]["data"]["rule"] == "rpc.id_required"
    assert not ready.bench.records("summit.calls")


def test_a_batch_is_answered_in_its_order(served: SummitBench) -> None:
    notification = {k: v for k, v in cancel("b-2").items() if k != "id"}
    batch: list[Any] = [
        query("agent.status", runId="b-1"),
        {**invoke("b-1"), "id": "one"},
        notification,
        4,
        {**invoke("b-3", agent="nobody"), "id": "three"},
        {**tool_call("b-4"), "id": "four"},
    ]
    answer = served.post(batch)
    first, one, wrong, three, four = answer.json()
    assert (first["id"], first["result"]["status"]) == (1, "completed")
    assert (one["id"], one["result"]) == ("one", RESULT)
    assert (wrong["id"], wrong["error"]["data"]["rule"]) == (None, "rpc.shape")
    assert (three["id"], three["error"]["data"]["rule"]) == ("three", "agent.unknown")
    assert (four["id"], four["result"]["output"]) == ("four", "to-be")
    positions = answer.headers["headrace-position"].split(",")
    assert len(positions) == 4
    events = served.get(f"{RUNS}/b-1/events")["items"]
    assert events[0]["cause"] == positions[0]


def test_a_batch_has_one_deadline(ready: SummitBench) -> None:
    batch = [{**invoke(f"b-{n}"), "id": n} for n in range(5)]
    codes = [each["error"]["code"] for each in ready.call(batch, prefer=1)]
    assert codes == [-32001] * 5


def test_a_batch_of_notifications_alone(ready: SummitBench) -> None:
    notification = {k: v for k, v in cancel("none").items() if k != "id"}
    answer = ready.post([notification, notification])
    assert (answer.status_code, answer.content) == (204, b"")
    assert len(answer.headers["headrace-position"].split(",")) == 2


def test_a_result_is_that_of_the_manifest_at_acceptance(ready: SummitBench) -> None:
    ready.send_and_await(CALLS, invoke())
    ready.send_and_await(MANIFESTS, manifest(version="2.0.0", tools=[]))
    ready.agent()
    assert ready.result(invoke()) == RESULT
    evidence = ready.get(f"{RUNS}/{RUN}")["evidence"]
    assert (evidence["manifestVersion"], evidence["manifestHash"]) == (
        "1.2.0",
        HASHES["manifestHash"],
    )
