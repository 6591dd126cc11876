"""Turns as Avro has them, and a saop processor on a bench."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from schemas import uuid5_url
from streams.engine.processor import AvroValue, Message
from streams.engine.records import position
from streams.protocols.saop.processor import SaopProcessor
from streams.settings import Settings
from tests.unit.processing.harness import START_MS, Harness, Sent
from topology.core import LINEAGE_EDGES
from topology.saop import SAOP_ESCALATIONS, SAOP_LOG, SAOP_TASK_SIGNALS, SAOP_VERDICTS

__all__ = ["START_MS", "Bench", "Sent", "derived", "envelope", "signal"]


def envelope(index: int = 0, *, task: str = "t1", **changes: Any) -> AvroValue:
    """A turn as Avro has it; members of any level by keyword."""
    turn: AvroValue = {
        "turn_index": index,
        "agent_id": "developer",
        "role": "developer",
        "content": {"thought": "so", "action": "run", "observation": f"saw {index}"},
        "metadata": {
            "version": "1.0.0",
            "task_id": task,
            "timestamp": "2026-01-01T00:00:00Z",
            "confidence": 0.9,
            "estimated_complexity": "low",
        },
    }
    for name, value in changes.items():
        owner = next(part for part in (turn, turn["content"], turn["metadata"]) if name in part)
        owner[name] = value
    return turn


def signal(kind: str, task: str = "t1", **members: Any) -> AvroValue:
    value = {
        "kind": kind,
        "task_id": task,
        "session_id": "s1",
        "failures": None,
        "threshold": None,
        "first_sequence": None,
        "last_sequence": None,
        "rewind_id": None,
        "enforced": False,
        "at": START_MS,
        "cause": "rtes.raw/0/0",
    }
    return value | members


def derived(cause: str, n: int) -> str:
    return uuid5_url(f"headrace:{cause}/{n}")


class Bench(Harness):
    """A saop processor; the clock stands still unless it is advanced."""

    processor: SaopProcessor

    def __init__(self, partitions: int = 1, **settings: Any) -> None:
        named = Settings.load({}, **settings).as_work()
        super().__init__(SaopProcessor(), named, partitions=partitions)

    def turn(self, turn: AvroValue, at: int | None = None, **record: Any) -> Message:
        return self.message(turn, self.now if at is None else at, avro=True, **record)

    def signal(self, value: AvroValue, at: int | None = None) -> Message:
        stamp = self.now if at is None else at
        return self.message(value, stamp, avro=True, topic=SAOP_TASK_SIGNALS)

    def judge(self, turn: AvroValue, at: int | None = None, **record: Any) -> AvroValue:
        """The verdict on one turn, alone in its batch."""
        message = self.turn(turn, at, **record)
        (sent,) = self.of(SAOP_VERDICTS, self.decide(message))
        assert sent.cause == position(message.record)
        return sent.value

    def rule(self, turn: AvroValue, at: int | None = None, **record: Any) -> str:
        return str(self.judge(turn, at, **record)["rule"])

    def rules(self, *indexes: int) -> list[str]:
        """The rules that decided on turns of these indexes, one after the other."""
        return [self.rule(envelope(index)) for index in indexes]

    def figures(self, turn: AvroValue, **record: Any) -> tuple[str, Any]:
        verdict = self.judge(turn, **record)
        return verdict["rule"], orjson.loads(verdict["figures_json"])

    def log(self, task: str = "t1") -> list[AvroValue]:
        """The task's log, as far as it was written."""
        return [sent.value for sent in self.of(SAOP_LOG) if sent.key == task]

    def logged(self, task: str = "t1") -> list[int]:
        return [value["turn"]["turn_index"] for value in self.log(task)]

    def gaps(self, task: str = "t1") -> list[tuple[int, int, int, str]]:
        """Of each hole that was named: the turn behind it, first and last missing, why."""
        return [
            (value["turn"]["turn_index"], *value["gap"].values())
            for value in self.log(task)
            if value["gap"] is not None
        ]

    def escalations(self, sent: Iterable[Sent] | None = None) -> list[AvroValue]:
        chosen = None if sent is None else list(sent)
        return [one.value for one in self.of(SAOP_ESCALATIONS, chosen)]

    def edges(self, sent: Iterable[Sent] | None = None) -> set[tuple[str, str, str]]:
        chosen = None if sent is None else list(sent)
        values = [one.value for one in self.of(LINEAGE_EDGES, chosen)]
        return {(edge["from_node"], edge["relation"], edge["to_node"]) for edge in values}

    def stored(self) -> dict[str, dict[str, bytes]]:
        """Every row, by table."""
        return {name: dict(rows) for name, rows in self.tables.items() if rows}

    def advance(self, ms: int) -> list[Sent]:
        return self.advance_to(self.now + ms)
