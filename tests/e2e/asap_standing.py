"""What was decided so far, and what the next envelope comes to by that.

Source: ASAP guide, 3.1, 5.1 to 5.3.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from schemas import asap
from tests.e2e import asap_calls
from tests.e2e.asap_calls import Call
from tests.e2e.asap_history import Entry
from tests.e2e.asap_model import Expected, Task
from tests.e2e.outputs import PARTITIONS, Json
from topology.keys import partition_of

ACCEPTED = frozenset(
    {
        *("task_created", "status_changed", "progress_noted", "state_saved", "response_recorded"),
        *("task_cancelled", "message_forwarded", "input_received", "state_read", "state_restored"),
        *("artifact_noted", "call_opened", "call_answered"),
        *("manifest_accepted", "manifest_withdrawn"),
    }
)
DUPLICATE = frozenset({"same_envelope", "same_idempotency_key"})
OF_TASK_ID = frozenset(
    {"TaskCancel", "MessageSend", "StateQuery", "StateRestore", "ArtifactNotify"}
)
CREATED = Expected("task_created", ((None, "submitted", False),))


def verdict_of(rule: str) -> str:
    if rule in ACCEPTED:
        return "accepted"
    return "duplicate" if rule in DUPLICATE else "rejected"


def record_key(envelope: Json) -> str:
    """5.1."""
    kind, payload = envelope["payload_type"], envelope["payload"]
    if kind in ("TaskRequest", "McpResourceFetch"):
        return str(envelope["id"])
    if kind in ("McpToolCall", "McpToolResult"):
        return str(payload["request_id"])
    if kind in OF_TASK_ID:
        return str(payload["task_id"])
    return str(envelope["correlation_id"] or payload.get("task_id"))


@dataclass
class AsapState:
    """agents: those with a manifest, for as long as the run lasts.  tasks, calls: by key.

    redirects: the holder's id by the key of a request that it answers.
    seen: hash and sequence of what was accepted, by key, sender and envelope id.
    """

    agents: Set[str]
    tasks: dict[str, Task] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    seen: dict[tuple[str, str, str], tuple[str, int | None]] = field(default_factory=dict)

    def expected(self, command: Entry, rule: str) -> Expected:
        """rule: that of the verdict, which depends on other keys for a request."""
        envelope, key = command.value, record_key(command.value)
        problems = asap.validate(envelope)
        if problems:
            return Expected(problems[0].rule)
        if command.key != key.encode():
            return Expected("key_mismatch")
        if command.partition != partition_of(command.key, PARTITIONS):
            return Expected("partition_mismatch")
        if rule == "held_overflow":
            return Expected(rule)
        known = self.known(envelope)
        if known is not None:
            same = known[0] == asap.hash_of(envelope)
            return Expected("same_envelope" if same else "id_conflict")
        if envelope["payload_type"] == "TaskRequest":
            return self._requested(envelope, rule)
        if envelope["payload_type"].startswith("Mcp"):
            return self._called(key, envelope)
        if key not in self.tasks:
            return Expected("task_redirected" if key in self.redirects else "task_not_found")
        return self.tasks[key].judge(envelope)

    def known(self, envelope: Json) -> tuple[str, int | None] | None:
        """Hash and sequence of what was accepted under this id."""
        key = record_key(envelope)
        if envelope["payload_type"] == "TaskRequest" and key in self.tasks:
            return self.tasks[key].row["request_hash"], 1
        return self.seen.get((key, envelope["sender"], envelope["id"]))

    def overdue(self, command: Entry) -> str | None:
        """What should have ended before the command was judged.

        Its timer may fire after the command is decided, so only who judges by it lets it end first:
        not where the command is wrong in itself, or was accepted before, or calls once more.
        """
        envelope, key = command.value, record_key(command.value)
        if asap.validate(envelope) or self.known(envelope) is not None:
            return None
        task, call = self.tasks.get(key), self.calls.get(key)
        if task is not None and not task.terminal and command.at > task.due_ms:
            return f"the task {key}"
        answers = call is not None and asap_calls.answers(call, envelope)
        if call is not None and answers and call.is_open and command.at > call.due_ms:
            return f"the call {key}"
        return None

    def _requested(self, envelope: Json, rule: str) -> Expected:
        """What other keys say is seen later: here, whether it may be so."""
        if self._unknown(envelope):
            return Expected("agent_not_found")
        payload = envelope["payload"]
        keyed = bool((payload["config"] or {}).get("idempotency_key"))
        if rule == "same_idempotency_key" and keyed:
            return Expected(rule)
        if rule == "depth_exceeded" and payload["parent_task_id"]:
            return Expected(rule)
        return CREATED

    def _called(self, key: str, envelope: Json) -> Expected:
        if envelope["payload_type"] in asap_calls.OPENING and self._unknown(envelope):
            return Expected("agent_not_found")
        return Expected(asap_calls.judge(self.calls.get(key), envelope))

    def _unknown(self, envelope: Json) -> bool:
        return bool(self.agents) and envelope["recipient"] not in self.agents
