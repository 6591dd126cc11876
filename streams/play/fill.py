"""What the gateway makes up for a request, made up the same on every run."""

from __future__ import annotations

import re
from typing import Any

from schemas import ShapeError, parse_ijson, uuid5_url

_ORDER = re.compile(r"/v1/saop/sessions/[^/]*/rewind")


def filled_in(method: str, path: str, body: Any, now_ms: int) -> Any:
    """The body of a request, with a `rewind_id` where a rewind is ordered without one.

    now_ms: when the request is made; no two requests are made at one time.
    """
    if method != "POST" or not _ORDER.fullmatch(path):
        return body
    try:
        order = parse_ijson(body) if isinstance(body, str) else body
    except ShapeError:
        return body
    if not isinstance(order, dict) or "rewind_id" in order:
        return body
    return {**order, "rewind_id": uuid5_url(f"headrace:rewind/{path}/{now_ms}")}
