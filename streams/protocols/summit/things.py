"""Runs, accepted replies, cancelling calls and manifests, as things."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote, unquote, urlencode

from schemas import to_json
from streams.api.route import Call
from streams.api.things import (
    Ids,
    Step,
    Thing,
    ThingAgent,
    ThingQuery,
    ThingVerdict,
    last_change,
    steps_since_made,
    unknown_node,
)
from streams.errors import NotFound
from streams.protocols.summit import as_of
from streams.protocols.summit.long_work import LONG_WORK
from streams.protocols.summit.queries import agents, runs
from streams.protocols.summit.queries.rows import agent_events, agent_key, run_events, run_key
from streams.replay.as_of.query import value_of
from streams.views.keys import number_at_end
from streams.views.reads import ReadOnlyStore
from streams.views.service.verdicts import VERDICTS
from streams.views.values import Json
from topology.keys import composite
from topology.machines.summit_run import MACHINE
from topology.summit import SUMMIT_EVENTS, SUMMIT_REPLIES, SUMMIT_RUNS

_ACCEPTED = "accepted"
_REPLIES = (SUMMIT_REPLIES,)


class _Fact(NamedTuple):
    """A SummitEvent.  position: its own, with the prefix.  at: ms since the epoch."""

    position: str
    at: int
    value: Json


def _facts(call: Call, index: bytes) -> list[_Fact]:
    """Return the facts of an index of the view, in log order."""
    topic = call.settings.prefix + SUMMIT_EVENTS.name
    entries = list(call.view.scan(index))
    rows = call.view.get_many([row_key for _, row_key in entries])
    facts = []
    for (index_key, _), row in zip(entries, rows, strict=True):
        partition, offset = number_at_end(index_key[:-8]), number_at_end(index_key)
        value = value_of(SUMMIT_EVENTS, row)
        json = runs.event_of(to_json(SUMMIT_EVENTS.record or "", value))
        facts.append(_Fact(f"{topic}/{partition}/{offset}", value["at"], json))
    return facts


def _run_facts(call: Call) -> list[_Fact]:
    """Return the facts of the run, which are read once for all its replies."""
    index = run_events(call.ids["runId"])
    if index not in call.memo:
        call.memo[index] = _facts(call, index)
    facts: list[_Fact] = call.memo[index]
    return facts


def _cause(fact: _Fact) -> str | None:
    """Return the position of the record that was decided; None for a timer."""
    return None if fact.value["subject"] == "timer" else fact.value["cause"]


def _event(value: Json) -> str:
    """Return the event of a run's machine, as far as a fact tells it."""
    match value["subject"]:
        case "reply":
            return str(value["replyKind"])
        case "call":
            return "cancel" if value["method"] == "agent.cancel" else "call"
        case "judge":
            return "verification"
    return "timeout"


def _step(fact: _Fact, event: str | None, before: str | None, after: str | None) -> Step:
    value = fact.value
    verdict = value["verdict"] if value["verdict"] in VERDICTS else None
    return Step(
        at=fact.at,
        event=event,
        before=before,
        after=after,
        verdict=verdict,
        rule=value["rule"],
        message=value["message"],
        cause=_cause(fact),
        fact=fact.position,
    )


def _verdicts(facts: Sequence[_Fact]) -> list[ThingVerdict]:
    return [
        ThingVerdict(
            at=fact.at,
            verdict=fact.value["verdict"],
            rule=fact.value["rule"],
            message=fact.value["message"],
            fault=fact.value["fault"],
            figures=fact.value["figures"],
            errors=fact.value["errors"],
            checks=(),
            cause=_cause(fact),
            fact=fact.position,
        )
        for fact in facts
        if fact.value["verdict"] in VERDICTS
    ]


