"""The messages of webhooks, signed anew at each attempt.  No SDK is loaded for them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from streams.doors.mcp.results import FORBIDDEN, Json
from streams.doors.mcp.signatures import JSON_TYPE, SUBSCRIPTION_ID, sign
from streams.doors.push.courier import Courier, Message


def make_message(
    outlet: Courier, content: bytes | Json, id: str, cursor: str | None = None
) -> Message:
    """Return a message.  id: the same in every attempt.  cursor: behind it."""
    text = content if isinstance(content, bytes) else json.dumps(content).encode()

    def headers() -> Mapping[str, str]:
        return {
            **sign(outlet.secrets(), id, text, outlet.now()),
            "content-type": JSON_TYPE,
            SUBSCRIPTION_ID: outlet.subscription.id,
        }

    return Message(text, headers, cursor, outlet.now())


def make_farewell(outlet: Courier) -> Message:
    """Return the message that says that no more events come."""
    subscription = outlet.subscription
    detail = f"{subscription.principal} may not have these events any more"
    error = {"code": FORBIDDEN, "message": detail, "data": {"rule": "event_forbidden"}}
    id = f"terminated_{subscription.id}_{subscription.revision}"
    return make_message(outlet, {"type": "terminated", "error": error}, id)
