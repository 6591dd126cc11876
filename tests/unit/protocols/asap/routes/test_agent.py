"""An agent that is served on the log (ASAP guide, 6.3): its handlers run once, after acceptance."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi import FastAPI

from schemas.asap import (
    Envelope,
    Manifest,
    McpToolResult,
    TaskAlreadyCompletedError,
    TaskResponse,
    TaskStatus,
    TaskUpdate,
    UpdateType,
    reply_to,
)
from streams import HandlerRegistry, create_app, create_echo_handler
from streams.asap.on_log import LogStream
from streams.gateway.app import make_gateway
from streams.protocols.asap.rpc import GatewayHost
from tests.unit.asap.support import AGENT, PLANNER, Json, call, envelope_json, error, manifest, post
from tests.unit.protocols.asap.routes.asap_bench import AsapBench, from_requester

Handler = Callable[[Envelope, Manifest], Any]


class Agent:
    """The server of an agent, and how often its handler was called."""

    def __init__(self, bench: AsapBench, handler: Handler, name: str = "TaskRequest") -> None:
        self.calls = 0
        self._handler = handler
        registry = HandlerRegistry()
        registry.register(name, self._answer)
        gateway = make_gateway(bench.settings, bench.bench.log, bench.view, lambda: bench.bench.now)
        stream = LogStream(GatewayHost(gateway))
        self.app: FastAPI = create_app(manifest(), registry, stream=stream)
        self.stop = gateway.stop

    def _answer(self, envelope: Envelope, manifest: Manifest) -> Any:
        self.calls += 1
        return self._handler(envelope, manifest)


@pytest.fixture
def serve(bench: AsapBench) -> Iterator[Callable[..., Agent]]:
    agents: list[Agent] = []

    def make(handler: Handler, name: str = "TaskRequest") -> Agent:
        agents.append(Agent(bench, handler, name))
        return agents[-1]

    yield make
    for agent in agents:
        agent.stop()


def task_of(bench: AsapBench, of: Json, position: str) -> Json:
    return bench.get(f"/v1/asap/tasks/{of['id']}", after=position)


def test_a_request_is_handled_once_it_is_accepted(
    bench: AsapBench, serve: Callable[..., Agent]
) -> None:
    agent, of = serve(create_echo_handler()), envelope_json()
    result = post(agent.app, call(of))["result"]
    reply = result["envelope"]
    assert (result["verdict"], result["task_id"]) == ("accepted", of["id"])
    assert (reply["payload_type"], reply["sender"]) == ("TaskResponse", AGENT)
    assert reply["payload"]["result"] == {"echoed": {"pages": 42}}
    task = task_of(bench, of, result["position"])
    assert (task["task"]["status"], task["response"]["id"]) == ("completed", reply["id"])
    assert task["aliases"] == [reply["payload"]["task_id"]]
    again = post(agent.app, call(of))["result"]
    assert (again["verdict"], again["envelope"]["id"], agent.calls) == ("duplicate", reply["id"], 1)


def test_a_request_for_another_agent_is_not_handled(serve: Callable[..., Agent]) -> None:
    agent = serve(create_echo_handler())
    of = envelope_json(recipient="urn:asap:agent:other")
    result = post(agent.app, call(of))["result"]
    assert (result["envelope"]["payload"]["status"], agent.calls) == ("submitted", 0)
    assert result["envelope"]["sender"] == AGENT


def test_a_request_that_is_refused_is_not_handled(serve: Callable[..., Agent]) -> None:
    agent = serve(create_echo_handler())
    code, data = error(post(agent.app, call(envelope_json(asap_version="2.0"))))
    assert (code, data["rule"], agent.calls) == (-32602, "version_mismatch", 0)


@pytest.mark.parametrize(
    ("exc", "code", "asap_error"),
    [
        (RuntimeError("the disk is full"), -32603, "asap:execution/task_failed"),
        (TaskAlreadyCompletedError("t", "failed"), -32602, "asap:task/already_completed"),
    ],
)
def test_a_handler_that_raises_fails_the_task(
    bench: AsapBench,
    serve: Callable[..., Agent],
    exc: Exception,
    code: int,
    asap_error: str,
) -> None:
    def failing(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
        raise exc

    agent, of = serve(failing), envelope_json()
    error_code, data = error(post(agent.app, call(of)))
    assert (error_code, data["asap_error"], data["error"]) == (code, asap_error, str(exc))
    again = post(agent.app, call(of))["result"]
    response = again["envelope"]["payload"]
    assert (again["verdict"], response["status"], agent.calls) == ("duplicate", "failed", 1)
    assert response["result"] == {"error": str(exc), "type": type(exc).__name__}


def no_envelope(envelope: Envelope, agent_manifest: Manifest) -> Any:
    return {}


def another_s(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
    done = TaskResponse(task_id=envelope.id, status=TaskStatus.COMPLETED)
    return reply_to(envelope, done, sender=PLANNER)


def to_nobody(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
    done = TaskResponse(task_id=envelope.id, status=TaskStatus.COMPLETED)
    reply = reply_to(envelope, done, sender=agent_manifest.id)
    return reply.model_copy(update={"recipient": "urn:asap:agent:nobody"})


@pytest.mark.parametrize("handler", [no_envelope, another_s, to_nobody])
def test_a_reply_that_cannot_stand_fails_the_task(
    serve: Callable[..., Agent], handler: Handler
) -> None:
    agent, of = serve(handler), envelope_json()
    assert error(post(agent.app, call(of)))[0] == -32603
    again = post(agent.app, call(of))["result"]["envelope"]
    assert (again["sender"], again["payload"]["status"]) == (AGENT, "failed")


def test_a_task_that_ended_meanwhile_stays_as_it_is(
    bench: AsapBench, serve: Callable[..., Agent]
) -> None:
    def slow(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
        bench.result(from_requester("TaskCancel", envelope.id))
        done = TaskResponse(task_id=envelope.id, status=TaskStatus.COMPLETED)
        return reply_to(envelope, done, sender=agent_manifest.id)

    agent, of = serve(slow), envelope_json()
    code, data = error(post(agent.app, call(of)))
    assert (code, data["rule"]) == (-32603, "task_already_terminal")
    assert bench.result(of)["envelope"]["payload"]["status"] == "cancelled"


def test_a_handler_may_only_begin(bench: AsapBench, serve: Callable[..., Agent]) -> None:
    def begin(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
        update = TaskUpdate(
            task_id=envelope.id, update_type=UpdateType.PROGRESS, status=TaskStatus.WORKING
        )
        return reply_to(envelope, update, sender=agent_manifest.id)

    agent, of = serve(begin), envelope_json()
    result = post(agent.app, call(of))["result"]
    assert result["envelope"]["payload"]["status"] == "working"
    assert task_of(bench, of, result["position"])["task"]["status"] == "working"


def test_a_tool_is_called_once(bench: AsapBench, serve: Callable[..., Agent]) -> None:
    def hits(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
        tool_result = McpToolResult(request_id="r-1", success=True, result={"hits": 3})
        return reply_to(envelope, tool_result, sender=agent_manifest.id)

    agent, of = serve(hits, "McpToolCall"), envelope_json("McpToolCall")
    first, again = (post(agent.app, call(of))["result"] for _ in range(2))
    assert (first["verdict"], again["verdict"], agent.calls) == ("accepted", "duplicate", 1)
    assert first["envelope"]["payload"]["result"] == {"hits": 3}
    assert again["envelope"] == first["envelope"]
    assert bench.get("/v1/asap/calls/r-1")["state"] == "answered"


@pytest.mark.parametrize("name", ["TaskUpdate", "StateQuery", "TaskCancel"])
def test_handlers_of_other_types_are_not_called(
    bench: AsapBench, serve: Callable[..., Agent], name: str
) -> None:
    agent = serve(create_echo_handler(), name)
    of = envelope_json()
    bench.result(of)
    payload = {"task_id": of["id"]}
    if name == "TaskUpdate":
        payload |= {"update_type": "progress", "status": "working"}
    ends = {"sender": AGENT, "recipient": PLANNER} if name == "TaskUpdate" else {}
    assert "result" in post(agent.app, call(envelope_json(name, payload=payload, **ends)))
    assert agent.calls == 0


def test_a_type_of_one_s_own_is_not_logged(bench: AsapBench, serve: Callable[..., Agent]) -> None:
    agent = serve(lambda envelope, agent_manifest: envelope, "acme.ping")
    result = post(agent.app, call(envelope_json("acme.ping", payload={})))["result"]
    assert (result["verdict"], result["task_id"], result["position"]) == (None, None, None)
    assert (agent.calls, bench.bench.records("asap.envelopes")) == (1, [])


def test_without_a_registry_all_types_are_taken_and_none_handled(bench: AsapBench) -> None:
    gateway = make_gateway(bench.settings, bench.bench.log, bench.view)
    app = create_app(manifest(), stream=LogStream(GatewayHost(gateway)))
    result = post(app, call(envelope_json()))["result"]
    assert result["envelope"]["payload"]["status"] == "submitted"
    assert error(post(app, call(envelope_json("acme.ping"))))[0] == -32601
    gateway.stop()


def test_a_request_waits_for_its_handler_alone(serve: Callable[..., Agent]) -> None:
    """Two at once, each of which needs the other to have begun."""
    both = threading.Barrier(2, timeout=60)

    def meet(envelope: Envelope, agent_manifest: Manifest) -> Envelope:
        both.wait()
        done = TaskResponse(task_id=envelope.id, status=TaskStatus.COMPLETED)
        return reply_to(envelope, done, sender=agent_manifest.id)

    agent = serve(meet)
    answers: list[Json] = []
    threads = [
        threading.Thread(target=lambda: answers.append(post(agent.app, call(envelope_json()))))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("result" in answer for answer in answers)
