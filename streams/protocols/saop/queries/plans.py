"""What a rewind would move, from the rows as the view has them; nothing is written."""

from __future__ import annotations

from typing import Any

import orjson

from schemas import decode
from schemas.rules import Rule
from schemas.saop import rules
from streams.api.problems import Response, problem
from streams.protocols.saop.queries.rewinds import NOT_FOUND
from streams.protocols.saop.rtes.rewind_plan import moves_json, plan, target_of
from streams.views.keys import key
from streams.views.parameters import TASK_ID, Parameter
from streams.views.params import Params, QueryError
from streams.views.reads import Reads
from topology.saop import SAOP_TASKS

PLAN_PARAMS = (TASK_ID, Parameter("git_hash", "of this commit, at least 7 hex digits of it"))


def rewind_plan(view: Reads, session_id: str, params: Params) -> Response:
    """`{target_task_id, git_hash, cut_sequence, moved, unchanged}`, or why there is none."""
    task_id, git_hash = params.text("task_id"), params.text("git_hash")
    if (task_id is None) == (git_hash is None):
        raise QueryError("task_id", "one of task_id and git_hash must be given")
    session = view.get("saop session", session_id)
    if session is None or orjson.loads(session)["last_sequence"] == 0:
        return _refused(rules.SESSION_UNKNOWN)
    tasks = _own_tasks(view, session_id)
    target = target_of(tasks, task_id, git_hash, needs_hash=False)
    if isinstance(target, Rule):
        return _refused(target)
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


def _own_tasks(view: Reads, session_id: str) -> dict[str, dict[str, Any]]:
    """The tasks that no other protocol reported, by id."""
    record = SAOP_TASKS.record or ""
    rows = (decode(row, record).value for _, row in view.scan(key("task", session_id)))
    return {row["task_id"]: row for row in rows if row["origin"] is None}


def _refused(rule: Rule) -> Response:
    status = 404 if rule.code in NOT_FOUND else 409
    return problem(status, f"Nothing can be planned: {rule.meaning}.", rule.code)
