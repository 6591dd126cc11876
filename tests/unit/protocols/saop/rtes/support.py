"""Events and rewind commands as Avro has them, and an rtes processor on a bench."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any
from uuid import UUID

from schemas import encode
from streams.engine.processor import AvroValue, Message
from streams.engine.records import position
from streams.protocols.saop.rtes import RtesProcessor
from streams.settings import Settings
from tests.unit.processing.harness import START_MS, Harness, Sent
from topology.saop import (
    RTES_EVENTS,
    RTES_REJECTIONS,
    RTES_SESSIONS,
    SAOP_REWIND_LOG,
    SAOP_REWINDS,
    SAOP_TASKS_TABLE,
    saop_task_key,
)

__all__ = [
    "START_MS",
    "Bench",
    "Sent",
    "completed",
    "control",
    "invoked",
    "pulse",
    "rewind",
    "thought",
    "transition",
    "uuid",
]

NOON = "2026-01-01T00:00:00Z"


def uuid(n: int) -> str:
    return str(UUID(int=n, version=4))


def _event(n: int, name: str, payload: AvroValue, members: Mapping[str, Any]) -> AvroValue:
    """Members of the payload by their names; all others are the event's."""
    payload_changes = {key: value for key, value in members.items() if key in payload}
    event_changes = {key: value for key, value in members.items() if key not in payload}
    whole = {"event_id": uuid(n), "session_id": "s1", "origin": None}
    return whole | {"payload": (f"headrace.rtes.{name}", payload | payload_changes)} | event_changes


def transition(
    n: int, source: str, target: str, *, task: str = "t1", git: str | None = None, **members: Any
) -> AvroValue:
    """A TASK_TRANSITION as Avro has it; event members by keyword."""
    payload = {
        "task_id": task,
        "from_state": source,
        "to_state": target,
        "git_hash": git,
        "timestamp": NOON,
    }
    return _event(n, "TaskTransition", payload, members)


def thought(n: int, chunk: str = "so", **members: Any) -> AvroValue:
    payload = {"agent_id": "developer", "turn_index": 0, "chunk": chunk, "is_final": False}
    return _event(n, "ThoughtStream", payload, members)


def invoked(n: int, arguments_json: str = "{}", **members: Any) -> AvroValue:
    payload = {
        "call_id": "c1",
        "tool": "shell",
        "arguments_json": arguments_json,
        "timestamp": NOON,
    }
    return _event(n, "ToolInvoked", payload, members)


def completed(n: int, **members: Any) -> AvroValue:
    payload = {
        "call_id": "c1",
        "tool": "shell",
        "status": "success",
        "duration_ms": 1.5,
        "timestamp": NOON,
    }
    return _event(n, "ToolCompleted", payload, members)


def pulse(n: int, line: str = "ok", **members: Any) -> AvroValue:
    payload = {"line": line, "masked": False, "timestamp": NOON}
    return _event(n, "SandboxPulse", payload, members)


def rewind(
    n: int, phase: str, task: str | None = None, git: str | None = None, **members: Any
) -> AvroValue:
    """A SaopRewind as Avro has it."""
    command = {
        "rewind_id": uuid(9000 + n),
        "session_id": "s1",
        "phase": phase,
        "task_id": task,
        "git_hash": git,
        "requested_by": "kim",
        "reason": None,
    }
    return command | members


def control(n: int, action: str, **members: Any) -> AvroValue:
    """A SaopControl as Avro has it."""
    command = {
        "control_id": uuid(9500 + n),
        "session_id": "s1",
        "task_id": "t1",
        "action": action,
        "requested_by": "kim",
        "reason": None,
    }
    return command | members


class Bench(Harness):
    """An rtes processor; the clock stands still unless it is advanced."""

    processor: RtesProcessor

    def __init__(self, partitions: int = 1, **settings: Any) -> None:
        named = Settings.load({}, **settings).as_work()
        super().__init__(RtesProcessor(), named, partitions=partitions)

    def event(self, event: AvroValue, at: int | None = None, **record: Any) -> Message:
        return self.message(event, self.now if at is None else at, avro=True, **record)

    def command(self, command: AvroValue, at: int | None = None, **record: Any) -> Message:
        at = self.now if at is None else at
        return self.message(command, at, avro=True, topic=SAOP_REWINDS, **record)

    def judge(self, event: AvroValue, **record: Any) -> Sent:
        """The verdict on an event."""
        (sent,) = self.judge_all([self.event(event, **record)])
        return sent

    def judge_all(self, messages: list[Message]) -> list[Sent]:
        """The verdicts on one batch of events: one per message, in order."""
        sent = self.decide(*messages)
        verdicts = [one for one in sent if one.topic in (RTES_EVENTS, RTES_REJECTIONS)]
        assert [one.cause for one in verdicts] == [position(m.record) for m in messages]
        return verdicts

    def rule(self, event: AvroValue, **record: Any) -> str:
        return str(self.judge(event, **record).value["rule"])

    def recorded(self, event: AvroValue, **record: Any) -> AvroValue:
        """The RtesRecord of an event that is recorded."""
        sent = self.judge(event, **record)
        assert sent.topic is RTES_EVENTS, sent.value
        return sent.value

    def refused(self, event: AvroValue, **record: Any) -> AvroValue:
        """The RtesRejection of an event that is not."""
        sent = self.judge(event, **record)
        assert sent.topic is RTES_REJECTIONS, sent.value
        return sent.value

    def order(self, command: AvroValue, **record: Any) -> AvroValue:
        """The SaopRewindLogged of a command."""
        sent = self.decide(self.command(command, **record))
        return self.of(SAOP_REWIND_LOG, sent)[-1].value

    def walk(self, task: str, *states: str, first: int, git: str | None = None) -> None:
        """Transitions of a task through these states; the last one brings the commit."""
        steps = list(pairwise(states))
        for n, (source, target) in enumerate(steps):
            last = git if n == len(steps) - 1 else None
            self.recorded(transition(first + n, source, target, task=task, git=last))

    def task(self, task: str = "t1", origin: str | None = None) -> AvroValue | None:
        return self.row(SAOP_TASKS_TABLE, saop_task_key("s1", task, origin))

    def known_task(self, task: str = "t1", origin: str | None = None) -> AvroValue:
        row = self.task(task, origin)
        assert row is not None
        return row

    def session(self, session_id: str = "s1") -> AvroValue:
        row = self.row(RTES_SESSIONS, session_id)
        assert row is not None
        return row

    def advance(self, ms: int) -> list[Sent]:
        return self.advance_to(self.now + ms)

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
