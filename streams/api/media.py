"""What a body says that it is."""

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
    """No type at all counts as JSON; with several types of JSON, every other one is one too.

    Raises Refused: 415.
    """
    coding = _header(headers, "content-encoding") or "identity"
    if coding.lower() != "identity":
        raise Refused(problem(415, "the body is to be sent as it is, not encoded", "media_type"))
    given = _header(headers, "content-type")
    if given is None:
        return
    kind, *parameters = (part.strip().lower() for part in given.split(";"))
    own = len(types) > 1 and kind.startswith("application/") and kind.endswith("+json")
    charsets = [p.partition("=")[2].strip('"') for p in parameters if p.startswith("charset")]
    if not (own or kind in types) or any(charset not in _UTF_8 for charset in charsets):
        message = f"the body is to be one of {', '.join(types)}, in UTF-8"
        raise Refused(problem(415, message, "media_type"))


def media_type(headers: Mapping[str, str]) -> str | None:
    """Without its parameters."""
    given = _header(headers, "content-type")
    return None if given is None else given.partition(";")[0].strip().lower()


def _header(headers: Mapping[str, str], name: str) -> str | None:
    return next((text.strip() for own, text in headers.items() if own.lower() == name), None)


def text_of(body: Any) -> bytes:
    """The bytes of a body that is JSON text or a value; none for None."""
    if body is None:
        return b""
    return (body if isinstance(body, str) else json.dumps(body)).encode()
