"""What schemathesis has to know of the data, loaded by it (SCHEMATHESIS_HOOKS)."""

from __future__ import annotations

import itertools
import json
import os
import re
from typing import Any

import schemathesis

PREPARED = json.loads(os.environ.get("REWINDS_PREPARED", "[]"))
"""Rewinds that may be carried out, each of a session of its own: session_id, rewind_id."""
POSITION = re.compile(r"[^/]+/[0-9]{1,18}/[0-9]{1,18}", re.ASCII)
IDS = json.loads(os.environ.get("IDS", "{}"))
"""What is there of ASAP and Summit: ids by operation."""
_turn = itertools.count()
_ends = {"confirm_rewind": iter(PREPARED[::2]), "abort_rewind": iter(PREPARED[1::2])}


@schemathesis.hook
def before_call(
    context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]
) -> None:
    """Positions become one that is there: others would be waited for.  In valid requests
    cursors, which nobody can guess, go, and every other one about a rewind asks for what is there.
    """
    parameters: Any = case.query
    query = parameters if isinstance(parameters, dict) else {}
    if POSITION.fullmatch(str(query.get("after", ""))):
        query["after"] = os.environ["POSITION_THERE"]
    meta = case.meta
    if meta is None or meta.generation.mode is not schemathesis.GenerationMode.POSITIVE:
        return
    query.pop("cursor", None)
    _look_back(case, query)
    if next(_turn) % 2:
        _made_real(case)


def _look_back(case: schemathesis.Case[Any], query: dict[str, Any]) -> None:
    """To a position that is there, where nothing else is asked for that does not go with it."""
    name = case.operation.definition.raw["operationId"]
    if query.keys() & {"after", "fresh"} or name in ("list_tasks", "list_sessions"):
        query.pop("as_of", None)
    elif "as_of" in query:
        query["as_of"] = os.environ["POSITION_THERE"]


def _made_real(case: schemathesis.Case[Any]) -> None:
    name = case.operation.definition.raw["operationId"]
    ids: Any = case.path_parameters
    if name in ("get_task", "explain_task"):
        ids["taskId"] = os.environ["TASK_THERE"]
    elif name in ("get_cached", "list_cached_versions"):
        ids["cacheKey"] = os.environ["CACHE_KEY_THERE"]
    elif name in IDS:
        ids.update({each: IDS[name][each] for each in ids if each in IDS[name]})
    elif name in _ends:
        pair = next(_ends[name], PREPARED[0])
        ids.update(zip(("session_id", "rewind_id"), pair, strict=True))
    elif name == "get_rewind":
        ids.update(zip(("session_id", "rewind_id"), PREPARED[0], strict=True))
    elif name in ("rewind_session", "plan_rewind"):
        ids["session_id"] = "sess-01"
        if isinstance(case.body, dict) and not case.body.get("git_hash"):
            case.body["task_id"] = "paint-7"
        query: Any = case.query
        if name == "plan_rewind" and isinstance(query, dict):
            query.pop("git_hash", None)
            query["task_id"] = "paint-7"


@schemathesis.serializer("application/x-ndjson")
def lines(context: schemathesis.SerializationContext, value: Any) -> bytes:
    """What is no text stands on lines of its own, so that an empty list is not one of envelopes."""
    return value.encode() if isinstance(value, str) else f"{json.dumps(value)}\n".encode() * 2
