"""Entity tags (RFC 9110, 8.8.3): a client that has the current answer gets 304 without a body.

A tag is a hash of the answer's bytes.  The positions of the view would be cheaper, but answers also
depend on the time, on Kafka and on the caller.  It is weak: what makes an answer, such as the
release, may write the same content differently.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from streams.api import correlation

_ANY = "*"
_KEPT = ("cache-control", "vary", correlation.HEADER.lower())
"""Headers of the answer that its 304 repeats."""


def tag_response(
    request: Request, response: HttpResponse, tagged: bytes | None = None
) -> HttpResponse:
    """Return the response with its tag, or 304 if the client has it; errors as they are.

    tagged: the bytes that the tag is of, if not all of the body is.
    """
    if response.status_code != 200:
        return response
    tag = make_tag(bytes(response.body) if tagged is None else tagged)
    if not matches(request.headers.get("if-none-match"), tag):
        response.headers["etag"] = tag
        return response
    return HttpResponse(status_code=304, headers={"etag": tag, **_repeated(response.headers)})


def make_tag(text: bytes) -> str:
    """Return the weak tag of these bytes."""
    return f'W/"{blake2b(text, digest_size=16).hexdigest()}"'


def matches(condition: str | None, tag: str) -> bool:
    """Return whether `If-None-Match` names the tag, by weak comparison."""
    if condition is None:
        return False
    names = [name.strip().removeprefix("W/") for name in condition.split(",")]
    return names == [_ANY] or tag.removeprefix("W/") in names


def _repeated(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name] for name in _KEPT if name in headers}
