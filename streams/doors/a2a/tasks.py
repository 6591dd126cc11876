"""Tasks: runs and the facts about them, as A2A shows them.

A task is read at a version, that of its run.  The row of a run and the facts about it come to the
view one after the other; a task shows what both say.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas.summit.results import rounded_money
from schemas.summit.rules import BUDGET_TREE, TREE_STOPPED
from schemas.summit.words import COMPLETED, INVOKE, TERMINAL
from streams.access.callers import Caller
from streams.doors.a2a.calls import task_id_of
from streams.doors.a2a.cursors import Cursor, cursor_error
from streams.doors.a2a.errors import not_found
from streams.doors.a2a.mapping import ALL_MODES, mapping_of
from streams.doors.a2a.protocol import EXTENSION, MAX_HISTORY, Json
from streams.errors import NotFound
from streams.protocols.summit.queries import agents, runs
from streams.protocols.summit.queries.changes import Change, changes, newest_changes
from streams.views.reads import ReadOnlyStore

STATES: Mapping[str, str] = {
    "queued": "TASK_STATE_SUBMITTED",
    "running": "TASK_STATE_WORKING",
    "completed": "TASK_STATE_COMPLETED",
    "failed": "TASK_STATE_FAILED",
    "budget_exceeded": "TASK_STATE_FAILED",
    "cancelled": "TASK_STATE_CANCELED",
}
"""The state of a task for each state of its run."""
RUNNING = "running"
_EVIDENCE = ("provenance", "budget", "verificationStatus", "evidence")


class Selection(NamedTuple):
    """The parts of a task that a client wants to see.

    history: the number of its last messages.  modes: the media types of its output.
    """

    history: int = MAX_HISTORY
    modes: tuple[str, ...] = ALL_MODES
    with_artifacts: bool = True


class Snapshot(NamedTuple):
    """A task at one version.  cursor: that of the last event that it contains.

    key: that of the last change after which nothing is missing, None if the view has none yet.
    """

    task: Json
    cursor: Cursor
    key: bytes | None


def find_run(view: ReadOnlyStore, task_id: str, agent_id: str, caller: Caller | None) -> Json:
    """Return the row of a task that the caller may see: SummitRun, JSON.  Raises A2aError."""
    try:
        row = runs.require_row(view, task_id)
    except NotFound as exc:
        raise not_found(task_id) from exc
    if row["agentId"] != agent_id or not is_visible(row, caller):
        raise not_found(task_id)
    return row


def is_visible(row: Json, caller: Caller | None) -> bool:
    """Return whether a run is a task that the caller made, or may see as an operator."""
    if row["kind"] != INVOKE:
        return False
    return caller is None or caller.is_operator or row["caller"] == caller.principal


def context_of(row: Json) -> str:
    context: str | None = row["traceId"]
    return context or str(row["runId"])


def read_task(view: ReadOnlyStore, row: Json, selection: Selection) -> Snapshot:
    """Return a task as it stands.  row: SummitRun, JSON."""
    last: Change | None = None
    messages: list[Json] = []
    max_messages = max(selection.history, 1 if row["state"] == RUNNING and row["message"] else 0)
    for change in newest_changes(view, row["runId"]):
        if change.version > row["version"]:
            continue
        last = last or change
        if last.version < row["version"]:
            return read_task_as_of(view, row, Cursor(last.version), selection)
        if len(messages) == max_messages:
            break
        messages += _messages(row, change)
    status = status_of(row, row["state"], row["updatedAt"], row["version"], messages[:1])
    extension = {
        "sequence": row["version"],
        "cause": None if last is None else last.fact["cause"],
        "rule": row["reason"],
        "metrics": _present(rounded_money(row["metrics"])),
        **{name: _present(row[name]) for name in _EVIDENCE},
        "tree": runs.tree_totals(view, row),
        "error": _error(row),
    }
    output = runs.output_of(view, row) if selection.with_artifacts else None
    task = _task(
        view, row, status, messages[: selection.history][::-1], output, extension, selection
    )
    return Snapshot(task, Cursor(row["version"]), None if last is None else last.key)


def read_task_as_of(
    view: ReadOnlyStore, row: Json, cursor: Cursor, selection: Selection
) -> Snapshot:
    """Return a task as the fact of a past version left it.

    row: SummitRun, JSON, as it is now.  Raises A2aError for a cursor that the task never had.
    """
    past = _Past(row, max(1, selection.history))
    for change in changes(view, row["runId"]):
        if change.version > cursor.version:
            break
        past.apply(change)
    last, key = past.last, past.key
    if last is None or last.version != cursor.version:
        raise cursor_error(str(cursor))
    if cursor.is_artifact:
        if last.fact["toState"] != COMPLETED:
            raise cursor_error(str(cursor))
        past.state, past.at, past.rule, key = past.before
    status = status_of(row, past.state, past.at, last.version, list(past.history)[-1:])
    extension = {
        "sequence": last.version,
        "cause": last.fact["cause"],
        "rule": past.rule,
        "metrics": metrics_of(last.fact),
        "budget": _present(row["budget"]),
        "error": _error(row) if past.state in TERMINAL else None,
    }
    history = list(past.history)[-selection.history :] if selection.history else []
    output = past.output if selection.with_artifacts else None
    return Snapshot(_task(view, row, status, history, output, extension, selection), cursor, key)


_Before = tuple[str, str, str, bytes | None]


class _Past:
    """A task as its changes up to one make it.

    messages: how many of the last ones are kept.  before: state, time, rule and key before the
    last change.
    """

    def __init__(self, row: Json, messages: int) -> None:
        self._row = row
        self.last: Change | None = None
        self.key: bytes | None = None
        self.state, self.at, self.rule = "queued", row["createdAt"], ""
        self.before: _Before = (self.state, self.at, self.rule, self.key)
        self.output: Any = None
        self.history: deque[Json] = deque(maxlen=messages)

    def apply(self, change: Change) -> None:
        fact = change.fact
        self.before = self.state, self.at, self.rule, self.key
        self.last, self.key, self.at = change, change.key, fact["at"]
        if fact["toState"] is not None:
            self.state, self.rule = fact["toState"], reason_of(fact)
        if fact["toState"] == COMPLETED:
            self.output = fact["output"]
        self.history.extend(_messages(self._row, change))


def reason_of(fact: Json) -> str:
    """Return the rule of a change; a stop from above is accepted, and ends a run by another."""
    return BUDGET_TREE.code if fact["rule"] == TREE_STOPPED.code else str(fact["rule"])


def metrics_of(fact: Json) -> Json | None:
    """Return what the run had spent itself, if the fact says it."""
    figures = fact["figures"]
    if fact["subject"] != "reply" or "tokens" not in figures:
        return None
    return {"tokens": int(figures["tokens"]), "cost_usd": figures["cost_usd"]}


def status_of(row: Json, state: str, at: str, version: int, newest: list[Json]) -> Json:
    """Return the status of a task.  newest: its last message, in a list, if there is one."""
    status: Json = {"state": STATES[state], "timestamp": at}
    if state == RUNNING and newest and newest[0]["role"] == "ROLE_AGENT":
        status["message"] = newest[0]
    elif state in TERMINAL and row["error"] is not None and state != "cancelled":
        status["message"] = agent_message(row, version, row["error"]["message"])
    return status


def agent_message(row: Json, version: int, text: str) -> Json:
    return {
        "messageId": f"{row['runId']}/{version}",
        "contextId": context_of(row),
        "taskId": row["runId"],
        "role": "ROLE_AGENT",
        "parts": [{"text": text}],
    }


def artifact_of(view: ReadOnlyStore, row: Json, output: Json, modes: tuple[str, ...]) -> Json:
    """Return the output of a completed run as an artifact."""
    agent = agents.find(view, row["agentId"], row["evidence"]["manifestVersion"])
    assert agent is not None, "each version that was accepted is kept"
    parts = mapping_of(agent["manifest"]).show_output(output, modes)
    return {"artifactId": "output", "name": "output", "parts": parts}


def ids_of(row: Json) -> Json:
    return {"taskId": row["runId"], "contextId": context_of(row)}


def _messages(row: Json, change: Change) -> list[Json]:
    """Return the message that a change added to the history, if it added one."""
    fact = change.fact
    if change.version == 1:
        return [user_message(row, fact)]
    text = fact["replyMessage"]
    return [] if text is None else [agent_message(row, change.version, text)]


def user_message(row: Json, fact: Json) -> Json:
    """Return what the client sent; the inputs where the run did not keep it."""
    stored = (row["contextExtra"] or {}).get("a2a")
    stored = stored if isinstance(stored, dict) else {}
    message = stored.get("message")
    message = message if isinstance(message, dict) else stored
    message_id = message.get("messageId")
    if not isinstance(message_id, str) or row["runId"] != task_id_of(
        row["caller"], row["agentId"], message_id
    ):
        message, message_id = {}, f"{row['runId']}/1"  # it was made by other means
    if "parts" in message:
        return {**message, **ids_of(row)}
    parts = [{"data": fact["inputs"]}]
    return {"messageId": message_id, **ids_of(row), "role": "ROLE_USER", "parts": parts}


def _error(row: Json) -> Json | None:
    error = row["error"]
    return None if error is None else {"code": error["code"], "rule": row["reason"]}


def _present(value: Any) -> Any:
    """Return an object without members that have no value; None if nothing is left."""
    if not isinstance(value, dict):
        return value
    return {name: member for name, member in value.items() if member is not None} or None


def _task(
    view: ReadOnlyStore,
    row: Json,
    status: Json,
    history: list[Json],
    output: Any,
    extension: Json,
    selection: Selection,
) -> Json:
    task: Json = {"id": row["runId"], "contextId": context_of(row), "status": status}
    if isinstance(output, dict):
        task["artifacts"] = [artifact_of(view, row, output, selection.modes)]
    if history:
        task["history"] = history
    return {**task, "metadata": {EXTENSION: _present(extension)}}
