"""The facts of a run, folded in their order into tasks, calls and all that they promise.

On the way each fact is compared with what the spec says of its command as things stood then.

Source: ASAP guide, 4 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from schemas import asap
from tests.e2e.asap_calls import Call
from tests.e2e.asap_history import AsapHistory, Entry
from tests.e2e.asap_model import Expected, Step, Task
from tests.e2e.asap_standing import DUPLICATE, AsapState, record_key, verdict_of
from tests.e2e.asap_states import ms_of
from tests.e2e.outputs import Json
from topology.asap import ASAP_ENVELOPES, ASAP_EVENTS, ASAP_MANIFESTS

AT_ONCE = frozenset({"key_mismatch", "partition_mismatch", "held_overflow"})
"""Rules that may decide a record before those that came before it and are held."""
UNDELIVERED = frozenset({"state_saved", "state_read", "state_restored"})


class Promise(NamedTuple):
    """A delivery to an inbox, by one decision."""

    cause: str
    recipient: str
    envelope: Json


class Report(NamedTuple):
    """What a decision tells RTES, as the n-th."""

    cause: str
    n: int
    session: str
    payload: Json


class Fold:
    """created, responses: the entry of each task's first fact, and of its response."""

    def __init__(self, history: AsapHistory) -> None:
        self.faults: list[str] = []
        self.standing = AsapState({entry.text_key for entry in history.of(ASAP_MANIFESTS)})
        self.tasks, self.calls = self.standing.tasks, self.standing.calls
        self.created: dict[str, Entry] = {}
        self.responses: dict[str, Entry] = {}
        self.promises: list[Promise] = []
        self.reports: list[Report] = []
        self._commands = {entry.place: entry for entry in history.of(ASAP_ENVELOPES)}
        self._last: dict[bytes | None, int] = {}
        kinds: dict[str, Callable[[Entry], None]] = {
            "envelope": self._envelope,
            "timeout": self._timeout,
            "call_timeout": self._call_timeout,
            "expired": self._expired,
            "manifest": lambda _: None,
        }
        for entry in history.of(ASAP_EVENTS):
            kinds[entry.value["kind"]](entry)

    def _fault(self, text: str) -> None:
        self.faults.append(text)

    def _envelope(self, entry: Entry) -> None:
        fact = entry.value
        command = self._commands.get(fact["cause"])
        if command is None or command.json is None:
            self._fault(f"{entry.place} is about {fact['cause']}, which cannot be judged")
            return
        self._in_turn(entry, command)
        expected = self._compared(entry, command)
        if fact["rule"] in DUPLICATE:
            self._duplicate(command, fact)
        if fact["verdict"] != "accepted":
            self._without_effect(entry)
        elif fact["envelope"] != command.value:
            self._fault(f"{entry.place} has another envelope than {command.place}")
        else:
            self._accepted(entry, expected)

    def _in_turn(self, entry: Entry, command: Entry) -> None:
        """Records of one key are decided in their order, but for those that are broken."""
        fact = entry.value
        if fact["rule"] in AT_ONCE or fact["figures"].get("violations"):
            return
        offset = int(command.place.rsplit("/", 1)[1])
        if self._last.get(entry.key, -1) >= offset:
            self._fault(f"{command.place} is decided after a later one of its key")
        self._last[entry.key] = offset

    def _compared(self, entry: Entry, command: Entry) -> Expected:
        fact = entry.value
        late = self.standing.overdue(command)
        if late is not None and fact["rule"] not in AT_ONCE:
            self._fault(f"{command.place} is decided before {late} ends, which was due before")
        expected = self.standing.expected(command, fact["rule"])
        if fact["rule"] != expected.rule:
            self._fault(f"{command.place} is {fact['rule']} where {expected.rule} was due")
        if fact["verdict"] != verdict_of(fact["rule"]):
            self._fault(f"{entry.place} is {fact['verdict']} by {fact['rule']}")
        if ms_of(fact["at"]) != command.at:
            self._fault(f"{entry.place} is dated {fact['at']}, its command {command.at}")
        if fact["verdict"] == "accepted" and fact["envelope_hash"] != asap.hash_of(command.value):
            self._fault(f"{entry.place} has a hash that is not its envelope's")
        return expected

    def _duplicate(self, command: Entry, fact: Json) -> None:
        if fact["rule"] == "same_idempotency_key":
            self.standing.redirects[record_key(command.value)] = fact["task_id"]
            return
        known = self.standing.known(command.value)
        first = None if known is None else known[1]
        if fact["figures"]["first_sequence"] != first:
            self._fault(f"{command.place} is said to repeat {fact['figures']}, not {first}")

    def _without_effect(self, entry: Entry) -> None:
        fact = entry.value
        if fact["envelope"] or fact["transitions"] or fact["sequence"] is not None:
            self._fault(f"{entry.place} is {fact['verdict']}, and has an effect")
        has_reason = fact["asap_error"] and fact["detail"] and fact["fault"]
        if fact["verdict"] == "rejected" and not has_reason:
            self._fault(f"{entry.place} does not say why it is rejected")

    def _accepted(self, entry: Entry, expected: Expected) -> None:
        fact, envelope = entry.value, entry.value["envelope"]
        key = record_key(envelope)
        seen = (key, envelope["sender"], envelope["id"])
        self.standing.seen[seen] = fact["envelope_hash"], fact["sequence"]
        if fact["rule"] not in UNDELIVERED:
            self.promises.append(Promise(fact["cause"], envelope["recipient"], envelope))
        if envelope["payload_type"].startswith("Mcp"):
            self._call(key, entry)
        elif fact["rule"] == "task_created":
            if key in self.tasks:
                self._fault(f"the task {key} is created again by {entry.place}")
            self.tasks[key], self.created[key] = Task(fact), entry
            self._moved(entry, self.tasks[key], expected.steps)
        elif key not in self.tasks:
            self._fault(f"{entry.place} is about the task {key}, which is not created")
        else:
            if fact["rule"] == "response_recorded":
                self.responses[key] = entry
            self._go_on(self.tasks[key], entry, expected.steps)

    def _go_on(self, task: Task, entry: Entry, steps: Sequence[Step]) -> None:
        fact = entry.value
        responses = task.apply(fact)
        self._moved(entry, task, steps)
        self.promises += [Promise(fact["cause"], each["recipient"], each) for each in responses]
        version, states = fact["snapshot_version"], task.states
        if version != states.saved:
            self._fault(f"{entry.place} saves version {version} where {states.saved} was due")
        if fact["figures"].get("deleted", []) != states.deleted:
            self._fault(f"{entry.place} deletes other versions than {states.deleted}")

    def _moved(self, entry: Entry, task: Task, steps: Sequence[Step]) -> None:
        fact, sequence = entry.value, task.row["sequence"]
        taken = tuple(tuple(step.values()) for step in fact["transitions"])
        if taken != tuple(steps):
            self._fault(f"{entry.place} goes by {taken} where {tuple(steps)} was due")
        if fact["sequence"] != sequence:
            self._fault(f"{entry.place} has sequence {fact['sequence']}, not {sequence}")
        if fact["status"] != task.status:
            self._fault(f"{entry.place} says {fact['status']}, the task is {task.status}")
        payloads = [
            {
                "type": "TASK_TRANSITION",
                "task_id": task.id,
                "from_state": step["from_status"] or "none",
                "to_state": step["to_status"],
                "timestamp": fact["at"],
            }
            for step in fact["transitions"]
        ]
        self._reported(fact, [(task.row["conversation_id"], each) for each in payloads])

    def _call(self, key: str, entry: Entry) -> None:
        fact, envelope = entry.value, entry.value["envelope"]
        if fact["rule"] == "call_opened":
            self.calls[key] = Call(key, envelope, fact["at"], fact["figures"]["timeout_ms"])
            self._reported(fact, self.calls[key].opened())
        elif key in self.calls:
            status = "success" if envelope["payload"].get("success") else "failure"
            self._reported(fact, self.calls[key].closed(status, fact["at"]))
        else:
            self._fault(f"{entry.place} answers the call {key}, which is not opened")

    def _reported(self, fact: Json, payloads: Sequence[tuple[str, Json]]) -> None:
        self.reports += [Report(fact["cause"], n, *each) for n, each in enumerate(payloads)]

    def _timeout(self, entry: Entry) -> None:
        task = self.tasks.get(entry.text_key)
        if task is None or task.terminal:
            self._fault(f"{entry.place} ends a task that is not open")
            return
        self._due(entry, "task", task.due_ms)
        self._go_on(task, entry, ((task.status, "failed", False),))

    def _call_timeout(self, entry: Entry) -> None:
        call = self.calls.get(entry.text_key)
        if call is None or not call.is_open:
            self._fault(f"{entry.place} ends a call that is not open")
            return
        self._due(entry, "call", call.due_ms)
        self._reported(entry.value, call.closed("timeout", entry.value["at"]))

    def _due(self, entry: Entry, kind: str, due_ms: int) -> None:
        fact = entry.value
        cause = f"timer/{kind}/{entry.text_key}/{due_ms}"
        if ms_of(fact["at"]) != due_ms or fact["cause"] != cause or fact["verdict"] is not None:
            self._fault(f"{entry.place} is by {fact['cause']} at {fact['at']}, not by {cause}")

    def _expired(self, entry: Entry) -> None:
        fact, task = entry.value, self.tasks.get(entry.text_key)
        if task is None or not task.terminal or not task.row["events_available"]:
            self._fault(f"{entry.place} forgets the events of a task that has none to forget")
            return
        task.expire(fact)
        if fact["snapshot_version"] != task.states.saved:
            self._fault(f"{entry.place} does not keep the last state, {task.states.saved}")
