"""Commands to pause and resume tasks, and the facts about them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from schemas.saop import rules
from streams.api.problems import Response, problem
from streams.engine.records import Output
from streams.processing.encode import to_output
from streams.protocols.saop import ingress
from streams.protocols.saop.queries.rewinds import UNAUTHENTICATED, NoFact
from streams.settings.service import ServiceSettings
from streams.views.keys import key
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, json_of
from topology.saop import SAOP_CONTROL_LOG, SAOP_CONTROLS

NOT_FOUND = frozenset({rules.TASK_UNKNOWN.code})
"""Refusals because something does not exist; the others are conflicts."""


def command_of(
    ids: Mapping[str, str],
    action: str,
    body: Any,
    now_ms: int,
    settings: ServiceSettings,
    requested_by: str = UNAUTHENTICATED,
) -> Output:
    """Return the record of a control.

    ids: `session_id` and `task_id`.  body: None, or an object with `control_id` and `reason`.
    Raises InvalidInput.
    """
    filled = {**ids, "action": action, "requested_by": requested_by}
    command: Any = body
    if body is None or isinstance(body, dict):
        named = body or {}
        command = {**named, "control_id": named.get("control_id", str(uuid.uuid4())), **filled}
    return to_output(ingress.CONTROLS, command, now_ms, settings)


def answer_of(view: ReadOnlyStore, output: Output, cause: str) -> Response:
    """Return the fact about the control at that position: 200, or the problem that it is.

    Raises NoFact when the control ended otherwise.
    """
    fact = _fact_about(view, output, cause)
    if fact["verdict"] != "rejected":
        return Response(200, fact)
    meanings = {rule.code: rule.meaning for rule in rules.ALL}
    detail = f"The {fact['action']} was refused: {meanings.get(fact['rule'], fact['rule'])}."
    refused = problem(404 if fact["rule"] in NOT_FOUND else 409, detail, fact["rule"])
    return Response(refused.status, {**refused.body, "fact": fact})


def _fact_about(view: ReadOnlyStore, output: Output, cause: str) -> Json:
    command = json_of(SAOP_CONTROLS, output.value or b"")
    prefix = key("control", command["session_id"], command["control_id"].lower())
    for _, row in view.scan(prefix, reverse=True):
        fact = json_of(SAOP_CONTROL_LOG, row)
        if fact["cause"] == cause:
            return fact
    raise NoFact(f"the command at {cause} has no verdict")
