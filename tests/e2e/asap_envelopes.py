"""Envelopes of one task, of either participant, with ids counted from its own."""

from __future__ import annotations

from typing import Any

from tests.e2e.asap_model import SERVICE
from tests.e2e.asap_states import SNAPSHOT
from tests.e2e.outputs import Json

TIME = "2026-11-21T10:00:00.250Z"


def envelope(id: str, kind: str, payload: Json, sender: str, recipient: str, **more: Any) -> Json:
    return {
        "id": id,
        "asap_version": "0.1",
        "timestamp": TIME,
        "sender": sender,
        "recipient": recipient,
        "payload_type": kind,
        "payload": payload,
        "correlation_id": None,
        "trace_id": None,
        "extensions": None,
        **more,
    }


class Speaker:
    """What requester and worker say of the task with this id."""

    def __init__(self, task_id: str, requester: str, worker: str) -> None:
        self.task_id, self.requester, self.worker = task_id, requester, worker
        self._count = 0
        self.snapshot_ids = [f"{task_id}@1"]

    def next_id(self) -> str:
        self._count += 1
        return f"{self.task_id}/{self._count}"

    def request(self, config: Json | None, parent: str | None, number: int) -> Json:
        payload = {
            "conversation_id": f"conversation-{number % 97}",
            "parent_task_id": parent,
            "skill_id": "index.build",
            "input": {"pages": number},
            "config": config,
        }
        trace = f"trace-{number % 211}" if number % 3 else None
        people = self.requester, self.worker
        return envelope(self.task_id, "TaskRequest", payload, *people, trace_id=trace)

    def update(
        self, status: str, kind: str = "status_change", *, named: str | None = None, **more: Any
    ) -> Json:
        """more: members of the payload, and `extensions` or `recipient` of the envelope."""
        extensions = more.pop("extensions", None)
        recipient = more.pop("recipient", self.requester)
        payload = {
            "task_id": named or self.task_id,
            "update_type": kind,
            "status": status,
            "progress": None,
            "input_request": None,
            **more,
        }
        return envelope(
            self.next_id(),
            "TaskUpdate",
            payload,
            self.worker,
            recipient,
            extensions=extensions,
            correlation_id=self.task_id if named or self._count % 2 else None,
        )

    def save(self, change: Json, *, to_requester: bool = False) -> Json:
        """change: of the snapshot extension.  to_requester: the requester receives it too."""
        recipient = self.requester if to_requester else SERVICE
        extensions = {SNAPSHOT: change}
        return self.update("working", "progress", recipient=recipient, extensions=extensions)

    def response(self, status: str, state: Json | None = None, *, size: int = 0) -> Json:
        payload = {
            "task_id": self.task_id,
            "status": status,
            "result": {"text": "x" * size},
            "final_state": state,
            "metrics": None,
        }
        people = self.worker, self.requester
        more = {"correlation_id": self.task_id, "trace_id": f"trace-{self.task_id}"}
        return envelope(self.next_id(), "TaskResponse", payload, *people, **more)

    def cancel(self, sender: str | None = None) -> Json:
        payload = {"task_id": self.task_id, "reason": "no longer needed"}
        people = sender or self.requester, self.worker
        return envelope(self.next_id(), "TaskCancel", payload, *people)

    def message(self, role: str, *, by_worker: bool = False) -> Json:
        people = (self.requester, self.worker)
        sender, recipient = reversed(people) if by_worker else people
        parts = ["known-part", {"type": "text", "content": f"about {self.task_id}"}]
        payload: Json = {"task_id": self.task_id, "message_id": f"m{self._count}", "role": role}
        payload |= {"sender": sender, "parts": parts}
        return envelope(self.next_id(), "MessageSend", payload, sender, recipient)

    def artifact(self) -> Json:
        payload = {"artifact_id": f"a{self._count}", "task_id": self.task_id, "name": None}
        people = self.worker, self.requester
        return envelope(self.next_id(), "ArtifactNotify", payload, *people)

    def query(self, version: int | None, *, by_worker: bool = True) -> Json:
        payload = {"task_id": self.task_id, "version": version}
        people = (self.requester, self.worker)
        sender, other = reversed(people) if by_worker else people
        recipient = other if self._count % 3 == 0 else SERVICE
        return envelope(self.next_id(), "StateQuery", payload, sender, recipient)

    def restore(self, snapshot_id: str, *, by_worker: bool = False) -> Json:
        payload = {"task_id": self.task_id, "snapshot_id": snapshot_id}
        people = (self.requester, self.worker)
        sender, other = reversed(people) if by_worker else people
        recipient = SERVICE if self._count % 2 else other
        return envelope(self.next_id(), "StateRestore", payload, sender, recipient)
