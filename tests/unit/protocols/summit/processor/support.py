"""Summit's documents as JSON, and a summit processor on a bench."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from schemas import to_json
from schemas.summit.words import RUN_RECORD
from streams.engine.processor import Message
from streams.engine.records import LogRecord
from streams.protocols.summit.processor import SummitProcessor
from streams.settings import Settings
from tests.unit.processing.harness import START_MS, Harness, Sent
from topology.core import LINEAGE_EDGES, RTES_RAW
from topology.summit import (
    SUMMIT_CALLS,
    SUMMIT_EVENTS,
    SUMMIT_INBOX,
    SUMMIT_MANIFESTS,
    SUMMIT_REPLIES_KNOWN,
    SUMMIT_RUNS_TABLE,
)
from topology.summit import SUMMIT_REPLIES as REPLIES

__all__ = ["START_MS", "Bench", "Json", "Sent"]

Json = dict[str, Any]

AGENT = "word-stats"
CRITIC = "reader"
CALLER = "desk-7"
RUN = "R"
INPUTS: Json = {"text": "to be or not to be"}
OUTPUT: Json = {"words": 6, "top": ["be", "to", "not"]}
METRICS: Json = {"tokens": 0, "cost_usd": 0}
PROVENANCE: Json = {"model": "none", "timestamp": "2026-01-01T00:00:00.410Z"}
CHECKED: Json = {"status": "passed", "score": 0.9, "checks": [{"name": "tone", "passed": True}]}

_SCHEMAS: Json = {
    "inputSchema": {
        "type": "object",
        "required": ["text"],
        "additionalProperties": False,
        "properties": {
            "text": {"type": "string"},
            "top": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        },
    },
    "outputSchema": {
        "type": "object",
        "required": ["words"],
        "properties": {
            "words": {"type": "integer"},
            "top": {"type": "array", "items": {"type": "string"}},
        },
    },
}
_TOOL: Json = {
    "name": "slugify",
    "description": "Hyphenated lower-case form of a title.",
    "arguments": {
        "type": "object",
        "required": ["title"],
        "properties": {"title": {"type": "string"}},
    },
}


def manifest(name: str = AGENT, version: str = "1.2.0", **spec: Any) -> Json:
    """The manifest of the worked example (Summit guide, 2.7).  spec: what differs in `spec`."""
    return {
        "apiVersion": "summit.io/v1",
        "kind": "Agent",
        "metadata": {"name": name, "version": version, "description": "Counts words."},
        "spec": {
            "role": "x-text",
            "capabilities": ["text:count"],
            "interface": copy.deepcopy(_SCHEMAS),
            "tools": [copy.deepcopy(_TOOL)],
            **spec,
        },
    }


def invoke(run_id: str = RUN, inputs: Json | None = None, **more: Any) -> Json:
    """more: agentId and context, members of the params; id and caller, of the call."""
    params: Json = {
        "agentId": AGENT,
        "runId": run_id,
        "inputs": INPUTS if inputs is None else inputs,
    }
    return _call("agent.invoke", params, more)


def tool_call(run_id: str = RUN, arguments: Json | None = None, **more: Any) -> Json:
    """more: name, of the tool; else as for `invoke`."""
    arguments = {"title": "To Be"} if arguments is None else arguments
    tool = {"id": "c/1", "name": more.pop("name", "slugify"), "arguments": arguments}
    return _call("tool.call", {"agentId": AGENT, "runId": run_id, "toolCall": tool}, more)


def cancel(run_id: str = RUN, **more: Any) -> Json:
    """more: agentId and reason, members of the params; id and caller, of the call."""
    return _call("agent.cancel", {"runId": run_id}, more)


def _call(method: str, params: Json, more: Json) -> Json:
    call: Json = {"jsonrpc": "2.0", "id": "q-31", "method": method, "caller": CALLER}
    for name in ("id", "caller", "jsonrpc"):
        if name in more:
            call[name] = more.pop(name)
    call["params"] = {**params, **more}
    return {name: value for name, value in call.items() if value is not None}


def reply(kind: str, reply_id: str | None = None, **more: Any) -> Json:
    """A sound reply of the run R; a member given as None is left out."""
    members: Json = {"metrics": METRICS, "provenance": PROVENANCE}
    if kind == "result":
        members["output"] = OUTPUT
    if kind == "error":
        members["error"] = {"code": 7, "message": "no words"}
    if kind == "verification":
        members = {"verification": CHECKED, "provenance": PROVENANCE}
    sender = CRITIC if kind == "verification" else AGENT
    names = {"replyId": reply_id or kind, "runId": RUN, "agentId": sender, "kind": kind}
    whole = {**names, **members, **more}
    return {name: value for name, value in whole.items() if value is not None}


_PARTS = frozenset({"evidence", "judge", "verification", "cancel"})


def present(row: Json) -> Json:
    """A row, and the parts of it that are the service's own, without members that are null."""
    return {
        name: present(value) if name in _PARTS else value
        for name, value in row.items()
        if value is not None
    }


