"""Manifests, calls and replies as people send them: the worked example of the Summit guide, 2.7."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import schemas
from streams.views.values import json_of
from tests.unit.views.bench import Bench
from topology.summit import SUMMIT_INBOX

Json = dict[str, Any]
AGENT, RUN = "word-stats", "run-7f2"
CALLS, REPLIES, MANIFESTS = "summit.calls", "summit.replies", "summit.manifests"
OUTPUT = {"words": 6, "top": ["be", "to", "not"]}
NO_COST = {"tokens": 0, "latency_ms": 3, "cost_usd": 0}
MADE = {"model": "none", "timestamp": "2026-03-02T09:00:00.410Z"}
RESULT: Json = {"status": "completed", "output": OUTPUT, "metrics": NO_COST, "provenance": MADE}
HASHES = {
    "manifestHash": "6b669a549e94716e8aa5293e548855cdd6cb4d55a6fee90ca2a6d5262c19a6aa",
    "callHash": "9e00fa75e8e2388d85f4dee0f6368b1726a536a228a7e0effe1f22a24670eba7",
    "inputHash": "6be91a01069830a5b6973015f9bdf0ca05a38e243c4eb826dd395277df62ac26",
    "replyHash": "d7a387cd495ab0299f85e158390fff645a2076691757d8593580fc98f79f474a",
    "outputHash": "2fdf6267708dc3394e9a2346251605fc37b4f3d582b82ba2ff6b80b1a91ee46d",
}
YAML = (Path(schemas.__file__).parent / "examples/summit/manifests/word-stats.yaml").read_text()


def manifest(name: str = AGENT, version: str = "1.2.0", **spec: Any) -> Json:
    """spec: members of it, instead of the example's."""
    top = {"type": "integer", "minimum": 1, "maximum": 9, "default": 3}
    words = {"type": "array", "items": {"type": "string"}}
    base = {
        "role": "x-text",
        "capabilities": ["text:count"],
        "interface": {
            "inputSchema": {
                "type": "object",
                "required": ["text"],
                "additionalProperties": False,
                "properties": {"text": {"type": "string"}, "top": top},
            },
            "outputSchema": {
                "type": "object",
                "required": ["words"],
                "properties": {"words": {"type": "integer"}, "top": words},
            },
        },
        "tools": [tool()],
    }
    metadata = {"name": name, "version": version, "description": "Counts words."}
    return {
        "apiVersion": "summit.io/v1",
        "kind": "Agent",
        "metadata": metadata,
        "spec": {**base, **spec},
    }


def tool(name: str = "slugify") -> Json:
    arguments = {
        "type": "object",
        "required": ["title"],
        "properties": {"title": {"type": "string"}},
    }
    description = "Hyphenated lower-case form of a title."
    return {"name": name, "description": description, "arguments": arguments}


def critic(name: str = "fact-check") -> Json:
    return manifest(name, role="critic")


def invoke(run: str = RUN, agent: str = AGENT, *, inputs: Any = None, **context: Any) -> Json:
    """As JSON-RPC has it.  context: members of it, the example's without any."""
    budget = {"usd": 0, "seconds": 20}
    params = {
        "agentId": agent,
        "runId": run,
        "inputs": {"text": "to be or not to be"} if inputs is None else inputs,
        "context": context or {"traceId": "tr-9c", "budget": budget},
    }
    return {"jsonrpc": "2.0", "id": "q-31", "method": "agent.invoke", "params": params}


def tool_call(run: str = "tool-1", agent: str = AGENT, name: str = "slugify") -> Json:
    call = {"id": "t/1", "name": name, "arguments": {"title": "To Be"}}
    params = {"agentId": agent, "runId": run, "toolCall": call}
    return {"jsonrpc": "2.0", "id": 7, "method": "tool.call", "params": params}


def cancel(run: str = RUN, **more: Any) -> Json:
    """more: params."""
    params = {"runId": run, **more}
    return {"jsonrpc": "2.0", "id": "c-1", "method": "agent.cancel", "params": params}


def query(method: str, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def result(run: str = RUN, output: Any = None, *, agent: str = AGENT, **more: Any) -> Json:
    """The final reply of the example.  more: members."""
    return {
        "replyId": "final",
        "runId": run,
        "agentId": agent,
        "kind": "result",
        "output": OUTPUT if output is None else output,
        "metrics": NO_COST,
        "provenance": MADE,
        **more,
    }


def progress(run: str = RUN, reply: str = "start", *, agent: str = AGENT, **more: Any) -> Json:
    base = {"replyId": reply, "runId": run, "agentId": agent, "kind": "progress"}
    return {**base, "metrics": {"tokens": 0, "cost_usd": 0}, **more}


def judgement(run: str = RUN, *, agent: str = "fact-check", **verification: Any) -> Json:
    base = {"replyId": f"by-{agent}", "runId": run, "agentId": agent, "kind": "verification"}
    content = verification or {"status": "passed", "score": 0.9}
    return {**base, "verification": content, "provenance": MADE}


def failure(run: str = RUN, *, agent: str = AGENT) -> Json:
    """An error reply."""
    base = {"replyId": "final", "runId": run, "agentId": agent, "kind": "error"}
    error = {"code": 1, "message": "it broke"}
    return {**base, "error": error, "metrics": NO_COST, "provenance": MADE}


def registered(bench: Bench, *manifests: Json) -> None:
    """The example's agent, and these."""
    bench.send(MANIFESTS, manifest(), *manifests)


def example(bench: Bench) -> None:
    """The worked example, from manifest to result, by its caller."""
    registered(bench)
    bench.send(CALLS, {**invoke(), "caller": "desk-7"})
    bench.send(REPLIES, result())


class SummitInboxAgent:
    """An agent's side: answers what lies in the inbox.

    answer: of a SummitCall with its delivery; the replies to it.
    """

    def __init__(self, bench: Bench, answer: Callable[[Json], list[Json]]) -> None:
        self._bench, self._answer = bench, answer
        self._seen = 0

    def work(self) -> None:
        """Answer everything that is new."""
        letters = self._bench.records("summit.inbox")
        new, self._seen = letters[self._seen :], len(letters)
        for letter in new:
            call = json_of(SUMMIT_INBOX, letter.value or b"")
            self._bench.append(REPLIES, *self._answer(call))


def words(call: Json) -> list[Json]:
    """What `word-stats` says: the number of words, and of those the most frequent ones first."""
    run, delivery = call["params"]["runId"], call["delivery"]
    if delivery["kind"] == "stop":
        return []
    if delivery["kind"] == "tool":
        title = call["params"]["toolCall"]["arguments"]["title"]
        return [result(run, title.lower().replace(" ", "-"))]
    counted = Counter(call["params"]["inputs"]["text"].split())
    ranked = sorted(counted, key=lambda word: (-counted[word], word))
    top = ranked[: call["params"]["inputs"]["top"]]
    return [result(run, {"words": counted.total(), "top": top})]
