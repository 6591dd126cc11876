"""What the OpenAPI document says of SAOP and RTES beside their routes and answers."""

from __future__ import annotations

from streams.api.description import Body, Description, PathId, envelope, read_schema
from streams.api.openapi import Json
from streams.views.query_params import SESSION_ID
from topology.saop import SAOP_REWIND_LOG


def _rewind_order() -> Json:
    """The members of a SaopRewind that the path does not say; one of task and commit is named."""
    own = read_schema("saop/rewind")["properties"]
    names = ("task_id", "git_hash", "rewind_id", "reason")
    phase = {"type": "string", "enum": ["apply", "prepare"], "default": "apply"}
    said = {"task_id": {"type": "string"}, "git_hash": {"type": "null"}}
    other = {"task_id": {"type": "null"}, "git_hash": {"type": "string"}}
    order = {
        "type": "object",
        "properties": {**{name: own[name] for name in names}, "phase": phase},
        "anyOf": [
            {"properties": said, "required": ["task_id"]},
            {"properties": other, "required": ["git_hash"]},
        ],
    }
    return {"RewindOrder": order}


def _ordered() -> Json:
    return {"to_a_task": {"value": {"task_id": "paint-7", "reason": "a wrong turn"}}}


DESCRIPTION = Description(
    tags={
        "rtes": "What sessions did, as a stream of events.",
        "saop": "Turns and tasks of agents, escalations, rewinds.",
    },
    ids={
        "session_id": PathId(SESSION_ID.example),
        "rewind_id": PathId("0f5f9d0e-8a52-4d6b-9d1d-7f0c2f5d0f76", "uuid"),
    },
    records=(SAOP_REWIND_LOG,),
    bodies=(
        envelope("rtes/event", "rtes"),
        envelope("saop/turn", "saop"),
        Body("RewindOrder", _rewind_order, _ordered, composed=True),
    ),
)
