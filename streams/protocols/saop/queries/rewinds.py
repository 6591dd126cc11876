"""Rewind commands, the facts about them, and the plan of a rewind.

A rewind is requested by a command on the log; the response is the fact about that command.  So a
request has three steps, and each server waits in its own way between the last two: `command_of`
makes the record, the server appends it and waits for its position, `answer_of` reads the fact.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import orjson

from schemas import Problem, decode
from schemas.rules import Rule
from schemas.saop import rules
from streams.api.problems import Response, problem
from streams.engine.records import Output
from streams.errors import InfrastructureError, InvalidInput, NotFound
from streams.processing.encode import to_output
from streams.protocols.saop import ingress
from streams.protocols.saop.queries.rows import REWINDS
from streams.protocols.saop.rtes.rewind_plan import moves_json, plan, target_of
from streams.settings.service import ServiceSettings
from streams.views.keys import key
from streams.views.pages import page_of, rows_by_index, rows_reversed
from streams.views.parse import QueryError, QueryParams
from streams.views.query_params import (
    CURSOR,
    SESSION_ID,
    TASK_ID,
    Parameter,
    limit,
    one_of,
    window,
)
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, filters_of, json_of, matches
from topology.machines.saop_rewind import RewindState
from topology.saop import SAOP_REWIND_LOG, SAOP_REWINDS, SAOP_TASKS

UNAUTHENTICATED = "unauthenticated"
"""The requester of a command without an authenticated principal."""

NOT_FOUND = frozenset({"session_unknown", "task_unknown", "task_without_hash", "hash_unknown"})
"""Refusals because something does not exist; the others are conflicts."""

_MEMBERS = {"task_id": "target_task_id"}
_STATES = tuple(state.value for state in RewindState if state is not RewindState.NONE)
REWIND_PARAMS = (
    SESSION_ID,
    TASK_ID._replace(meaning="to a commit of this task"),
    one_of(REWINDS.state, "in this state", _STATES),
    *window("first ordered"),
    limit(100, 1000, "limit_invalid"),
    CURSOR,
)
PLAN_PARAMS = (TASK_ID, Parameter("git_hash", "of this commit, at least 7 hex digits of it"))


class NoFact(InfrastructureError):
    default_advice = "Look at `headrace dlq list`."


def command_of(
    ids: Mapping[str, str],
    phase: str | None,
    body: Any,
    now_ms: int,
    settings: ServiceSettings,
    requested_by: str = UNAUTHENTICATED,
) -> Output:
    """Return the record of an order.

    ids: `session_id`, and `rewind_id` for a confirm or an abort, whose body counts for nothing.
    phase: of those; None takes it from the body, `apply` if there is none.
    requested_by: the principal.  Raises InvalidInput.
    """
    command: Any = {
        "rewind_id": ids.get("rewind_id"),
        "session_id": ids["session_id"],
        "phase": phase,
        "requested_by": requested_by,
    }
    if phase is None:
        command = _with_body(command, body)
    return to_output(ingress.REWINDS, command, now_ms, settings)


def _with_body(command: Json, body: Any) -> Any:
    """Add the body's members; unknown ones remain, so that they are counted as in any envelope."""
    if not isinstance(body, dict):
        return body
    phase = body.get("phase", "apply")
    if phase not in ("apply", "prepare"):
        raise InvalidInput([Problem("schema_invalid", "/phase", "phase must be apply or prepare.")])
    filled = {
        "rewind_id": body.get("rewind_id", str(uuid.uuid4())),
        "session_id": command["session_id"],
        "requested_by": command["requested_by"],
        "phase": phase,
    }
    return {**body, **filled}


def answer_of(view: ReadOnlyStore, output: Output, cause: str) -> Response:
    """Return the fact about the command at that position: 200, or the problem that it is.

    Raises NoFact when the command ended otherwise.
    """
    fact = _fact_about(view, output, cause)
    if fact["verdict"] != "rejected":
        return Response(200, fact)
    refused = problem(404 if fact["rule"] in NOT_FOUND else 409, _detail(fact), fact["rule"])
    return Response(refused.status, {**refused.body, "fact": fact})


def _fact_about(view: ReadOnlyStore, output: Output, cause: str) -> Json:
    command = json_of(SAOP_REWINDS, output.value or b"")
    prefix = key("rewind", command["session_id"], command["rewind_id"].lower())
    for _, row in view.scan(prefix, reverse=True):
        fact = json_of(SAOP_REWIND_LOG, row)
        if fact["cause"] == cause:
            return fact
    raise NoFact(f"the command at {cause} has no verdict")


def _detail(fact: Json) -> str:
    meanings = {rule.code: rule.meaning for rule in rules.ALL}
    return f"The {fact['phase']} was refused: {meanings.get(fact['rule'], fact['rule'])}."


def rewind(view: ReadOnlyStore, session_id: str, rewind_id: str) -> Json:
    """Return the latest SaopRewindLogged of an acceptance or an expiry.

    Raises NotFound.
    """
    row = view.get("latest rewind", session_id, rewind_id.lower())
    if row is None:
        raise NotFound(f"session {session_id} has no rewind {rewind_id}")
    return json_of(SAOP_REWIND_LOG, row)


def list_rewinds(view: ReadOnlyStore, params: QueryParams) -> Json:
    """List the rewinds, newest first: of each the SaopRewindLogged that `rewind` returns."""
    filters = filters_of(params, ("session_id", "task_id", REWINDS.state))
    members = {_MEMBERS.get(name, name): value for name, value in filters.items()}
    prefix = REWINDS.among(members)

    def item(row: bytes) -> Json | None:
        value = json_of(SAOP_REWIND_LOG, row)
        return value if matches(value, members) else None

    index = rows_reversed(view, prefix, lambda row: row, *params.window(prefix))
    return page_of(params, prefix, rows_by_index(view, index, item))


def rewind_plan(view: ReadOnlyStore, session_id: str, params: QueryParams) -> Response:
    """Return `{target_task_id, git_hash, cut_sequence, moved, unchanged}`, or why there is none."""
    task_id, git_hash = params.text("task_id"), params.text("git_hash")
    if (task_id is None) == (git_hash is None):
        raise QueryError("task_id", "one of task_id and git_hash must be given")
    session = view.get("saop session", session_id)
    if session is None or orjson.loads(session)["last_sequence"] == 0:
        return _no_plan(rules.SESSION_UNKNOWN)
    tasks = _own_tasks(view, session_id)
    target = target_of(tasks, task_id, git_hash, needs_hash=False)
    if isinstance(target, Rule):
        return _no_plan(target)
    planned = plan(tasks, target)
    return Response(
        200,
        {
            "target_task_id": target.task_id,
            "git_hash": target.git_hash,
            "cut_sequence": target.cut,
            "moved": list(moves_json(planned)),
            "unchanged": planned.unchanged,
        },
    )


def _own_tasks(view: ReadOnlyStore, session_id: str) -> dict[str, dict[str, Any]]:
    """Return the tasks that no other protocol reported, by id."""
    record = SAOP_TASKS.record or ""
    rows = (decode(row, record).value for _, row in view.scan(key("task", session_id)))
    return {row["task_id"]: row for row in rows if row["origin"] is None}


def _no_plan(rule: Rule) -> Response:
    status = 404 if rule.code in NOT_FOUND else 409
    return problem(status, f"Nothing can be planned: {rule.meaning}.", rule.code)
