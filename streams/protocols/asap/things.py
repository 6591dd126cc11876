"""Tasks, envelopes, snapshots, artifacts, calls and conversations, as things."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from schemas import decode, to_json
from schemas.formats import parse_ms
from streams.api.route import Call
from streams.api.things import (
    Ids,
    Step,
    Thing,
    ThingAgent,
    ThingQuery,
    ThingVerdict,
    cause_or_none,
    last_change,
    steps_since_made,
    unknown_node,
)
from streams.protocols.asap import as_of
from streams.protocols.asap.long_work import LONG_WORK
from streams.protocols.asap.queries import messages, states, tasks, verdicts
from streams.protocols.asap.queries.rows import TASKS, call_end_key
from streams.replay.as_of.query import value_of
from streams.views.keys import key, text_key
from streams.views.parse import QueryParams
from streams.views.reads import ReadOnlyStore
from streams.views.service.verdicts import VERDICTS
from topology.asap import ASAP_EVENTS, ASAP_SNAPSHOTS
from topology.keys import composite
from topology.machines import asap_call, asap_task

Fact = Mapping[str, Any]
"""An AsapEvent as JSON, but `at`, which is in ms since the epoch."""
_ACCEPTED, _NOTED, _SAVED = "accepted", "noted", "saved"
_TASK_EVENTS = {
    target: event for (_, event), target in asap_task.MACHINE.edges.items() if event != "time_out"
}
"""The agents' event that leads to a state."""
_CALL_EVENTS = {"open": "call", "answered": "answer", "timed_out": "time_out"}


def _facts(view: ReadOnlyStore, pointers: Iterable[bytes | None]) -> Iterator[Fact]:
    """Yield the facts at these keys, without those that have expired."""
    for row in view.get_many([each for each in pointers if each is not None]):
        if row:
            value = decode(row, ASAP_EVENTS.record or "").value
            yield {**to_json(ASAP_EVENTS.record or "", value), "at": value["at"]}


def _indexed(view: ReadOnlyStore, name: str, id: str) -> Iterator[Fact]:
    return _facts(view, [pointer for _, pointer in view.scan(key(name) + text_key(id))])


def _step(fact: Fact, event: str | None, before: str | None, after: str | None) -> Step:
    return Step(
        at=fact["at"],
        event=event,
        before=before,
        after=after,
        verdict=fact["verdict"],
        rule=fact["rule"],
        message=fact["detail"],
        cause=cause_or_none(fact["cause"]),
    )


def _verdicts(facts: Iterable[Fact]) -> list[ThingVerdict]:
    return [
        ThingVerdict(
            at=fact["at"],
            verdict=fact["verdict"],
            rule=fact["rule"],
            message=fact["detail"],
            fault=fact["fault"],
            figures=fact["figures"],
            errors=(),
            checks=(),
            cause=cause_or_none(fact["cause"]),
            fact=None,
        )
        for fact in facts
        if fact["verdict"] in VERDICTS
    ]


