"""The members of the client for Summit: what their arguments become on the wire."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest

from schemas import Problem
from schemas.summit import check_call, check_reply, load_manifest
from streams.agents.summit import __main__ as examples
from streams.client.summit import SummitCalls
from streams.client.summit_transport import WAIT_S, SummitTransport
from streams.errors import InvalidInput
from streams.summit.errors import CallRejected, ManifestRejected

Json = dict[str, Any]
YAML = examples.HERE / "word-stats.yaml"


class Caller(SummitCalls):
    """A client whose desk notes what it is asked."""

    def __init__(self, event: Json | None = None) -> None:
        self.asked: list[tuple[Any, ...]] = []
        whole = {"verdict": "accepted", "rule": "r", "message": "r: why", "cause": "t/0/1"}
        self.event = {**whole, **(event or {})}

    def _desk(self) -> SummitTransport:
        return Noting(self)


class Noting:
    wait_s = WAIT_S

    def __init__(self, hr: Caller) -> None:
        self._hr = hr

    async def send_command(self, topic: str, key: str, value: Json | None, wait_s: float) -> Json:
        self._hr.asked.append((topic, key, value, wait_s))
        return self._hr.event

    async def ended(self, call: Json, wait_s: float, traceparent: str | None) -> Json:
        self._hr.asked.append((call, wait_s))
        return {"status": "completed"}

    async def status(self, params: Json) -> Json:
        self._hr.asked.append((params,))
        return {}


def test_an_invocation() -> None:
    hr = Caller()
    asyncio.run(hr.invoke("a", {"q": 1}, "run-1", {"traceId": "t"}, caller="me", id=7, wait=2))
    ((call, wait_s),) = hr.asked
    params = {"agentId": "a", "runId": "run-1", "inputs": {"q": 1}, "context": {"traceId": "t"}}
    assert call == {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "agent.invoke",
        "params": params,
        "caller": "me",
    }
    assert (wait_s, check_call(call)) == (2, [])


def test_what_stands_in_the_context_has_names_of_its_own() -> None:
    hr = Caller()
    named: Json = {"trace_id": "t", "parent_run_id": "run-0", "budget": {"usd": 1}}
    asyncio.run(hr.invoke("a", {}, context={"desk": 7, "traceId": "other"}, **named))
    asyncio.run(hr.call_tool("a", "slugify", {}, **named))
    contexts = [call["params"]["context"] for call, _ in hr.asked]
    stands = {"traceId": "t", "parentRunId": "run-0", "budget": {"usd": 1}}
    assert contexts == [{"desk": 7, **stands}, stands]


def test_what_is_not_said_is_made_up_or_left_out() -> None:
    hr = Caller()
    asyncio.run(hr.invoke("a", {}))
    asyncio.run(hr.invoke("a", {}))
    (first, wait_s), (second, _) = hr.asked
    assert set(first) == {"jsonrpc", "id", "method", "params"}
    assert set(first["params"]) == {"agentId", "runId", "inputs"}
    assert first["id"] == first["params"]["runId"] != second["params"]["runId"]
    assert (wait_s, check_call(first)) == (WAIT_S, [])


def test_a_tool_call() -> None:
    hr = Caller()
    asyncio.run(hr.call_tool("a", "slugify", {"title": "T"}, "run-1"))
    asyncio.run(hr.call_tool("a", "slugify", {"title": "T"}, "run-1", call_id="c-1", wait=math.inf))
    (first, _), (second, wait_s) = hr.asked
    assert first["method"] == "tool.call"
    assert first["params"]["toolCall"] == {
        "id": "run-1",
        "name": "slugify",
        "arguments": {"title": "T"},
    }
    assert (second["params"]["toolCall"]["id"], wait_s) == ("c-1", math.inf)
    assert check_call(first) == check_call(second) == []


def test_a_cancel() -> None:
    hr = Caller()
    answer = asyncio.run(hr.cancel("run-1", "a", "why not", caller="me"))
    ((topic, key, call, _),) = hr.asked
    assert (topic, key) == ("summit.calls", "run-1")
    assert call["params"] == {"runId": "run-1", "agentId": "a", "reason": "why not"}
    assert check_call(call) == []
    assert answer == {"runId": "run-1", "status": "cancelled"}
    asyncio.run(hr.cancel("run-1"))
    assert hr.asked[1][2] == {
        "jsonrpc": "2.0",
        "method": "agent.cancel",
        "params": {"runId": "run-1"},
    }


def test_a_judgement() -> None:
    hr = Caller()
    verification = {"status": "passed", "score": 1}
    metrics = {"tokens": 1, "cost_usd": 0}
    asyncio.run(hr.judge("run-1", "critic", verification, model="m", metrics=metrics))
    asyncio.run(hr.judge("run-1", "critic", verification, reply_id="j-2"))
    (topic, key, first, _), (_, _, second, _) = hr.asked
    assert (topic, key, first["replyId"]) == ("summit.replies", "run-1", "judge-critic")
    assert (first["verification"], first["metrics"]) == (verification, metrics)
    assert first["provenance"]["model"] == "m"
    assert (second["replyId"], "metrics" in second) == ("j-2", False)
    assert check_reply(first) == check_reply(second) == []


@pytest.mark.parametrize("form", ["path", "text", "bytes", "json", "model", "name"])
def test_a_manifest_in_any_form(form: str) -> None:
    model = load_manifest(YAML)
    forms: dict[str, Any] = {
        "path": YAML,
        "text": YAML.read_text(),
        "bytes": YAML.read_bytes(),
        "json": model.to_json(),
        "model": model,
        "name": str(YAML),
    }
    hr = Caller()
    assert asyncio.run(hr.register(forms[form])) == hr.event
    ((topic, key, value, _),) = hr.asked
    assert (topic, key, value) == ("summit.manifests", "word-stats", model.to_json())


def test_a_manifest_that_is_none_is_not_sent(tmp_path: Path) -> None:
    hr = Caller()
    bad = load_manifest(YAML).to_json()
    bad["spec"]["role"] = "boss"
    forms: tuple[tuple[Any, str], ...] = (
        (bad, "manifest.role"),
        ("a: [\n", "manifest.yaml"),
        ({}, "manifest.shape"),
    )
    for form, rule in forms:
        with pytest.raises(ManifestRejected) as caught:
            asyncio.run(hr.register(form))
        assert caught.value.rule == rule
        assert caught.value.errors
    with pytest.raises(OSError):
        asyncio.run(hr.register(tmp_path / "nowhere.yaml"))
    with pytest.raises(TypeError):
        asyncio.run(hr.register(5))
    assert hr.asked == []


def test_a_withdrawal() -> None:
    hr = Caller()
    asyncio.run(hr.withdraw("a", wait=1))
    assert hr.asked == [("summit.manifests", "a", None, 1)]


def test_a_rejection_is_raised() -> None:
    """With what the verdict says, as a manifest's or as a call's."""
    rejected: Json = {
        "verdict": "rejected",
        "rule": "run.terminal",
        "errors": [],
        "path": None,
        "runId": "run-1",
    }
    hr = Caller(rejected)
    with pytest.raises(CallRejected) as caught:
        asyncio.run(hr.cancel("run-1"))
    assert (caught.value.rule, caught.value.rpc_code) == ("run.terminal", -32005)
    assert caught.value.data == {"runId": "run-1", "position": "t/0/1"}
    with pytest.raises(CallRejected):
        asyncio.run(hr.judge("run-1", "critic", {"status": "passed"}))
    with pytest.raises(ManifestRejected) as refused:
        asyncio.run(hr.withdraw("a"))
    assert (refused.value.rule, refused.value.errors) == ("run.terminal", [])


class Refusing(Caller):
    """A client whose edge refuses everything."""

    def _desk(self) -> SummitTransport:
        return RefusingTransport(self)


class RefusingTransport(Noting):
    async def send_command(self, topic: str, key: str, value: Json | None, wait_s: float) -> Json:
        raise InvalidInput([Problem("manifest.name", "agentId", "no name")])

    async def ended(self, call: Json, wait_s: float, traceparent: str | None) -> Json:
        raise InvalidInput([Problem("params.run_id", "/params/runId", "no id")])


def test_what_the_edge_refuses_is_rejected_alike() -> None:
    """Over HTTP it is an answer like others."""
    hr = Refusing()
    with pytest.raises(CallRejected) as caught:
        asyncio.run(hr.invoke("a", {}, "/"))
    assert (caught.value.rule, caught.value.rpc_code) == ("params.run_id", -32602)
    assert caught.value.data == {"path": "/params/runId"}
    with pytest.raises(CallRejected):
        asyncio.run(hr.cancel("/"))
    with pytest.raises(ManifestRejected) as refused:
        asyncio.run(hr.withdraw("A"))
    assert refused.value.rule == "manifest.name"


def test_a_status() -> None:
    hr = Caller()
    asyncio.run(hr.status("run-1", after="t/0/1"))
    asyncio.run(hr.status(agent_id="a"))
    assert hr.asked == [({"runId": "run-1", "after": "t/0/1"},), ({"agentId": "a"},)]
