"""The ids that the service makes for rewinds, made alike on every `play`."""

from __future__ import annotations

import re
from typing import Any

from schemas import uuid5_url
from streams.api.filling import Filling, NewId, parsed

_REWIND = re.compile(r"/v1/saop/sessions/[^/]*/rewind")


def _value(topic: str, given: Any, new_id: NewId) -> Any:
    return given


def _body(method: str, path: str, given: Any, now_ms: int, new_id: NewId) -> Any:
    """A `rewind_id` where a rewind is ordered without one."""
    if method != "POST" or not _REWIND.fullmatch(path):
        return given
    order = parsed(given)
    if not isinstance(order, dict) or "rewind_id" in order:
        return given
    return {**order, "rewind_id": uuid5_url(f"headrace:rewind/{path}/{now_ms}")}


FILLING = Filling(_value, _body)
