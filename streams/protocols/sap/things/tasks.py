"""Tasks, their outcomes and the signals about them, as things."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import orjson

from schemas import decode, to_json
from streams.api.route import Call
from streams.api.things import (
    Check,
    Ids,
    Step,
    Thing,
    ThingAgent,
    ThingQuery,
    ThingVerdict,
    cause_or_none,
    last_change,
    merge_by_cause,
    unknown_node,
)
from streams.protocols.sap import as_of
from streams.protocols.sap.long_work import LONG_WORK
from streams.protocols.sap.processor.outcomes import AGENT_STATUS
from streams.protocols.sap.queries import tasks
from streams.protocols.sap.queries.explain import FAILED, PASSED, command_checks
from streams.replay.as_of.point import AsOf
from streams.replay.as_of.query import AsOfQuery
from streams.replay.as_of.steps import Step as Fact
from streams.views.reads import ReadOnlyStore
from topology.machines.sap_task import MACHINE
from topology.sap import SAP_ACKS, SAP_OUTCOMES, SAP_RESULTS, SAP_TASK_STATES, SAP_VERDICTS

Row = dict[str, Any]
_ACCEPTED = "accepted"
_HOLDS = {PASSED: True, FAILED: False}
_REPLIES = (SAP_RESULTS,)


def _find_task(view: ReadOnlyStore, task_id: str, session_id: str | None) -> list[Ids]:
    return [{"taskId": tasks.task_key(task_id)}]


def _task(call: Call) -> Thing:
    task_id = call.ids["taskId"]
    row, facts = _row(call.view, task_id), _facts(call, task_id)
    if not facts:
        raise unknown_node(f"sap:task:{task_id}")
    steps = merge_by_cause(_steps(facts))
    state = steps[-1].after
    is_end = state in MACHINE.terminal
    return Thing(
        node=f"sap:task:{task_id}",
        title=_title(task_id, row),
        state=state,
        terminal=is_end,
        machine=MACHINE.name,
        api=_path(task_id),
        details=lambda: tasks.task(call.view, task_id),
        steps=steps,
        verdicts=lambda: _verdicts(call, row, facts),
        facts=SAP_OUTCOMES,
        replies=_REPLIES,
        agents=[] if row is None else list(_agents(row)),
        trace=None if row is None else row["correlationId"],
        started_at=steps[0].at,
        ended_at=last_change(steps) if is_end else None,
        due_at=None if row is None or is_end else row["accepted"]["deadlineAt"],
    )


def _path(task_id: str) -> str:
    return f"/v1/sap/tasks/{quote(task_id, safe='')}"


def _row(view: ReadOnlyStore, task_id: str) -> Row | None:
    """Return the SapTaskState, as Avro."""
    row = view.get("sap task", task_id)
    return None if row is None else decode(row, SAP_TASK_STATES.record or "").value


def _title(task_id: str, row: Row | None) -> str:
    name = None if row is None else row["target"]["capability"]
    return f"{name or 'task'} {task_id[:8]}"


def _agents(row: Row) -> Iterator[ThingAgent]:
    yield ThingAgent(row["issuer"]["agentId"], "issuer")
    if row["target"]["agentId"] is not None:
        yield ThingAgent(row["target"]["agentId"], "target")
    if row["producer"] is not None:
        yield ThingAgent(row["producer"]["agentId"], "producer")


def _facts(call: Call, task_id: str) -> list[Fact]:
    """Return the facts of a task, which are read once for it and its outcomes and signals."""
    memo_key = ("sap task", task_id)
    if memo_key not in call.memo:
        row = _row(call.view, task_id)
        call.memo[memo_key] = as_of.task_steps(call.view, call.settings.prefix, task_id, row)
    facts: list[Fact] = call.memo[memo_key]
    return facts


def _steps(facts: Sequence[Fact]) -> Iterator[Step]:
    """Yield a step for each fact; only an outcome, or the acceptance, changes the state."""
    state: str | None = None
    for fact in facts:
        before, state = state, _state_after(fact, state)
        if fact.topic is SAP_ACKS:
            yield _ack_step(fact, before, state)
        elif fact.topic is SAP_VERDICTS:
            rule, reason = fact.value["verdict"], fact.value["reason"]
            yield Step(fact.at, None, before, state, None, rule, reason, None, _own(fact))
        else:
            yield _outcome_step(fact, before)


def _state_after(fact: Fact, state: str | None) -> str | None:
    if fact.topic is SAP_OUTCOMES:
        return str(fact.value["status"])
    is_start = fact.topic is SAP_ACKS and fact.value["accepted"] is not None
    return "QUEUED" if is_start and state is None else state


def _own(fact: Fact) -> str:
    """Return the position of a fact of a topic whose positions the view has."""
    return "/".join(map(str, fact.places[0]))


def _ack_step(fact: Fact, before: str | None, after: str | None) -> Step:
    ack = fact.value
    return Step(
        at=fact.at,
        event=_ACCEPTED if before != after else None,
        before=before,
        after=after,
        verdict=ack["verdict"],
        rule=ack["rule"],
        message=ack["reason"],
        cause=cause_or_none(ack["position"]),
        fact=_own(fact),
    )


def _outcome_step(fact: Fact, before: str | None) -> Step:
    outcome, meta = fact.value, _meta(fact)
    event = outcome["status"] if meta["rule"] == AGENT_STATUS else meta["rule"]
    error = outcome["error"] or {}
    return Step(
        at=fact.at,
        event=event,
        before=before,
        after=outcome["status"],
        rule=meta["rule"],
        message=error.get("message"),
        cause=cause_or_none(meta["cause"]),
    )


def _meta(fact: Fact) -> Row:
    meta: Row = orjson.loads(fact.value["meta_json"])["headrace"]
    return meta


def _verdicts(call: Call, row: Row | None, facts: Sequence[Fact]) -> list[ThingVerdict]:
    acks = [fact for fact in facts if fact.topic is SAP_ACKS]
    envelopes = _envelopes(call, [fact.value["position"] for fact in acks])
    return [_verdict(fact, envelopes.get(fact.value["position"]), row) for fact in acks]


def _envelopes(call: Call, positions: Sequence[str]) -> Mapping[str, Any]:
    """Return the commands at these positions as far as the log has them, as Avro."""
    if call.log is None:
        return {}
    query = AsOfQuery(call.view, call.log, call.settings.prefix, AsOf(0), {})
    query.fetch(positions)
    return {each: query.command(each) for each in positions}


def _verdict(fact: Fact, envelope: Any, row: Row | None) -> ThingVerdict:
    ack = to_json(SAP_ACKS.record or "", fact.value)
    return ThingVerdict(
        at=fact.at,
        verdict=ack["verdict"],
        rule=ack["rule"],
        message=ack["reason"],
        fault=ack["fault"],
        figures=ack["figures"] or {},
        errors=ack["errors"],
        checks=[
            Check(check["check"], _HOLDS.get(check["outcome"]))
            for check in command_checks(ack, envelope, row)
        ],
        cause=cause_or_none(ack["position"]),
        fact=_own(fact),
    )


def _find_outcome(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    task_id, _, number = name.rpartition("/")
    return [{"taskId": tasks.task_key(task_id), "n": number}] if number.isdecimal() else []


def _outcome(call: Call) -> Thing:
    task_id, number = call.ids["taskId"], int(call.ids["n"])
    node = f"sap:outcome:{task_id}/{number}"
    facts = _facts(call, task_id)
    outcomes = [fact for fact in facts if fact.topic is SAP_OUTCOMES]
    fact = next((each for each in outcomes if _meta(each)["seq"] == number), None)
    if fact is None:
        raise unknown_node(node)
    step = _outcome_step(fact, None)
    return Thing(
        node=node,
        title=f"outcome {number} of task {task_id[:8]}",
        state=step.after,
        terminal=True,
        machine=None,
        api=_path(task_id),
        details=lambda: tasks.task(call.view, task_id),
        steps=[step],
        facts=SAP_OUTCOMES,
        replies=_REPLIES,
        agents=[ThingAgent(fact.value["producer"]["agentId"], "producer")],
        trace=fact.value["correlationId"].lower(),
        started_at=fact.at,
        ended_at=fact.at,
    )


def _find_signal(view: ReadOnlyStore, signal_id: str, session_id: str | None) -> list[Ids]:
    task_id = view.get("sap signal", signal_id.lower())
    return [] if task_id is None else [{"taskId": task_id.decode(), "signalId": signal_id.lower()}]


def _signal(call: Call) -> Thing:
    task_id, signal_id = call.ids["taskId"], call.ids["signalId"]
    facts = [fact for fact in _facts(call, task_id) if _is_about(fact, signal_id)]
    steps = list(_signal_steps(facts))
    if not steps:
        raise unknown_node(f"sap:signal:{signal_id}")
    row = _row(call.view, task_id)
    return Thing(
        node=f"sap:signal:{signal_id}",
        title=f"signal {signal_id[:8]} on {_title(task_id, row)}",
        state=steps[-1].after,
        terminal=True,
        machine=None,
        api=_path(task_id),
        details=lambda: tasks.task(call.view, task_id),
        steps=steps,
        verdicts=lambda: _verdicts(call, row, facts),
        trace=None if row is None else row["correlationId"],
        started_at=steps[0].at,
        ended_at=last_change(steps),
    )


def _is_about(fact: Fact, signal_id: str) -> bool:
    if fact.topic is not SAP_ACKS or fact.value["subject"] != "SIGNAL":
        return False
    message_id: str | None = fact.value["messageId"]
    return message_id is not None and message_id.lower() == signal_id


def _signal_steps(facts: Sequence[Fact]) -> Iterator[Step]:
    state: str | None = None
    for fact in facts:
        before = state
        state = _ACCEPTED if fact.value["verdict"] == _ACCEPTED else state
        yield _ack_step(fact, before, state)


THINGS: Mapping[str, ThingQuery] = {
    "sap:task": ThingQuery(_task, _find_task, as_of.task, LONG_WORK.row),
    "sap:outcome": ThingQuery(_outcome, _find_outcome, as_of.task, LONG_WORK.row),
    "sap:signal": ThingQuery(_signal, _find_signal, as_of.task, LONG_WORK.row),
}
