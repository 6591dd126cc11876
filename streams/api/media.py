"""Checks of a body's content type and encoding."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from streams.api.problems import problem
from streams.api.route import Refused

JSON_TYPE = "application/json"
PROBLEM_TYPE = "application/problem+json"
JSON_TYPES = (JSON_TYPE, "application/x-ndjson", "application/jsonl")
_UTF_8 = ("utf-8", "utf8", "us-ascii")


def check_type(headers: Mapping[str, str], types: tuple[str, ...] = JSON_TYPES) -> None:
    """Check that the body has one of the media types; a body without a type counts as JSON.

    If more than one type is allowed, any `application/*+json` passes too.
    Raises Refused: 415.
    """
    coding = _header(headers, "content-encoding") or "identity"
    if coding.lower() != "identity":
        raise Refused(problem(415, "the body is to be sent as it is, not encoded", "media_type"))
    content_type = _header(headers, "content-type")
    if content_type is None:
        return
    kind, *parameters = (part.strip().lower() for part in content_type.split(";"))
    is_json_suffix = len(types) > 1 and kind.startswith("application/") and kind.endswith("+json")
    charsets = [p.partition("=")[2].strip('"') for p in parameters if p.startswith("charset")]
    if not (is_json_suffix or kind in types) or any(charset not in _UTF_8 for charset in charsets):
        message = f"the body is to be one of {', '.join(types)}, in UTF-8"
        raise Refused(problem(415, message, "media_type"))


def media_type(headers: Mapping[str, str]) -> str | None:
    """Return the media type of the body without its parameters, None without a header."""
    content_type = _header(headers, "content-type")
    return None if content_type is None else content_type.partition(";")[0].strip().lower()


def _header(headers: Mapping[str, str], name: str) -> str | None:
    return next((text.strip() for header, text in headers.items() if header.lower() == name), None)


def body_bytes(body: Any) -> bytes:
    """Return the bytes of a body that is JSON text or a value; no bytes for None."""
    if body is None:
        return b""
    return (body if isinstance(body, str) else json.dumps(body)).encode()
