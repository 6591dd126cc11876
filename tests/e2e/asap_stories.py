"""Tasks of ASAP as their agents tell them, mixed at random; each task's own records in order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from schemas import asap
from tests.e2e.outputs import Json

PLANNER = "urn:asap:agent:planner"
WORKERS = tuple(f"urn:asap:agent:worker:{n}" for n in range(5))
STRANGER = "urn:asap:agent:stranger"
EVENT_SOURCED = {"state_mode": "event-sourced", "event_retention_hours": 24}
REPEATED = 0.08
"""Share of records that are sent twice."""


class Story:
    """One task.  key: an idempotency key; of several tasks with one, the first is carried out."""

    def __init__(
        self, task_id: str, dice: random.Random, parent: str | None = None, key: str | None = None
    ) -> None:
        self.task_id = task_id
        self._dice = dice
        self._worker = WORKERS[sum(task_id.encode()) % len(WORKERS)]
        self._sourced = dice.random() < 0.3
        self._parent, self._key = parent, key
        self._count = 0

    def envelopes(self) -> list[Json]:
        """Every envelope, in order."""
        dice = self._dice
        envelopes = [self._request(), self._update("working")]
        envelopes += [self._any() for _ in range(dice.randrange(3, 12))]
        envelopes += list(self._end())
        return [one for each in envelopes for one in ([each] * (1 + (dice.random() < REPEATED)))]

    def _envelope(self, kind: str, payload: Json, sender: str, **fields: Any) -> Json:
        self._count += 1
        recipient = self._worker if sender == PLANNER else PLANNER
        return {
            "id": f"{self.task_id}/{self._count}",
            "asap_version": "0.1",
            "timestamp": "2026-01-01T00:00:00Z",
            "sender": sender,
            "recipient": recipient,
            "payload_type": kind,
            "payload": {"task_id": self.task_id, **payload},
            "correlation_id": None,
            "trace_id": f"trace-{self.task_id}",
            "extensions": None,
            **fields,
        }

    def _request(self) -> Json:
        config = {**(EVENT_SOURCED if self._sourced else {})}
        if self._key is not None:
            config["idempotency_key"] = self._key
        payload = {
            "conversation_id": f"conversation-{self._dice.randrange(20)}",
            "parent_task_id": self._parent,
            "skill_id": "index.build",
            "input": {"pages": 42},
            "config": config,
        }
        return self._envelope("TaskRequest", {}, PLANNER, id=self.task_id) | {"payload": payload}

    def _update(self, status: str, **fields: Any) -> Json:
        payload: Json = {
            "update_type": "status_change",
            "status": status,
            "progress": {"percent": self._dice.randrange(100)},
            "input_request": None,
        }
        return self._envelope("TaskUpdate", payload, self._worker, **fields)

    def _save(self, change: Json) -> Json:
        fields = {"recipient": asap.SERVICE_URN, "extensions": {asap.EXT_SNAPSHOT: change}}
        return self._update("working", **fields)

    def _any(self) -> Json:
        n = self._dice.randrange(10)
        if n < 4:
            return self._save({"data": {"page": self._count}, "checkpoint": n == 0})
        if n == 4:
            return self._save({"patch": {f"n{self._count % 3}": self._count}})
        if n == 5 and not self._sourced:
            return self._save({"delete": True, "version": self._dice.randrange(1, 5)})
        if n == 6:
            message = {"message_id": f"m{self._count}", "role": "user", "sender": PLANNER}
            return self._envelope("MessageSend", {**message, "parts": ["one"]}, PLANNER)
        if n == 7:
            snapshot_id = f"{self.task_id}@{self._dice.randrange(1, 9)}"
            return self._envelope("StateRestore", {"snapshot_id": snapshot_id}, PLANNER)
        if n == 8:
            return self._envelope("StateQuery", {"version": None}, self._worker)
        return self._envelope("TaskCancel", {"reason": None}, STRANGER)

    def _end(self) -> Iterator[Json]:
        status = self._dice.choice(["completed", "failed", "cancelled", "paused"])
        payload: Json = {
            "status": status,
            "result": {"ok": True},
            "final_state": None,
            "metrics": None,
        }
        if self._dice.random() < 0.5:
            payload["final_state"] = {"data": {"done": self._count}}
        yield self._envelope("TaskResponse", payload, self._worker, correlation_id=self.task_id)
        yield self._update("working")


def mixed(stories: list[Story], dice: random.Random) -> list[Json]:
    """All that they tell, interleaved."""
    open_ends = [story.envelopes() for story in stories]
    order = [n for n, envelopes in enumerate(open_ends) for _ in envelopes]
    dice.shuffle(order)
    streams = [iter(envelopes) for envelopes in open_ends]
    return [next(streams[n]) for n in order]
