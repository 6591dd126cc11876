"""HTTP responses with JSON bodies."""

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


def dump_json(value: Any) -> bytes:
    """Encode any value that was parsed from JSON."""
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer of more than 64 bits
        return json.dumps(value).encode()


def make_response(response: Response, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Return the HTTP response with the body encoded as JSON."""
    all_headers = {**response.headers, **(headers or {})}
    return make_text_response(
        response.status, dump_json(response.body), all_headers, fact=response.fact
    )


def make_text_response(
    status: int, text: bytes, headers: Mapping[str, str] | None = None, *, fact: bool = False
) -> HttpResponse:
    """Return the HTTP response with an encoded JSON body.

    fact: the body is a record and not a problem, whatever the status.
    """
    more = {"cache-control": "no-store", **(headers or {})}
    if status == 503:
        more["retry-after"] = str(RETRY_AFTER_S)
    media = JSON_TYPE if status < 400 or fact else PROBLEM_TYPE
    return HttpResponse(text, status, more, media)
