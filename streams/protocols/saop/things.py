"""Sessions, tasks, turns, rewinds and escalations, as things."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import orjson

from schemas.rtes.models import TASK_TRANSITION
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
from streams.protocols.saop import as_of
from streams.protocols.saop.fold import FOLD
from streams.protocols.saop.lineage import escalation_node, rewind_node, session_node, task_node
from streams.protocols.saop.lineage import turn_node as name_turn
from streams.protocols.saop.queries import escalations, lists, rewinds
from streams.protocols.saop.queries.refused_transitions import refused_transitions
from streams.protocols.saop.verdicts import message_of
from streams.replay.as_of.query import value_of
from streams.views.keys import key, number_at_end, position_at_end, texts_in
from streams.views.parse import QueryParams
from streams.views.query_params import Parameter
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, json_of
from topology.keys import composite
from topology.machines import saop_rewind, saop_turn
from topology.machines.task_profiles import PROFILES
from topology.saop import (
    RTES_EVENTS,
    RTES_REJECTIONS,
    SAOP_ESCALATIONS,
    SAOP_LOG,
    SAOP_REWIND_LOG,
    SAOP_TASKS,
    SAOP_VERDICTS,
)

_RAISED = "raised"


def _listed(
    call: Call, path: str, query: Any, declared: tuple[Parameter, ...], **filters: Any
) -> dict[str, Any]:
    """Return `api` and `details` of a list under these filters."""
    text = urlencode(filters, quote_via=quote)
    return {
        "api": f"{path}?{text}",
        "details": lambda: query(call.view, QueryParams(text, declared)),
    }


def _find_session(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    return [{"session_id": name}]


def _session(call: Call) -> Thing:
    session_id = call.ids["session_id"]
    row = call.view.get("saop session", session_id)
    if row is None:
        raise unknown_node(session_node(session_id))
    listed = _listed(
        call, "/v1/saop/sessions", lists.sessions, lists.SESSION_PARAMS, session_id=session_id
    )
    return Thing(
        node=session_node(session_id),
        title=f"session {session_id[:64]}",
        state=None,
        terminal=False,
        machine=None,
        **listed,
        steps=[],
        session_id=session_id,
        started_at=orjson.loads(row)["first_recorded_at"],
    )


def _find_task(view: ReadOnlyStore, task_id: str, session_id: str | None) -> list[Ids]:
    """Return a task of each session; of one session, its own before those of other protocols."""
    prefix = key("task of", task_id)
    first: dict[str, Ids] = {}
    for row_key, _ in view.scan(prefix):
        session, name = texts_in(row_key[len(prefix) :])
        ids = {"session_id": session, "task_id": task_id, "name": name}
        if session_id in (None, session) and (session not in first or name == task_id):
            first[session] = ids
    return list(first.values())


def _task(call: Call) -> Thing:
    session_id, task_id, name = (call.ids[each] for each in ("session_id", "task_id", "name"))
    row = call.view.get("task", session_id, name)
    if row is None:
        raise unknown_node(task_node(task_id))
    task = value_of(SAOP_TASKS, row)
    recorded = _task_steps(call.view, session_id, task_id, name)
    refusals = _refusals(call, session_id, task_id) if name == task_id else []
    steps = list(_with_refusals(recorded, refusals))
    is_end = task["state"] in PROFILES[task["profile"]].done
    listed = _listed(
        call,
        "/v1/saop/tasks",
        lists.tasks,
        lists.TASK_PARAMS,
        session_id=session_id,
        task_id=task_id,
    )
    return Thing(
        node=task_node(task_id),
        title=f"task {task_id[:64]}",
        state=steps[-1].after,
        terminal=is_end,
        machine=None,
        **listed,
        steps=steps,
        facts=RTES_EVENTS,
        verdicts=lambda: refusals,
        session_id=session_id,
        started_at=task["first_at"],
        ended_at=last_change(steps) if is_end else None,
    )


def _task_steps(view: ReadOnlyStore, session_id: str, task_id: str, name: str) -> Iterator[Step]:
    """Yield a step for each transition that is recorded of the task."""
    state: str | None = None
    index = list(view.scan(key("event of task", session_id, task_id)))
    rows = [key("event", session_id, number_at_end(index_key)) for index_key, _ in index]
    for row in view.get_many(rows):
        record = None if row is None else value_of(RTES_EVENTS, row)
        if record is None or FOLD.row_key(RTES_EVENTS, record) != composite(session_id, name):
            continue
        assert record["payload"][0] == TASK_TRANSITION
        after = record["payload"][1]["to_state"]
        yield Step(
            at=record["recorded_at"],
            event=None,
            before=state,
            after=after,
            rule=record["rule"],
            cause=cause_or_none(record["cause"]),
        )
        state = after


def _refusals(call: Call, session_id: str, task_id: str) -> list[ThingVerdict]:
    """Return the verdicts on the rejected transitions of a task, in log order."""
    topic = call.settings.prefix + RTES_REJECTIONS.name
    refusals = []
    for each in refused_transitions(call.view, session_id, task_id):
        at, fact = value_of(RTES_REJECTIONS, each.row)["at"], json_of(RTES_REJECTIONS, each.row)
        refusals.append(
            ThingVerdict(
                at=at,
                verdict=fact["verdict"],
                rule=fact["rule"],
                message=message_of(fact),
                fault=fact["fault"],
                figures=fact["figures"] or {},
                errors=fact["errors"],
                checks=(),
                cause=cause_or_none(fact["cause"]),
                fact=f"{topic}/{each.partition}/{each.offset}",
            )
        )
    return refusals


def _with_refusals(steps: Iterable[Step], refusals: Iterable[ThingVerdict]) -> Iterator[Step]:
    """Yield the steps by time, with one for each refusal since the task was made."""
    state: str | None = None
    recorded: Iterable[Step | ThingVerdict] = steps
    for each in merge(recorded, refusals, key=lambda ruling: ruling.at):
        if isinstance(each, Step):
            state = each.after
            yield each
        elif state is not None:
            yield Step(
                at=each.at,
                event=None,
                before=state,
                after=state,
                verdict=each.verdict,
                rule=each.rule,
                message=each.message,
                cause=each.cause,
                fact=each.fact,
            )


def _find_turn(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    task_id, _, index = name.rpartition("/")
    is_index = index.isdecimal() and len(index) < 16
    return [{"task_id": task_id, "turn_index": index}] if is_index else []


def _turn(call: Call) -> Thing:
    task_id, index = call.ids["task_id"], int(call.ids["turn_index"])
    row = call.view.get("saop turn", task_id, index)
    if row is None:
        raise unknown_node(name_turn(task_id, index))
    logged = value_of(SAOP_LOG, row)
    state = saop_turn.TurnState.LOGGED.value
    steps = [Step(logged["at"], None, None, state, cause=cause_or_none(logged["cause"]))]
    listed = _listed(
        call, "/v1/saop/turns", lists.turns, lists.TURN_PARAMS, task_id=task_id, turn_index=index
    )
    return Thing(
        node=name_turn(task_id, index),
        title=f"turn {index} of {task_id[:64]}",
        state=state,
        terminal=True,
        machine=saop_turn.MACHINE.name,
        **listed,
        steps=steps,
        facts=SAOP_LOG,
        verdicts=lambda: list(_turn_verdicts(call, task_id, index)),
        agents=[ThingAgent(logged["turn"]["agent_id"], "agent")],
        started_at=logged["at"],
        ended_at=logged["at"],
    )


def _turn_verdicts(call: Call, task_id: str, index: int) -> Iterator[ThingVerdict]:
    topic = call.settings.prefix + SAOP_VERDICTS.name
    for row_key, row in call.view.scan(key("saop verdict", task_id)):
        at, verdict = value_of(SAOP_VERDICTS, row)["at"], json_of(SAOP_VERDICTS, row)
        if verdict["turn_index"] == index:
            partition, offset = number_at_end(row_key[:-8]), number_at_end(row_key)
            yield ThingVerdict(
                at=at,
                verdict=verdict["verdict"],
                rule=verdict["rule"],
                message=None,
                fault=verdict["fault"],
                figures=verdict["figures"] or {},
                errors=verdict["errors"],
                checks=(),
                cause=cause_or_none(verdict["cause"]),
                fact=f"{topic}/{partition}/{offset}",
            )


def _find_rewind(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    prefix = key("rewind of", name.lower())
    sessions = (texts_in(row_key[len(prefix) :])[0] for row_key, _ in view.scan(prefix))
    return [
        {"session_id": each, "rewind_id": name.lower()}
        for each in sessions
        if session_id in (None, each)
    ]


def _rewind(call: Call) -> Thing:
    session_id, rewind_id = call.ids["session_id"], call.ids["rewind_id"]
    rewinds.rewind(call.view, session_id, rewind_id)
    facts = list(_rewind_facts(call, session_id, rewind_id))
    steps = list(steps_since_made(facts, _rewind_state, _rewind_step))
    is_end = steps[-1].after in saop_rewind.MACHINE.terminal
    path = "/".join(quote(part, safe="") for part in (session_id, "rewinds", rewind_id))
    return Thing(
        node=rewind_node(rewind_id),
        title=f"rewind {rewind_id[:8]} of {session_id[:64]}",
        state=steps[-1].after,
        terminal=is_end,
        machine=saop_rewind.MACHINE.name,
        api=f"/v1/saop/sessions/{path}",
        details=lambda: rewinds.rewind(call.view, session_id, rewind_id),
        steps=steps,
        verdicts=lambda: [_rewind_verdict(fact) for fact in facts],
        session_id=session_id,
        started_at=steps[0].at,
        ended_at=last_change(steps) if is_end else None,
    )


class _RewindFact(NamedTuple):
    """A SaopRewindLogged.  position: its own, with the prefix.  at: ms since the epoch."""

    position: str
    at: int
    value: Json


def _rewind_facts(call: Call, session_id: str, rewind_id: str) -> Iterator[_RewindFact]:
    topic = call.settings.prefix + SAOP_REWIND_LOG.name
    for row_key, row in call.view.scan(key("rewind", session_id, rewind_id)):
        partition, offset = number_at_end(row_key[:-8]), number_at_end(row_key)
        at = value_of(SAOP_REWIND_LOG, row)["at"]
        position = f"{topic}/{partition}/{offset}"
        yield _RewindFact(position, at, json_of(SAOP_REWIND_LOG, row))


def _rewind_state(fact: _RewindFact, state: str | None) -> str | None:
    return str(fact.value["state"]) if fact.value["verdict"] == "accepted" else state


def _rewind_step(fact: _RewindFact, before: str | None, after: str | None) -> Step:
    return Step(
        at=fact.at,
        event=fact.value["phase"] if after != before else None,
        before=before,
        after=after,
        verdict=fact.value["verdict"],
        rule=fact.value["rule"],
        cause=cause_or_none(fact.value["cause"]),
        fact=fact.position,
    )


def _rewind_verdict(fact: _RewindFact) -> ThingVerdict:
    return ThingVerdict(
        at=fact.at,
        verdict=fact.value["verdict"],
        rule=fact.value["rule"],
        message=None,
        fault=fact.value["fault"],
        figures={},
        errors=(),
        checks=(),
        cause=cause_or_none(fact.value["cause"]),
        fact=fact.position,
    )


def _find_escalation(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    return [{"escalation_id": name}]


def _escalation(call: Call) -> Thing:
    escalation_id = call.ids["escalation_id"]
    row_key = call.view.get("escalation id", escalation_id)
    (row,) = (None,) if row_key is None else call.view.get_many([row_key])
    if row_key is None or row is None:
        raise unknown_node(escalation_node(escalation_id))
    escalation = value_of(SAOP_ESCALATIONS, row)
    at, partition, offset = position_at_end(row_key)
    fact = f"{call.settings.prefix}{SAOP_ESCALATIONS.name}/{partition}/{offset}"
    rules = ", ".join(escalation["rules"])
    cause = cause_or_none(escalation["cause"])
    steps = [Step(at, None, None, _RAISED, rule=rules, cause=cause, fact=fact)]
    listed = _listed(
        call,
        "/v1/saop/escalations",
        escalations.escalations,
        lists.ESCALATION_PARAMS,
        task_id=escalation["task_id"],
    )
    agent = escalation["agent_id"]
    return Thing(
        node=escalation_node(escalation_id),
        title=f"{escalation['detector']} on {escalation['task_id'][:64]}",
        state=_RAISED,
        terminal=True,
        machine=None,
        **listed,
        steps=steps,
        agents=[] if agent is None else [ThingAgent(agent, "agent")],
        session_id=escalation["session_id"],
        started_at=at,
        ended_at=at,
    )


THINGS: Mapping[str, ThingQuery] = {
    "saop:session": ThingQuery(
        _session, _find_session, as_of.session, lambda ids: key("saop session", ids["session_id"])
    ),
    "saop:task": ThingQuery(
        _task,
        _find_task,
        as_of.task_with_events,
        lambda ids: key("task", ids["session_id"], ids["name"]),
    ),
    "saop:turn": ThingQuery(
        _turn, _find_turn, row=lambda ids: key("saop turn", ids["task_id"], int(ids["turn_index"]))
    ),
    "saop:rewind": ThingQuery(
        _rewind, _find_rewind, rows=lambda ids: [key("rewind", ids["session_id"], ids["rewind_id"])]
    ),
    "saop:escalation": ThingQuery(
        _escalation, _find_escalation, row=lambda ids: key("escalation id", ids["escalation_id"])
    ),
}
"""The things of SAOP for `GET /v1/things/{node}`, by kind."""
