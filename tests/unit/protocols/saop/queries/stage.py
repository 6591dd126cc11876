"""Envelopes as agents send them, and routes over a system that answers at once."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from itertools import count
from typing import Any
from urllib.parse import urlencode

from streams.api.problems import Response
from streams.engine.records import Output, Record
from streams.routes.handle import Routes
from tests.unit.views.bench import Bench

AT = "2026-01-01T00:00:00Z"
_numbers = count()


def turn(task_id: str, index: int, agent_id: str = "developer", **more: Any) -> dict[str, Any]:
    """more: `thought`, `observation`, `confidence`."""
    content = {"thought": "", "action": "", "observation": f"{task_id} {index}"}
    return {
        "turn_index": index,
        "agent_id": agent_id,
        "role": agent_id,
        "content": {**content, **{k: v for k, v in more.items() if k in content}},
        "metadata": {
            "version": "1.0.0",
            "task_id": task_id,
            "timestamp": AT,
            "confidence": more.get("confidence", 0.9),
            "estimated_complexity": "low",
        },
    }


def event(session_id: str, kind: str, **payload: Any) -> dict[str, Any]:
    if kind != "THOUGHT_STREAM":
        payload["timestamp"] = AT
    event_id = str(uuid.uuid5(uuid.NAMESPACE_OID, str(next(_numbers))))
    return {
        "event_id": event_id,
        "session_id": session_id,
        "payload": {"type": kind, **payload},
    }


def move(session_id: str, task_id: str, source: str, target: str, **more: Any) -> dict[str, Any]:
    states = {"from_state": source, "to_state": target}
    return event(session_id, "TASK_TRANSITION", task_id=task_id, **states, **more)


def pulse(session_id: str, line: str = "ok") -> dict[str, Any]:
    return event(session_id, "SANDBOX_PULSE", line=line, masked=False)


def chunk(
    session_id: str, index: int, text: str, final: bool = False, agent_id: str = "developer"
) -> dict[str, Any]:
    where = {"agent_id": agent_id, "turn_index": index}
    return event(session_id, "THOUGHT_STREAM", **where, chunk=text, is_final=final)


def invoked(session_id: str, call_id: str, tool: str = "ls") -> dict[str, Any]:
    call = {"call_id": call_id, "tool": tool, "arguments": {}}
    return event(session_id, "TOOL_LIFECYCLE_INVOKED", **call)


def completed(session_id: str, call_id: str, tool: str = "ls", **more: Any) -> dict[str, Any]:
    end = {"status": "success", "duration_ms": 5, **more}
    return event(session_id, "TOOL_LIFECYCLE_COMPLETED", call_id=call_id, tool=tool, **end)


def routes_of(bench: Bench) -> Routes:
    """Whatever is put on the log is judged before the next step."""

    def append(outputs: Sequence[Output]) -> Sequence[Record]:
        bench.now += 1
        records = bench.log.append(outputs)
        bench.host.run()
        return records

    return Routes(bench.view, bench.log, bench.settings, lambda: bench.now, 0, append)


def ask(bench: Bench, path: str, **query: Any) -> Any:
    """The answer of a view that has seen everything."""
    return bench.look(path, urlencode(query))


def items(bench: Bench, path: str, **query: Any) -> list[dict[str, Any]]:
    """Of all pages of two."""
    every: list[dict[str, Any]] = []
    page = ask(bench, path, **query, limit=2)
    while True:
        assert len(page["items"]) <= 2
        every += page["items"]
        if page["next"] is None:
            break
        assert len(page["items"]) == 2
        page = ask(bench, path, **query, limit=2, cursor=page["next"])
    assert ask(bench, path, **query)["items"] == every
    return every


def post(bench: Bench, path: str, body: Any = None) -> Response:
    return routes_of(bench).handle("POST", path, "", {}, body)
