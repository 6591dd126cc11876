"""Envelopes as JSON, and an asap processor on a bench."""

from __future__ import annotations

from typing import Any

from schemas import asap, to_json
from streams.engine.processor import Message
from streams.engine.records import position
from streams.protocols.asap.processor import AsapProcessor
from streams.protocols.asap.processor.decision import TTL_TABLES
from streams.settings import Settings
from tests.unit.processing.harness import START_MS, Harness, Sent
from topology.asap import (
    ASAP_ENVELOPES,
    ASAP_EVENTS,
    ASAP_INBOX,
    ASAP_LINKS,
    ASAP_SNAPSHOTS_TABLE,
    ASAP_TASKS_TABLE,
)
from topology.core import LINEAGE_EDGES, RTES_RAW
from topology.keys import composite

__all__ = ["START_MS", "Bench", "Sent"]

Json = dict[str, Any]

PLANNER = "urn:asap:agent:planner"
INDEXER = "urn:asap:agent:indexer:eu"
STRANGER = "urn:asap:agent:stranger"
SERVICE = "urn:asap:agent:headrace"
CONVERSATION = "conv-7f"
SNAPSHOT = asap.EXT_SNAPSHOT

_DEFAULTS: dict[str, Json] = {
    "TaskRequest": {
        "conversation_id": CONVERSATION,
        "parent_task_id": None,
        "skill_id": "index.build",
        "input": {"pages": 42},
        "config": None,
    },
    "TaskResponse": {"status": "completed", "result": None, "final_state": None, "metrics": None},
    "TaskUpdate": {
        "update_type": "status_change",
        "status": "working",
        "progress": None,
        "input_request": None,
    },
    "TaskCancel": {"reason": None},
    "MessageSend": {"message_id": "m-1", "role": "user", "parts": []},
    "StateQuery": {"version": None},
    "StateRestore": {},
    "ArtifactNotify": {"artifact_id": "a-1", "name": None},
    "McpToolCall": {"tool_name": "search", "arguments": {}, "mcp_context": None},
    "McpToolResult": {"success": True, "result": {}, "error": None},
    "McpResourceFetch": {"resource_uri": "file:///pages"},
    "McpResourceData": {"resource_uri": "file:///pages", "content": {}},
}


def envelope(
    kind: str,
    payload: Json | None = None,
    *,
    id: str = "e-1",
    sender: str = INDEXER,
    recipient: str = PLANNER,
    **fields: Any,
) -> Json:
    """A canonical envelope; payload: the members that are not the usual ones."""
    return {
        "id": id,
        "asap_version": "0.1",
        "timestamp": "2026-01-01T00:00:00Z",
        "sender": sender,
        "recipient": recipient,
        "payload_type": kind,
        "payload": {**_DEFAULTS[kind], **(payload or {})},
        "correlation_id": None,
        "trace_id": None,
        "extensions": None,
        **fields,
    }


