"""The routes of turns, tasks, escalations and rewinds (SAOP guide, 6.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streams.api.problems import Response
from streams.api.route import Call, Produce, Query, Refused, Route, SyncCommand
from streams.engine.records import Output
from streams.protocols.saop import as_of
from streams.protocols.saop.queries import audit, controls, escalations, lists, rewinds
from topology.saop import SAOP_CONTROLS, SAOP_REWINDS, SAOP_TURNS

_SESSION = "/v1/saop/sessions/{session_id}"
_TASK = f"{_SESSION}/tasks/{{task_id}}"
_REWIND = f"{_SESSION}/rewinds/{{rewind_id}}"


def _plan(call: Call) -> Any:
    answer = rewinds.rewind_plan(call.view, call.ids["session_id"], call.params)
    if answer.status != 200:
        raise Refused(answer)
    return answer.body


def _order(phase: str | None) -> SyncCommand:
    """Return the command of a route.  phase: confirm or abort; None: the body has it."""

    def command(call: Call) -> Output:
        body = call.value() if phase is None else None
        principal = rewinds.UNAUTHENTICATED if call.caller is None else call.caller.principal
        return rewinds.command_of(call.ids, phase, body, call.now, call.settings, principal)

    return SyncCommand(SAOP_REWINDS, command, _fact)


def _fact(call: Call, output: Output, cause: str) -> Response:
    return rewinds.answer_of(call.view, output, cause)


def _control(action: str) -> SyncCommand:
    """Return the command of a route that pauses or resumes a task."""

    def command(call: Call) -> Output:
        body = call.value() if call.body else None
        principal = rewinds.UNAUTHENTICATED if call.caller is None else call.caller.principal
        return controls.command_of(call.ids, action, body, call.now, call.settings, principal)

    def fact(call: Call, output: Output, cause: str) -> Response:
        return controls.answer_of(call.view, output, cause)

    return SyncCommand(SAOP_CONTROLS, command, fact)


def _read(query: Callable[..., Any]) -> Query:
    return Query(lambda call: query(call.view, call.params))


ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/saop/turns",
        "send_turns",
        Produce(SAOP_TURNS),
        "send turns",
        body="saop/turn",
    ),
    Route(
        "GET",
        "/v1/saop/turns",
        "list_turns",
        _read(lists.turns),
        "the logged turns of a task, by turn_index",
        lists.TURN_PARAMS,
        "Turns",
    ),
    Route(
        "GET",
        "/v1/saop/verdicts",
        "list_verdicts",
        _read(lists.verdicts),
        "the verdicts on the turns of a task",
        lists.VERDICT_PARAMS,
        "Verdicts",
    ),
    Route(
        "GET",
        "/v1/saop/escalations",
        "list_escalations",
        _read(escalations.escalations),
        "agents and tasks that need attention, newest first",
        lists.ESCALATION_PARAMS,
        "Escalations",
    ),
    Route(
        "GET",
        "/v1/saop/tasks",
        "list_tasks",
        _read(lists.tasks)._replace(past=as_of.tasks),
        "tasks and their states",
        lists.TASK_PARAMS,
        "Tasks",
    ),
    Route(
        "GET",
        "/v1/saop/rewinds",
        "list_rewinds",
        _read(rewinds.list_rewinds),
        "rewinds of sessions, newest first",
        rewinds.REWIND_PARAMS,
        "Rewinds",
    ),
    Route(
        "GET",
        "/v1/saop/sessions",
        "list_sessions",
        _read(lists.sessions)._replace(past=as_of.session),
        "what each session comes to",
        lists.SESSION_PARAMS,
        "Sessions",
    ),
    Route(
        "GET",
        "/v1/saop/thought-audit",
        "audit_thoughts",
        _read(audit.thought_audit),
        "whether streamed thoughts are those of the turns",
        audit.AUDIT_PARAMS,
        "ThoughtAudit",
    ),
    Route(
        "POST",
        f"{_TASK}/pause",
        "pause_task",
        _control("pause"),
        "pause a task: its transitions and turns are refused until it is resumed",
        answer="Control",
        body="ControlOrder",
    ),
    Route(
        "POST",
        f"{_TASK}/resume",
        "resume_task",
        _control("resume"),
        "resume a task that is paused",
        answer="Control",
        body="ControlOrder",
    ),
    Route(
        "POST",
        f"{_SESSION}/rewind",
        "rewind_session",
        _order(None),
        "turn a session back, or prepare to",
        answer="Rewind",
        body="RewindOrder",
    ),
    Route(
        "GET",
        f"{_SESSION}/rewind-plan",
        "plan_rewind",
        Query(_plan),
        "what a rewind would move",
        rewinds.PLAN_PARAMS,
        "RewindPlan",
    ),
    Route(
        "GET",
        _REWIND,
        "get_rewind",
        Query(lambda call: rewinds.rewind(call.view, **call.ids)),
        "a rewind",
        answer="Rewind",
    ),
    Route(
        "POST",
        f"{_REWIND}/confirm",
        "confirm_rewind",
        _order("confirm"),
        "carry out a prepared rewind",
        answer="Rewind",
    ),
    Route(
        "POST",
        f"{_REWIND}/abort",
        "abort_rewind",
        _order("abort"),
        "give up a prepared rewind",
        answer="Rewind",
    ),
)
