"""The part of the OpenAPI document for SAOP and RTES, beside their routes and responses."""

from __future__ import annotations

from streams.api.description import Body, Description, PathId, envelope, read_schema
from streams.api.openapi import Json
from streams.api.problems import Code
from streams.views.query_params import SESSION_ID
from topology.saop import SAOP_CONTROL_LOG, SAOP_REWIND_LOG


def _rewind_order() -> Json:
    """Return the members of a SaopRewind that are not in the path; a task or a commit is named."""
    rewind_members = read_schema("saop/rewind")["properties"]
    names = ("task_id", "git_hash", "rewind_id", "reason")
    phase = {"type": "string", "enum": ["apply", "prepare"], "default": "apply"}
    by_task = {"task_id": {"type": "string"}, "git_hash": {"type": "null"}}
    by_commit = {"task_id": {"type": "null"}, "git_hash": {"type": "string"}}
    order = {
        "type": "object",
        "properties": {**{name: rewind_members[name] for name in names}, "phase": phase},
        "anyOf": [
            {"properties": by_task, "required": ["task_id"]},
            {"properties": by_commit, "required": ["git_hash"]},
        ],
    }
    return {"RewindOrder": order}


def _control_order() -> Json:
    """Return the members of a SaopControl that are not in the path."""
    members = read_schema("saop/control")["properties"]
    properties = {name: members[name] for name in ("control_id", "reason")}
    return {"ControlOrder": {"type": "object", "properties": properties}}


def _controlled() -> Json:
    return {"with_a_reason": {"value": {"reason": "it repeats itself"}}}


def _ordered() -> Json:
    return {"to_a_task": {"value": {"task_id": "paint-7", "reason": "a wrong turn"}}}


DESCRIPTION = Description(
    tags={
        "rtes": "What sessions did, as a stream of events.",
        "saop": "Turns and tasks of agents, escalations, pauses, rewinds.",
    },
    http_rules=(
        Code("principal_mismatch", 403, "The token's principal is not the agent that SAOP names."),
        Code("limit_invalid", 422, "`limit` of a list of events or tasks is not allowed."),
    ),
    ids={
        "session_id": PathId(SESSION_ID.example),
        "task_id": PathId("task-a"),
        "rewind_id": PathId("0f5f9d0e-8a52-4d6b-9d1d-7f0c2f5d0f76", "uuid"),
    },
    records=(SAOP_REWIND_LOG, SAOP_CONTROL_LOG),
    bodies=(
        envelope("rtes/event", "rtes"),
        envelope("saop/turn", "saop"),
        Body("RewindOrder", _rewind_order, _ordered, composed=True),
        Body("ControlOrder", _control_order, _controlled, composed=True),
    ),
)