class Bench(Harness):
    """An asap processor; the clock stands still unless it is advanced."""

    processor: AsapProcessor

    def __init__(self, partitions: int = 1, **settings: Any) -> None:
        named = Settings.load({}, **settings).as_work()
        super().__init__(AsapProcessor(), named, partitions=partitions)
        self._ids = 0

    def record(self, value: Json, at: int | None = None, **more: Any) -> Message:
        """The next record of `asap.envelopes`."""
        if "key" not in more:
            more["key"] = asap.task_key(value)
        return self.message(value, self.now if at is None else at, topic=ASAP_ENVELOPES, **more)

    def put(self, value: Json, at: int | None = None, **more: Any) -> list[Sent]:
        """What one envelope causes, links included, until all is at rest."""
        return self.settle(self.decide(self.record(value, at, **more)))

    def settle(self, sent: list[Sent]) -> list[Sent]:
        """Let the processor read the links that it writes."""
        outputs, links = list(sent), self.of(ASAP_LINKS, sent)
        while links:
            messages = [
                self.message(link.value, self.now, key=link.key, avro=True, topic=ASAP_LINKS)
                for link in links
            ]
            caused = [one for message in messages for one in self.decide(message)]
            outputs += caused
            links = self.of(ASAP_LINKS, caused)
        return outputs

    def send(self, value: Json, at: int | None = None, **more: Any) -> Json:
        """The fact of one envelope, alone in its batch, with nothing else decided by it."""
        message = self.record(value, at, **more)
        sent = self.settle(self.decide(message))
        (fact,) = (
            one for one in self.of(ASAP_EVENTS, sent) if one.cause == position(message.record)
        )
        return fact.json

    def send_envelope(self, kind: str, payload: Json | None = None, **more: Any) -> Json:
        """The fact of an envelope with an id of its own.  at, key: of its record."""
        self._ids += 1
        record = {name: more.pop(name) for name in ("at", "key") if name in more}
        return self.send(envelope(kind, payload, **{"id": f"id-{self._ids}", **more}), **record)

    def request(self, task_id: str = "T", payload: Json | None = None, **more: Any) -> Json:
        parties = {"sender": PLANNER, "recipient": INDEXER}
        return self.send_envelope("TaskRequest", payload, **{"id": task_id, **parties, **more})

    def worker(self, kind: str, payload: Json | None = None, **more: Any) -> Json:
        """What the worker of the task T says, to the requester."""
        return self.send_envelope(kind, {"task_id": "T", **(payload or {})}, **more)

    def requester(self, kind: str, payload: Json | None = None, **more: Any) -> Json:
        """What the requester of the task T says, to the worker."""
        parties = {"sender": PLANNER, "recipient": INDEXER}
        return self.send_envelope(kind, {"task_id": "T", **(payload or {})}, **{**parties, **more})

    def update(self, status: str = "working", **more: Any) -> Json:
        return self.worker("TaskUpdate", {"status": status}, **more)

    def respond(self, status: str = "completed", payload: Json | None = None, **more: Any) -> Json:
        members = {"status": status, **(payload or {})}
        return self.worker("TaskResponse", members, **{"correlation_id": "T", **more})

    def save(self, state: Json, **more: Any) -> Json:
        """The worker sends a state to the service."""
        extensions = {SNAPSHOT: state}
        return self.worker("TaskUpdate", recipient=SERVICE, extensions=extensions, **more)

    def task(self, task_id: str = "T") -> Json:
        row = self.row(ASAP_TASKS_TABLE, composite(task_id))
        assert row is not None
        assert ASAP_TASKS_TABLE.record is not None
        return to_json(ASAP_TASKS_TABLE.record, row)

    def snapshot(self, version: int, task_id: str = "T") -> Json | None:
        row = self.row(ASAP_SNAPSHOTS_TABLE, composite(task_id, str(version)))
        return None if row is None else to_json(ASAP_SNAPSHOTS_TABLE.record, row)

    def versions(self, task_id: str = "T") -> list[int]:
        rows = self.rows(ASAP_SNAPSHOTS_TABLE).values()
        return sorted(row["version"] for row in rows if row["task_id"] == task_id)

    def armed(self) -> list[tuple[int, str, str]]:
        """Timers that are more than housekeeping."""
        return sorted(timer for timer in self.timers if timer[1] not in TTL_TABLES)

    def inbox(self, recipient: str) -> list[Json]:
        return [one.json for one in self.of(ASAP_INBOX) if one.key == recipient]

    def facts(self) -> list[Json]:
        return [one.json for one in self.of(ASAP_EVENTS)]

    def edges(self) -> list[tuple[str, str, str]]:
        values = [one.value for one in self.of(LINEAGE_EDGES)]
        return [(v["from_node"], v["relation"], v["to_node"]) for v in values]

    def moves(self) -> list[tuple[str, str]]:
        """The transitions that RTES was told."""
        payloads = [one.value["payload"][1] for one in self.of(RTES_RAW)]
        return [(m["from_state"], m["to_state"]) for m in payloads if "from_state" in m]

    def put_in(self, status: str, **request: Any) -> None:
        """Take the task T to a status, by what agents say."""
        self.request(**request)
        for step in _WAYS[status]:
            if step == "cancel":
                assert self.requester("TaskCancel")["verdict"] == "accepted"
            else:
                assert self.update(step)["verdict"] == "accepted"


_WAYS: dict[str, list[str]] = {
    "submitted": [],
    "working": ["working"],
    "input_required": ["working", "input_required"],
    "paused": ["working", "paused"],
    "completed": ["working", "completed"],
    "failed": ["working", "failed"],
    "cancelled": ["cancel"],
    "rejected": ["rejected"],
}
