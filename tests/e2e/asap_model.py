"""A task as the spec tells it, written anew: what each envelope comes to, and what of the task.

Nothing of the processor, of the machine's table or of the library's folding is called.

Source: ASAP guide, 4 and 5.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from schemas.asap import derived_id
from streams.engine.headers import iso
from tests.e2e.asap_states import SNAPSHOT, States, change_of, ms_of, shown_time, snapshot_view
from tests.e2e.outputs import Json

SERVICE = "urn:asap:agent:headrace"
FOLLOWING: dict[str, tuple[str, ...]] = {
    "submitted": ("working", "rejected", "cancelled"),
    "working": ("input_required", "paused", "completed", "failed", "cancelled"),
    "input_required": ("working", "cancelled"),
    "paused": ("working", "cancelled"),
    "completed": (),
    "failed": (),
    "cancelled": (),
    "rejected": (),
}
"""The 12 steps that agents may take (4.1)."""
TERMINAL = frozenset(status for status, after in FOLLOWING.items() if not after)
OF_WORKER = ("TaskUpdate", "TaskResponse", "ArtifactNotify")
OF_BOTH = ("MessageSend", "StateQuery", "StateRestore")
TO_SERVICE = ("TaskUpdate", "StateQuery", "StateRestore")
UNTOUCHED = ("state_read", "state_saved", "message_forwarded", "artifact_noted")
"""Rules that leave `updated_at` as it is."""

Step = tuple[str | None, str, bool]


class Expected(NamedTuple):
    """steps: from, to, whether it is implied."""

    rule: str
    steps: tuple[Step, ...] = ()


def steps_to(status: str, target: str, *, implied: bool) -> tuple[Step, ...] | None:
    """None: there is no way.  implied: one by way of `working` is allowed."""
    if target == status:
        return ()
    if target in FOLLOWING[status]:
        return ((status, target, False),)
    if implied and "working" in FOLLOWING[status] and target in FOLLOWING["working"]:
        return ((status, "working", True), ("working", target, False))
    return None


class Task:
    """row: as in asap.tasks.  history: the entity after each event, from the first."""

    def __init__(self, fact: Json) -> None:
        envelope = fact["envelope"]
        payload, config = envelope["payload"], envelope["payload"]["config"] or {}
        mode = config.get("state_mode") or "snapshot"
        sourced = mode == "event-sourced"
        self.states = States(envelope["id"], fact["at"], sourced=sourced)
        self.due_ms = ms_of(fact["at"]) + round((config.get("timeout_seconds") or 600) * 1000)
        self.request = envelope
        self.history: list[Json] = []
        self.row: Json = {
            "task_id": envelope["id"],
            "conversation_id": payload["conversation_id"],
            "parent_task_id": payload["parent_task_id"],
            "depth": fact["figures"]["depth"],
            "requester": envelope["sender"],
            "worker": envelope["recipient"],
            "skill_id": payload["skill_id"],
            "status": "submitted",
            "progress": None,
            "input_request": None,
            "config": payload["config"],
            "created_at": fact["at"],
            "updated_at": fact["at"],
            "sequence": 1,
            "state_mode": mode,
            "event_retention_hours": config.get("event_retention_hours", 168) if sourced else None,
            "events_available": True,
            "timeout_at": iso(self.due_ms).decode(),
            "idempotency_key": config.get("idempotency_key"),
            "trace_id": envelope["trace_id"],
            "aliases": [],
            "response": None,
            "error_code": None,
            "snapshot_version": None,
            "snapshot_mark": 0,
            "request_hash": fact["envelope_hash"],
            "cause": fact["cause"],
        }
        self.history.append(self._shown())

    def _shown(self) -> Json:
        """The entity Task of 2.2."""
        row = self.row
        names = ("conversation_id", "parent_task_id", "status", "progress")
        times = {name: shown_time(row[name]) for name in ("created_at", "updated_at")}
        return {"id": self.id, **{name: row[name] for name in names}, **times}

    @property
    def id(self) -> str:
        return str(self.row["task_id"])

    @property
    def status(self) -> str:
        return str(self.row["status"])

    @property
    def terminal(self) -> bool:
        return self.status in TERMINAL

    def judge(self, envelope: Json) -> Expected:
        """What an envelope comes to that is neither broken nor known."""
        kind = envelope["payload_type"]
        refused = self._role(kind, envelope["sender"], envelope["recipient"])
        if refused is None and kind in ("TaskUpdate", "TaskResponse"):
            refused = self._alias(envelope["payload"]["task_id"])
        if refused is not None:
            return Expected(refused)
        judge = {
            "TaskUpdate": self._update,
            "TaskResponse": self._response,
            "TaskCancel": self._cancel,
            "MessageSend": self._message,
            "ArtifactNotify": lambda _: Expected("artifact_noted"),
            "StateQuery": lambda _: Expected("state_read"),
            "StateRestore": self._restore,
        }
        return judge[kind](envelope)

    def _role(self, kind: str, sender: str, recipient: str) -> str | None:
        requester, worker = self.row["requester"], self.row["worker"]
        senders = (requester, worker) if kind in OF_BOTH else (requester,)
        if kind in OF_WORKER:
            senders = (worker,)
        if sender not in senders:
            return "not_participant"
        recipients = {worker if sender == requester else requester}
        if kind in TO_SERVICE:
            recipients.add(SERVICE)
        return None if recipient in recipients else "wrong_recipient"

    def _alias(self, named: str) -> str | None:
        known = named == self.id or named in self.row["aliases"]
        return None if known or len(self.row["aliases"]) < 16 else "too_many_aliases"

    def _update(self, envelope: Json) -> Expected:
        payload, to_service = envelope["payload"], envelope["recipient"] == SERVICE
        kind, target = payload["update_type"], payload["status"]
        if self.terminal:
            return Expected("task_already_terminal")
        steps: tuple[Step, ...] | None = ()
        if not to_service:
            asks = kind == "input_required" and target != "input_required"
            if asks or (kind == "progress" and target in TERMINAL):
                return Expected("update_type_mismatch")
            steps = steps_to(self.status, target, implied=False)
        if steps is None:
            return Expected("invalid_transition")
        if self.states.conflicts(change_of(envelope)):
            return Expected("state_mode_conflict")
        rule = "status_changed" if steps else "progress_noted"
        return Expected("state_saved" if to_service else rule, steps)

    def _response(self, envelope: Json) -> Expected:
        target = envelope["payload"]["status"]
        if self.terminal:
            agrees = target == self.status and self.row["response"] is None
            return Expected("response_recorded" if agrees else "task_already_terminal")
        steps = steps_to(self.status, target, implied=True)
        if steps is None:
            return Expected("invalid_transition")
        if target in TERMINAL:
            return Expected("response_recorded", steps)
        return Expected("status_changed" if steps else "progress_noted", steps)

    def _cancel(self, _: Json) -> Expected:
        if self.terminal:
            return Expected("task_already_terminal")
        return Expected("task_cancelled", ((self.status, "cancelled", False),))

    def _message(self, envelope: Json) -> Expected:
        user = envelope["sender"] == self.row["requester"] and envelope["payload"]["role"] == "user"
        if user and self.status == "input_required":
            return Expected("input_received", (("input_required", "working", False),))
        return Expected("message_forwarded")

    def _restore(self, envelope: Json) -> Expected:
        if self.terminal:
            return Expected("task_already_terminal")
        snapshot = self.states.named(envelope["payload"]["snapshot_id"], self.row["sequence"])
        return Expected("snapshot_not_found" if snapshot is None else "state_restored")

    def apply(self, fact: Json) -> list[Json]:
        """Go on by an accepted envelope or by the timer; returns what the service says to that."""
        row, before = self.row, self.row["sequence"]
        row["sequence"], row["cause"] = before + 1, fact["cause"]
        self.states.go_on(fact["at"])
        for step in fact["transitions"]:
            row["status"] = step["to_status"]
            if row["status"] != "input_required":
                row["input_request"] = None
        if fact["rule"] not in UNTOUCHED:
            row["updated_at"] = fact["at"]
        responses = list(self._said(fact, before))
        row["snapshot_version"], row["snapshot_mark"] = self.states.highest, self.states.mark
        self.history.append(self._shown())
        return responses

    def expire(self, fact: Json) -> None:
        """Its events are not kept any more."""
        self.states.expire(fact)
        self.row |= {"events_available": False, "cause": fact["cause"]}
        self.row |= {"snapshot_version": self.states.highest, "snapshot_mark": self.states.mark}

    def _said(self, fact: Json, before: int) -> Iterator[Json]:
        row, envelope = self.row, fact["envelope"]
        ids = (derived_id(fact["cause"], n, ms_of(fact["at"])) for n in (2, 3))
        if envelope is None:
            row["error_code"] = fact["asap_error"]
            error = {"code": fact["asap_error"], "message": fact["detail"]}
            about: Json = {"correlation_id": self.id, "trace_id": row["trace_id"]}
            about["extensions"] = {"dev.headrace.error": error}
            for urn in (row["requester"], row["worker"]):
                yield self._service(fact, id=next(ids), recipient=urn, **about)
            return
        about = {"correlation_id": envelope["id"], "trace_id": envelope["trace_id"]}
        asker, payload = envelope["sender"], envelope["payload"]
        if envelope["payload_type"] == "StateQuery":
            about["extensions"] = {SNAPSHOT: self.states.queried_state(payload["version"], before)}
            yield self._service(fact, id=next(ids), recipient=asker, **about)
        elif envelope["payload_type"] == "StateRestore":
            old = self.states.named(payload["snapshot_id"], before)
            assert old is not None, fact["cause"]
            new = self.states.save(fact, old["data"], restored_from=old["version"])
            about["extensions"] = {SNAPSHOT: snapshot_view(new)}
            yield self._service(fact, id=next(ids), recipient=asker, **about)
            if asker == row["requester"]:
                about["correlation_id"] = self.id
                about["extensions"] = {SNAPSHOT: snapshot_view(new), "dev.headrace.restore": True}
                yield self._service(fact, id=next(ids), recipient=row["worker"], **about)
        elif envelope["payload_type"] in ("TaskUpdate", "TaskResponse"):
            self._follow(envelope, fact)

    def _follow(self, envelope: Json, fact: Json) -> None:
        row, payload = self.row, envelope["payload"]
        named, change = payload["task_id"], change_of(envelope)
        if named != self.id and named not in row["aliases"]:
            row["aliases"] = [*row["aliases"], named]
        if envelope["recipient"] != SERVICE:
            if payload.get("progress") is not None:
                row["progress"] = payload["progress"]
            if self.status == "input_required" and payload.get("input_request") is not None:
                row["input_request"] = payload["input_request"]
        if fact["rule"] == "response_recorded":
            row["response"] = envelope
        if change is not None:
            self.states.change(change, fact)

    def _service(self, fact: Json, **members: object) -> Json:
        """A TaskUpdate in the service's name."""
        payload = {
            "task_id": self.id,
            "update_type": "status_change",
            "status": self.status,
            "progress": None,
            "input_request": None,
        }
        return {
            "asap_version": "0.1",
            "timestamp": shown_time(fact["at"]),
            "sender": SERVICE,
            "payload_type": "TaskUpdate",
            "payload": payload,
            **members,
        }