def _find_run(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    return [{"runId": unquote(name)}]


def _run(call: Call) -> Thing:
    run_id = call.ids["runId"]
    row = runs.run(call.view, run_id)
    facts = _run_facts(call)
    steps = list(steps_since_made(facts, _state_after, _message_step))
    if not steps:
        raise NotFound(f"the facts of run {run_id} are not there")
    is_end = row["status"] in MACHINE.terminal
    return Thing(
        node=f"summit:run:{composite(run_id)}",
        title=f"{row['kind']} {run_id} of {row['agentId']}",
        state=steps[-1].after,
        terminal=is_end,
        machine=MACHINE.name,
        api=_run_path(run_id),
        details=lambda: runs.run(call.view, run_id),
        steps=steps,
        verdicts=lambda: _verdicts(facts),
        replies=_REPLIES,
        agents=list(_agents(row)),
        session_id=row["traceId"] or run_id,
        trace=row["traceId"],
        started_at=steps[0].at,
        ended_at=last_change(steps) if is_end else None,
        due_at=None if is_end else _due(call.view, run_id),
    )


def _agents(row: Json) -> Iterator[ThingAgent]:
    if row["caller"] is not None:
        yield ThingAgent(row["caller"], "caller")
    yield ThingAgent(row["agentId"], "agent")


def _due(view: ReadOnlyStore, run_id: str) -> int:
    (row,) = view.get_many([run_key(run_id)])
    due_at: int = value_of(SUMMIT_RUNS, row)["dueAt"]
    return due_at


def _run_path(run_id: str) -> str:
    return f"/v1/summit/runs/{quote(run_id, safe='')}"


def _state_after(fact: _Fact, state: str | None) -> str | None:
    return fact.value["toState"] or state


def _message_step(fact: _Fact, before: str | None, after: str | None) -> Step:
    return _step(fact, _event(fact.value), before, after)


def _find_reply(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    run_id, _, reply_id = name.partition("/")
    return [{"runId": unquote(run_id), "replyId": unquote(reply_id)}] if reply_id else []


def _reply(call: Call) -> Thing:
    run_id, reply_id = call.ids["runId"], call.ids["replyId"]
    facts = [fact for fact in _run_facts(call) if fact.value["replyId"] == reply_id]
    node = f"summit:reply:{composite(run_id, reply_id)}"
    return _message(call, node, facts, f"reply {reply_id} to run {run_id}")


def _message(call: Call, node: str, facts: Sequence[_Fact], title: str) -> Thing:
    """Return the thing of a message about a run: what was decided about it."""
    steps = list(steps_since_made(facts, _accepted_or, _message_step))
    if not steps:
        raise unknown_node(node)
    run_id = call.ids["runId"]
    row = runs.run(call.view, run_id)
    sender = facts[0].value["agentId" if facts[0].value["subject"] == "reply" else "caller"]
    return Thing(
        node=node,
        title=title,
        state=steps[-1].after,
        terminal=True,
        machine=None,
        api=_run_path(run_id),
        details=lambda: runs.run(call.view, run_id),
        steps=steps,
        verdicts=lambda: _verdicts(facts),
        replies=_REPLIES,
        agents=[] if sender is None else [ThingAgent(sender, "sender")],
        session_id=row["traceId"] or run_id,
        trace=row["traceId"],
        started_at=steps[0].at,
        ended_at=steps[0].at,
    )


def _accepted_or(fact: _Fact, state: str | None) -> str | None:
    return _ACCEPTED if fact.value["verdict"] == _ACCEPTED else state


def _find_call(view: ReadOnlyStore, position: str, session_id: str | None) -> list[Ids]:
    fact = runs.verdict(view, position)
    if fact is None or fact["runId"] is None:
        return []
    return [{"runId": fact["runId"], "position": position}]


def _cancelling_call(call: Call) -> Thing:
    position = call.ids["position"]
    facts = [
        fact
        for fact in _run_facts(call)
        if fact.value["subject"] == "call" and fact.value["cause"] == position
    ]
    return _message(call, f"summit:call:{position}", facts, f"cancel of run {call.ids['runId']}")


def _find_manifest(view: ReadOnlyStore, name: str, session_id: str | None) -> list[Ids]:
    agent_id, _, version = name.partition("/")
    return [{"agentId": unquote(agent_id), "version": unquote(version)}] if version else []


def _manifest(call: Call) -> Thing:
    agent_id, version = call.ids["agentId"], call.ids["version"]
    agents.agent(call.view, agent_id, version)
    facts = [
        fact
        for fact in _facts(call, agent_events(agent_id))
        if fact.value["manifestVersion"] == version
    ]
    steps = list(steps_since_made(facts, _manifest_state, _manifest_step))
    if not steps:
        raise NotFound(f"the facts of {agent_id} {version} are not there")
    return Thing(
        node=f"summit:manifest:{composite(agent_id, version)}",
        title=f"manifest {version} of {agent_id}",
        state=steps[-1].after,
        terminal=False,
        machine=None,
        api=f"/v1/summit/agents/{quote(agent_id, safe='')}?{urlencode({'version': version})}",
        details=lambda: agents.agent(call.view, agent_id, version),
        steps=steps,
        verdicts=lambda: _verdicts(facts),
        agents=[ThingAgent(agent_id, "agent")],
        started_at=steps[0].at,
    )


def _manifest_state(fact: _Fact, state: str | None) -> str | None:
    return _state_after(fact, state) or _accepted_or(fact, state)


def _manifest_step(fact: _Fact, before: str | None, after: str | None) -> Step:
    return _step(fact, None, before, after)


THINGS: Mapping[str, ThingQuery] = {
    "summit:run": ThingQuery(_run, _find_run, as_of.run, LONG_WORK.row),
    "summit:reply": ThingQuery(_reply, _find_reply, as_of.run, LONG_WORK.row),
    "summit:call": ThingQuery(_cancelling_call, _find_call, as_of.run, LONG_WORK.row),
    "summit:manifest": ThingQuery(
        _manifest, _find_manifest, row=lambda ids: agent_key(ids["agentId"])
    ),
}
"""The things of Summit for `GET /v1/things/{node}`, by kind."""