class Bench(Harness):
    """A summit processor; the clock stands still unless it is advanced."""

    processor: SummitProcessor

    def __init__(self, partitions: int = 1, agents: bool = True, **settings: Any) -> None:
        named = Settings.load({}, **settings).as_work()
        super().__init__(SummitProcessor(), named, partitions=partitions)
        if agents:
            self.register(manifest())
            self.register(manifest(CRITIC, "1.0.0", role="critic"))

    def record(self, topic: Any, value: Json, at: int | None = None, **more: Any) -> Message:
        return self.message(value, self.now if at is None else at, topic=topic, **more)

    def fact(self, message: Message) -> Json:
        """The fact of one record, alone in its batch."""
        facts = [
            one for one in self.of(SUMMIT_EVENTS, self.decide(message)) if one.id.endswith("/0")
        ]
        (fact,) = facts
        return fact.json

    def register(self, value: Json, at: int | None = None, **more: Any) -> Json:
        return self.fact(self.record(SUMMIT_MANIFESTS, value, at, **more))

    def withdraw(self, agent_id: str = AGENT) -> Json:
        record = self.record(SUMMIT_MANIFESTS, manifest(agent_id), key=agent_id)
        assert isinstance(record.record, LogRecord)
        null = record.record._replace(value=None)
        return self.fact(record._replace(value={}, body=b"", record=null))

    def call_record(self, run_id: str = RUN) -> Message:
        return self.record(SUMMIT_CALLS, invoke(run_id))

    def call(self, value: Json, at: int | None = None, **more: Any) -> Json:
        """The fact of one call."""
        return self.fact(self.record(SUMMIT_CALLS, value, at, **more))

    def invoke(self, run_id: str = RUN, inputs: Json | None = None, **more: Any) -> Json:
        at = more.pop("at", None)
        return self.call(invoke(run_id, inputs, **more), at)

    def cancel(self, run_id: str = RUN, **more: Any) -> Json:
        at = more.pop("at", None)
        return self.call(cancel(run_id, **more), at)

    def reply(self, kind: str, reply_id: str | None = None, **more: Any) -> Json:
        """The fact of one reply.  at: of its record."""
        at = more.pop("at", None)
        return self.decide_reply(reply(kind, reply_id, **more), at)

    def decide_reply(self, value: Json, at: int | None = None, **more: Any) -> Json:
        return self.fact(self.record(REPLIES, value, at, **more))

    def run(self, run_id: str = RUN) -> Json:
        """The run's row, as JSON without what is null."""
        row = self.row(SUMMIT_RUNS_TABLE, run_id)
        assert row is not None
        return present(to_json(RUN_RECORD, row))

    def state(self, run_id: str = RUN) -> str:
        row = self.row(SUMMIT_RUNS_TABLE, run_id)
        return "none" if row is None else str(row["state"])

    def facts(self) -> list[Json]:
        return [one.json for one in self.of(SUMMIT_EVENTS)]

    def inbox(self, agent_id: str = AGENT) -> list[Json]:
        return [one.json for one in self.of(SUMMIT_INBOX) if one.key == agent_id]

    def edges(self) -> list[tuple[str, str, str]]:
        values = [one.value for one in self.of(LINEAGE_EDGES)]
        return [(v["from_node"], v["relation"], v["to_node"]) for v in values]

    def rtes_payloads(self) -> list[tuple[str, Json]]:
        """What RTES heard: session and payload."""
        return [(one.value["session_id"], one.value["payload"][1]) for one in self.of(RTES_RAW)]

    def moves(self) -> list[tuple[str, str]]:
        """The transitions that RTES was told."""
        return [
            (p["from_state"], p["to_state"]) for _, p in self.rtes_payloads() if "from_state" in p
        ]

    def known(self) -> set[str]:
        """The replies that are remembered."""
        return set(self.rows(SUMMIT_REPLIES_KNOWN))

    def put_in(self, state: str, seconds: float | None = None) -> None:
        """Take the run R to a state; `none` is there already.  seconds: of its budget."""
        if state != "none":
            budget = {**BUDGET["context"]["budget"]}
            budget |= {} if seconds is None else {"seconds": seconds}
            assert self.invoke(context={**BUDGET["context"], "budget": budget})["rule"] == (
                "call.accepted"
            )
        for step in _WAYS.get(state, ()):
            fact = step(self)
            assert fact["verdict"] == "accepted", fact
        assert self.state() == state


def _over(bench: Bench) -> Json:
    return bench.reply("result", "over", metrics={"tokens": 0, "cost_usd": 9.5})


_WAYS: dict[str, list[Callable[[Bench], Json]]] = {
    "running": [lambda b: b.reply("progress", "way")],
    "completed": [lambda b: b.reply("result", "way")],
    "failed": [lambda b: b.reply("error", "way")],
    "cancelled": [lambda b: b.cancel()],
    "budget_exceeded": [_over],
}
BUDGET: Json = {"context": {"traceId": "tr", "budget": {"usd": 9}}}
