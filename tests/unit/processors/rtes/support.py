"""Events as Avro has them, and an rtes processor on a bench."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from schemas import encode
from streams.engine.processor import AvroValue, Message
from streams.engine.records import position
from streams.processors.rtes import RtesProcessor
from streams.settings import Settings
from tests.unit.processors.harness import START_MS, Harness, Sent
from topology.keys import saop_task_key
from topology.tables import SAOP_TASK_STATES
from topology.topics import RTES_EVENTS, RTES_REJECTIONS

__all__ = ["START_MS", "Bench", "Sent", "completed", "invoked", "pulse", "thought", "transition"]

SECRET = "ghp_Zq8#x!Ev3ry-where-9rT"


def uuid(n: int) -> str:
    return str(UUID(int=n, version=4))


def transition(
    n: int, source: str, target: str, *, task: str = "t1", git: str | None = None, **event: Any
) -> AvroValue:
    """A TASK_TRANSITION as Avro has it; event members by keyword."""
    payload = {
        "task_id": task,
        "from_state": source,
        "to_state": target,
        "git_hash": git,
        "timestamp": "2026-01-01T00:00:00Z",
    }
    return _event(n, ("headrace.rtes.TaskTransition", payload), event)


def _event(n: int, payload: tuple[str, AvroValue], members: Mapping[str, Any]) -> AvroValue:
    whole = {"event_id": uuid(n), "session_id": "s1", "payload": payload, "origin": None}
    return whole | dict(members)


def thought(n: int, chunk: str = "so", **event: Any) -> AvroValue:
    payload = {"agent_id": "developer", "turn_index": 0, "chunk": chunk, "is_final": False}
    return _event(n, ("headrace.rtes.ThoughtStream", payload), event)


def invoked(n: int, arguments_json: str = "{}", **event: Any) -> AvroValue:
    payload = {
        "call_id": "c1",
        "tool": "shell",
        "arguments_json": arguments_json,
        "timestamp": "2026-01-01T00:00:00Z",
    }
    return _event(n, ("headrace.rtes.ToolInvoked", payload), event)


def completed(n: int, **event: Any) -> AvroValue:
    payload = {
        "call_id": "c1",
        "tool": "shell",
        "status": "success",
        "duration_ms": 1.5,
        "timestamp": "2026-01-01T00:00:00Z",
    }
    return _event(n, ("headrace.rtes.ToolCompleted", payload), event)


def pulse(n: int, line: str = "ok", **event: Any) -> AvroValue:
    payload = {"line": line, "masked": False, "timestamp": "2026-01-01T00:00:00Z"}
    return _event(n, ("headrace.rtes.SandboxPulse", payload), event)


class Bench(Harness):
    """An rtes processor; the clock stands still unless it is advanced."""

    processor: RtesProcessor

    def __init__(self, partitions: int = 1, **settings: Any) -> None:
        named = Settings.load({}, **settings).as_work()
        super().__init__(RtesProcessor(), named, partitions=partitions)

    def event(self, event: AvroValue, at: int | None = None, **record: Any) -> Message:
        return self.message(event, self.now if at is None else at, avro=True, **record)

    def judge(self, event: AvroValue, **record: Any) -> Sent:
        """The one record that an event gives rise to."""
        (sent,) = self.judge_all([self.event(event, **record)])
        return sent

    def judge_all(self, messages: list[Message]) -> list[Sent]:
        """What one batch gives rise to: one record per message, in order."""
        sent = self.decide(*messages)
        assert [one.cause for one in sent] == [position(message.record) for message in messages]
        assert {one.topic for one in sent} <= {RTES_EVENTS, RTES_REJECTIONS}
        return sent

    def rule(self, event: AvroValue, **record: Any) -> str:
        return str(self.judge(event, **record).value["rule"])

    def task(self, task: str = "t1", origin: str | None = None) -> AvroValue | None:
        return self.row(SAOP_TASK_STATES, saop_task_key("s1", task, origin))

    def known_task(self, task: str = "t1", origin: str | None = None) -> AvroValue:
        found = self.task(task, origin)
        assert found is not None
        return found

    def advance(self, ms: int) -> None:
        self.advance_to(self.now + ms)

    def holds_rows(self) -> bool:
        return any(self.tables.values())

    def written(self) -> bytes:
        """Every byte that left the processor: records, headers, rows, timers."""
        parts = []
        for sent in self.sent:
            assert sent.topic.record is not None
            value = encode(sent.topic.record, sent.value)
            parts += [sent.key.encode(), value, sent.id.encode(), sent.cause.encode()]
        for rows in self.tables.values():
            parts += [key.encode() + raw for key, raw in rows.items()]
        return b"\n".join([*parts, repr(self.timers).encode()])
