"""The routes of ASAP 0.1: envelopes, tasks, calls, agents (ASAP guide, 6.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schemas import Problem
from schemas.asap import rules
from schemas.projection import Projection
from streams.api.route import (
    MAX_VALUES,
    Call,
    Produce,
    ProduceOptions,
    Query,
    ReplaceCommand,
    Route,
)
from streams.engine.records import Output, Record, header, position
from streams.errors import InvalidInput
from streams.processing.encode import to_output
from streams.protocols.asap import as_of, ingress
from streams.protocols.asap.queries import messages, states, tasks, verdicts
from topology.asap import ASAP_ENVELOPES, ASAP_MANIFESTS
from topology.core import FILLED

_TASK = "/v1/asap/tasks/{id}"
_AGENT = "/v1/asap/agents/{urn}"
_IDS = Projection(ASAP_ENVELOPES.record or "", ("id", "trace_id"))
_EMPTY = Problem(
    rules.MALFORMED_ENVELOPE.code,
    "",
    f"A list has 1 to {MAX_VALUES} envelopes; this one is empty.",
)


def _render_position(record: Record) -> dict[str, Any]:
    """Return an envelope's ids and position, and which of its members the gateway derived."""
    ids, filled = _IDS.of(record.value), header(record, FILLED.name)
    return {
        "id": ids["id"],
        "key": (record.key or b"").decode(),
        "position": position(record),
        "trace_id": ids["trace_id"],
        "filled": filled.decode().split(",") if filled else [],
    }


def _query(query: Callable[..., Any], *, paged: bool = False, brief: bool = False) -> Query:
    """Make a Query.  query: takes the view, the ids of the path and, if paged, the parameters."""

    def answer(call: Call) -> Any:
        more = (call.params,) if paged else ()
        return query(call.view, *call.ids.values(), *more)

    return Query(answer, brief=brief)


def _read_task(call: Call) -> Any:
    at = call.params.number("at")
    if at is None:
        return tasks.task(call.view, **call.ids)
    return states.task_at(call.view, call.ids["id"], at)


def _manifest_output(call: Call) -> Output:
    """Return the output of a manifest.  Raises InvalidInput if its id is not the path's URN."""
    manifest, urn = call.value(), call.ids["urn"]
    output = to_output(ingress.MANIFESTS, manifest, call.now, call.settings)
    if output.key != urn.encode():
        message = f"The manifest is of {manifest['id']}, and not of {urn}."
        raise InvalidInput([Problem(rules.BAD_MANIFEST.code, "/id", message)])
    return output


def _tombstone(call: Call) -> Output:
    return Output(call.settings.prefix + ASAP_MANIFESTS.name, call.ids["urn"].encode(), None)


ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/asap/envelopes",
        "send_envelopes",
        Produce(ASAP_ENVELOPES, ProduceOptions(_EMPTY, render_record=_render_position)),
        "send envelopes",
        answer="AsapPositions",
        body="asap/envelope",
    ),
    Route(
        "GET",
        "/v1/asap/tasks",
        "list_asap_tasks",
        _query(tasks.tasks, paged=True),
        "tasks, by age",
        tasks.TASKS_PARAMS,
        "AsapTasks",
    ),
    Route(
        "GET",
        _TASK,
        "get_asap_task",
        Query(_read_task, past=as_of.task),
        "one task: where it stands and its response; or what it was after an event",
        (states.AT,),
        "AsapTaskAnswer",
    ),
    Route(
        "GET",
        f"{_TASK}/events",
        "list_task_events",
        _query(states.events, paged=True)._replace(past=as_of.task),
        "what happened to a task; with `at` also the state that it came to",
        states.EVENTS_PARAMS,
        "AsapEvents",
    ),
    Route(
        "GET",
        f"{_TASK}/snapshots",
        "list_snapshots",
        _query(states.snapshots),
        "the saved states of a task, without their data",
        answer="AsapSnapshots",
    ),
    Route(
        "GET",
        f"{_TASK}/snapshots/{{version}}",
        "get_snapshot",
        _query(states.snapshot),
        "one saved state of a task",
        answer="AsapStateSnapshot",
    ),
    Route(
        "GET",
        f"{_TASK}/messages",
        "list_messages",
        _query(messages.messages),
        "what the agents of a task said to each other",
        answer="AsapMessages",
    ),
    Route(
        "GET",
        f"{_TASK}/artifacts",
        "list_artifacts",
        _query(messages.artifacts),
        "what the worker of a task made",
        answer="AsapArtifacts",
    ),
    Route(
        "GET",
        "/v1/asap/envelopes/{envelope_id}",
        "get_envelope_verdicts",
        _query(verdicts.verdicts, paged=True),
        "every verdict on the envelopes with an id",
        verdicts.VERDICT_PARAMS,
        "AsapVerdicts",
    ),
    Route(
        "GET",
        "/v1/asap/calls/{key}",
        "get_call",
        _query(verdicts.call),
        "an MCP call and its answer",
        answer="AsapCallAnswer",
    ),
    Route(
        "GET",
        "/v1/asap/conversations",
        "list_conversations",
        _query(tasks.conversations, paged=True),
        "conversations by id, with the number of their tasks and when the first and the last was"
        " made",
        tasks.CONVERSATIONS_PARAMS,
        "AsapConversations",
    ),
    Route(
        "GET",
        "/v1/asap/conversations/{id}",
        "get_conversation",
        _query(tasks.conversation),
        "a conversation: who takes part in it, and its tasks",
        answer="AsapConversation",
    ),
    Route(
        "GET",
        "/v1/asap/agents",
        "list_agents",
        _query(tasks.agents, paged=True),
        "the manifests in force",
        tasks.AGENTS_PARAMS,
        "AsapAgents",
    ),
    Route(
        "GET",
        _AGENT,
        "get_agent",
        _query(tasks.agent, brief=True),
        "the manifest of an agent",
        answer="AsapAgentManifest",
    ),
    Route(
        "PUT",
        _AGENT,
        "put_agent",
        ReplaceCommand(ASAP_MANIFESTS, _manifest_output),
        "register an agent by its manifest, or replace that",
        answer="Placed",
        body="asap/manifest",
    ),
    Route(
        "DELETE",
        _AGENT,
        "withdraw_agent",
        ReplaceCommand(ASAP_MANIFESTS, _tombstone),
        "withdraw the manifest of an agent",
        answer="Placed",
    ),
)
