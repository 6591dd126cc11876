"""Tool calls, their two halves put together.

| key                                    | value                                            |
|----------------------------------------|--------------------------------------------------|
| call, session, first sequence          | JSON of the call                                 |
| call of, session, origin or "", call_id | the first sequence of the latest call of this id |
| open call, session, first sequence     | nothing; invoked and not completed               |

A call id can come again once the service has forgotten the call that had it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from streams.views.changes import Changes
from streams.views.keys import key

_INVOKED = "TOOL_LIFECYCLE_INVOKED"
TYPES = frozenset({_INVOKED, "TOOL_LIFECYCLE_COMPLETED"})


def note(record: Mapping[str, Any], kind: str, payload: Mapping[str, Any], rows: Changes) -> None:
    """One half.  record: RtesRecord, payload: its ToolInvoked or ToolCompleted, as Avro values."""
    session_id, sequence = record["session_id"], record["sequence"]
    latest = key("call of", session_id, record["origin"] or "", payload["call_id"])
    pairs = "unpaired" not in record["flags"] if kind != _INVOKED else _late(record)
    known = rows.read(latest) if pairs else None
    first = sequence if known is None else int(known)
    row = key("call", session_id, first)
    kept = rows.read(row) if known is not None else None
    call = _begun(payload) if kept is None else orjson.loads(kept)
    call["flags"] = [*call["flags"], *(f for f in record["flags"] if f not in call["flags"])]
    if kind == _INVOKED:
        call |= {"tool": payload["tool"], "invoked_sequence": sequence}
        call["task_id"] = call["task_id"] or record["task_id"]
    else:
        call |= {"status": payload["status"], "completed_sequence": sequence}
        call |= {"duration_ms": payload["duration_ms"]}
        call["task_id"] = record["task_id"] if kept is None else call["task_id"]
    rows[row], rows[latest] = orjson.dumps(call), str(first).encode()
    is_open = call["completed_sequence"] is None
    rows[key("open call", session_id, first)] = b"" if is_open else None


def _late(invoked: Mapping[str, Any]) -> bool:
    """Whether the other half came before."""
    return "out_of_order" in invoked["flags"]


def _begun(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "call_id": payload["call_id"],
        "tool": payload["tool"],
        "task_id": None,
        "status": None,
        "duration_ms": None,
        "invoked_sequence": None,
        "completed_sequence": None,
        "flags": [],
    }
