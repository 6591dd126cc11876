"""The ids that the service makes for rewinds, the same on every run of `play`."""

from __future__ import annotations

import re
from typing import Any

from schemas import uuid5_url
from streams.api.filling import Filling, NewId, parse_or_none

_REWIND = re.compile(r"/v1/saop/sessions/[^/]*/rewind")


def _value(topic: str, value: Any, new_id: NewId) -> Any:
    return value


def _body(method: str, path: str, body: Any, now_ms: int, new_id: NewId) -> Any:
    """Add a `rewind_id` to a request for a rewind without one."""
    if method != "POST" or not _REWIND.fullmatch(path):
        return body
    order = parse_or_none(body)
    if not isinstance(order, dict) or "rewind_id" in order:
        return body
    return {**order, "rewind_id": uuid5_url(f"headrace:rewind/{path}/{now_ms}")}


FILLING = Filling(_value, _body)
