"""Answers as they go over the wire."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson
from starlette.responses import Response as HttpResponse

from streams.api.media import JSON_TYPE, PROBLEM_TYPE
from streams.api.problems import Response
from streams.gateway.limits import RETRY_AFTER_S

RETRY_AFTER = {"retry-after": str(RETRY_AFTER_S)}


def dump(value: Any) -> bytes:
    """JSON text of anything that JSON text was read from."""
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer of more than 64 bits
        return json.dumps(value).encode()


def http(answer: Response, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """An answer, its body made into text here."""
    own = {**answer.headers, **(headers or {})}
    return http_text(answer.status, dump(answer.body), own, fact=answer.fact)


def http_text(
    status: int, text: bytes, headers: Mapping[str, str] | None = None, *, fact: bool = False
) -> HttpResponse:
    """fact: a record and no problem, whatever the status."""
    more = {"cache-control": "no-store", **(headers or {})}
    if status == 503:
        more["retry-after"] = str(RETRY_AFTER_S)
    media = JSON_TYPE if status < 400 or fact else PROBLEM_TYPE
    return HttpResponse(text, status, more, media)