def _find_task(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    return [{"id": unquote(name)}]


def _task(call: Call) -> Thing:
    row = tasks.require_task(call.view, call.ids["id"])
    task_id = row["task_id"]
    facts = list(_indexed(call.view, "asap event", task_id))
    steps = list(_task_steps(facts)) or [_last_step(row)]
    is_end = row["status"] in asap_task.MACHINE.terminal
    return Thing(
        node=f"asap:task:{composite(task_id)}",
        title=f"{row['skill_id']} {task_id[:8]}",
        state=steps[-1].after,
        terminal=is_end,
        machine=asap_task.MACHINE.name,
        api=_task_path(task_id),
        details=lambda: tasks.task(call.view, task_id),
        steps=steps,
        facts=ASAP_EVENTS,
        verdicts=lambda: _verdicts(facts),
        agents=_participants(row),
        session_id=row["conversation_id"],
        trace=row["trace_id"],
        started_at=parse_ms(row["created_at"]),
        ended_at=last_change(steps) if is_end else None,
        due_at=None if is_end else parse_ms(row["timeout_at"]),
    )


def _task_path(task_id: str, *more: str) -> str:
    return "/".join(("/v1/asap/tasks", *(quote(part, safe="") for part in (task_id, *more))))


def _participants(row: Mapping[str, Any]) -> list[ThingAgent]:
    return [ThingAgent(row["requester"], "requester"), ThingAgent(row["worker"], "worker")]


def _task_steps(facts: Iterable[Fact]) -> Iterator[Step]:
    state: str | None = None
    for fact in facts:
        after, event = fact["status"] or state, None
        if fact["transitions"]:
            is_timer = fact["verdict"] is None
            event = "time_out" if is_timer else _TASK_EVENTS[fact["transitions"][-1]["to_status"]]
        yield _step(fact, event, state, after)
        state = after


def _last_step(row: Mapping[str, Any]) -> Step:
    """Return the one step that is known of a task whose events have expired."""
    return Step(parse_ms(row["updated_at"]) or 0, None, None, row["status"])


def _find_envelope(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    return [{"envelope_id": unquote(name)}]


def _envelope(call: Call) -> Thing:
    envelope_id = call.ids["envelope_id"]
    facts = list(_indexed(call.view, "asap verdict", envelope_id))
    node = f"asap:envelope:{composite(envelope_id)}"
    steps = list(_message_steps(facts, _ACCEPTED))
    if not steps:
        raise unknown_node(node)
    accepted = next(fact for fact in facts if fact["verdict"] == _ACCEPTED)
    return Thing(
        node=node,
        title=f"{accepted['payload_type']} {envelope_id[:8]}",
        state=steps[-1].after,
        terminal=True,
        machine=None,
        api=f"/v1/asap/envelopes/{quote(envelope_id, safe='')}",
        details=lambda: verdicts.verdicts(
            call.view, envelope_id, QueryParams("", verdicts.VERDICT_PARAMS)
        ),
        steps=steps,
        facts=ASAP_EVENTS,
        verdicts=lambda: _verdicts(facts),
        agents=_ends(accepted, "sender", "recipient"),
        session_id=accepted["conversation_id"],
        trace=accepted["trace_id"],
        started_at=steps[0].at,
        ended_at=steps[0].at,
    )


def _ends(fact: Fact, sender: str, recipient: str) -> list[ThingAgent]:
    """Return the sender and the recipient of an envelope, in these roles."""
    return [ThingAgent(fact["sender"], sender), ThingAgent(fact["recipient"], recipient)]


def _message_steps(facts: Iterable[Fact], accepted: str) -> Iterator[Step]:
    """Yield a step for each fact from the acceptance on.  accepted: the state after that."""
    return steps_since_made(
        facts,
        lambda fact, state: accepted if fact["verdict"] == _ACCEPTED else state,
        lambda fact, before, after: _step(fact, None, before, after),
    )


def _find_snapshot(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    task_id, _, version = name.rpartition("/")
    is_version = version.isdecimal() and len(version) < 16
    return [{"task_id": unquote(task_id), "version": version}] if is_version else []


def _snapshot(call: Call) -> Thing:
    task_id, version = call.ids["task_id"], call.ids["version"]
    node = f"asap:snapshot:{composite(task_id, version)}"
    row = call.view.get("asap snapshot", task_id, int(version))
    if row is None:
        raise unknown_node(node)
    snapshot = value_of(ASAP_SNAPSHOTS, row)
    task = tasks.require_task(call.view, task_id)
    at = snapshot["created_at"] // 1000
    cause = cause_or_none(snapshot["cause"])
    restored = snapshot["restored_from"]
    message = None if restored is None else f"restored from version {restored}"
    steps = [Step(at, None, None, _SAVED, message=message, cause=cause)]
    return Thing(
        node=node,
        title=f"snapshot {version} of task {task_id[:8]}",
        state=_SAVED,
        terminal=True,
        machine=None,
        api=_task_path(task_id, "snapshots", version),
        details=lambda: states.snapshot(call.view, task_id, version),
        steps=steps,
        agents=[ThingAgent(task["worker"], "worker")],
        session_id=task["conversation_id"],
        trace=task["trace_id"],
        started_at=at,
        ended_at=at,
    )


def _find_artifact(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    task_id, _, artifact_id = name.partition("/")
    return [{"task_id": unquote(task_id), "artifact_id": unquote(artifact_id)}]


def _artifact_facts(call: Call, task_id: str) -> list[Fact]:
    """Return the facts about artifacts of a task, which are read once for all of these."""
    memo_key = ("asap artifact", task_id)
    if memo_key not in call.memo:
        call.memo[memo_key] = list(_indexed(call.view, "asap artifact", task_id))
    facts: list[Fact] = call.memo[memo_key]
    return facts


def _artifact(call: Call) -> Thing:
    task_id, artifact_id = call.ids["task_id"], call.ids["artifact_id"]
    facts = [
        fact
        for fact in _artifact_facts(call, task_id)
        if fact["envelope"]["payload"]["artifact_id"] == artifact_id
    ]
    steps = list(_message_steps(facts, _NOTED))
    if not steps:
        raise unknown_node(f"asap:artifact:{composite(task_id, artifact_id)}")
    task = tasks.require_task(call.view, task_id)
    name = facts[-1]["envelope"]["payload"]["name"] or artifact_id
    return Thing(
        node=f"asap:artifact:{composite(task_id, artifact_id)}",
        title=f"artifact {name[:64]}",
        state=steps[-1].after,
        terminal=False,
        machine=None,
        api=_task_path(task_id, "artifacts"),
        details=lambda: messages.artifacts(call.view, task_id),
        steps=steps,
        facts=ASAP_EVENTS,
        verdicts=lambda: _verdicts(facts),
        agents=_participants(task),
        session_id=task["conversation_id"],
        trace=task["trace_id"],
        started_at=steps[0].at,
    )


def _find_call(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    return [{"key": unquote(name)}]


def _mcp_call(call: Call) -> Thing:
    call_key = call.ids["key"]
    answer = verdicts.call(call.view, call_key)
    pointers = call.view.get_many([key("asap call") + text_key(call_key), call_end_key(call_key)])
    facts = list(_facts(call.view, pointers))
    steps = list(_call_steps(facts))
    is_end = answer["state"] in asap_call.MACHINE.terminal
    opened = facts[0]
    return Thing(
        node=f"asap:call:{composite(call_key)}",
        title=f"{answer['kind']} call {call_key[:8]}",
        state=steps[-1].after,
        terminal=is_end,
        machine=asap_call.MACHINE.name,
        api=f"/v1/asap/calls/{quote(call_key, safe='')}",
        details=lambda: verdicts.call(call.view, call_key),
        steps=steps,
        facts=ASAP_EVENTS,
        verdicts=lambda: _verdicts(facts),
        agents=_ends(opened, "caller", "callee"),
        trace=opened["trace_id"],
        started_at=opened["at"],
        ended_at=steps[-1].at if is_end else None,
    )


def _call_steps(facts: Sequence[Fact]) -> Iterator[Step]:
    state: str | None = None
    for fact in facts:
        after = {"call_opened": "open", "call_answered": "answered"}.get(fact["rule"], "timed_out")
        yield _step(fact, _CALL_EVENTS[after], state, after)
        state = after


def _find_conversation(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    return [{"id": unquote(name)}]


def _conversation(call: Call) -> Thing:
    id = call.ids["id"]
    conversation = tasks.conversation(call.view, id)["conversation"]
    return Thing(
        node=f"asap:conversation:{composite(id)}",
        title=f"conversation {id[:64]}",
        state=None,
        terminal=False,
        machine=None,
        api=f"/v1/asap/conversations/{quote(id, safe='')}",
        details=lambda: tasks.conversation(call.view, id),
        steps=[],
        agents=[ThingAgent(urn, "participant") for urn in conversation["participants"]],
        session_id=id,
        started_at=parse_ms(conversation["created_at"]),
    )


THINGS: Mapping[str, ThingQuery] = {
    "asap:task": ThingQuery(_task, _find_task, as_of.task, LONG_WORK.row),
    "asap:envelope": ThingQuery(
        _envelope, _find_envelope, rows=lambda ids: [key("asap verdict", ids["envelope_id"])]
    ),
    "asap:snapshot": ThingQuery(
        _snapshot,
        _find_snapshot,
        row=lambda ids: key("asap snapshot", ids["task_id"], int(ids["version"])),
    ),
    "asap:artifact": ThingQuery(
        _artifact, _find_artifact, rows=lambda ids: [key("asap artifact", ids["task_id"])]
    ),
    "asap:call": ThingQuery(_mcp_call, _find_call, row=lambda ids: call_end_key(ids["key"])),
    "asap:conversation": ThingQuery(
        _conversation,
        _find_conversation,
        rows=lambda ids: [TASKS.filtered("conversation_id", ids["id"])],
    ),
}
"""The things of ASAP for `GET /v1/things/{node}`, by kind."""
