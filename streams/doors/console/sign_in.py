"""`POST /v1/session` and `DELETE /v1/session`: signing in and out."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from schemas import ShapeError, parse_ijson
from schemas.problems import Problem
from streams.api.media import JSON_TYPE
from streams.doors.console.session import CLEARED, Sessions, read_cookies
from streams.errors import Conflict, InvalidInput, Unauthenticated
from streams.gateway.endpoints import Endpoint, with_problems
from streams.gateway.request_parts import read_body

MAX_BODY = 4096
MAX_TOKEN = 1024
_SHAPE = "schema_invalid"


def make_sign_in(sessions: Sessions | None) -> Endpoint:
    """Return the endpoint that exchanges a token for a cookie.  sessions: None without tokens."""

    async def answer(request: Request) -> HttpResponse:
        if sessions is None:
            message = "the gateway takes no tokens, so everybody is signed in"
            raise Conflict(message, "session_not_needed")
        sessions.check_place(request.scope)
        body = await read_body(request, MAX_BODY, MAX_BODY, (JSON_TYPE,))
        cookie = sessions.open(parse_token(body))
        if cookie is None:
            raise Unauthenticated("the token is not known, or has expired", "token_unknown")
        return HttpResponse(status_code=204, headers={"set-cookie": cookie})

    return with_problems(answer)


def make_sign_out(sessions: Sessions | None) -> Endpoint:
    """Return the endpoint that clears the cookie."""

    async def answer(request: Request) -> HttpResponse:
        if sessions is not None and (
            read_cookies(request.scope) or "sec-fetch-site" in request.headers
        ):
            sessions.check_page(request.scope)
        return HttpResponse(status_code=204, headers={"set-cookie": CLEARED})

    return with_problems(answer)


def parse_token(body: bytes) -> str:
    """Return the token in the body of a sign-in.  Raises InvalidInput."""
    try:
        value: Any = parse_ijson(body)
    except ShapeError as exc:
        raise InvalidInput([exc.problem]) from exc
    if not isinstance(value, dict):
        raise InvalidInput([Problem(_SHAPE, "", "The body must be an object.")])
    token = value.get("token")
    if set(value) - {"token"}:
        unknown = min(set(value) - {"token"})
        problem = Problem(_SHAPE, f"/{unknown}", f"{unknown} is not a member of a sign-in.")
        raise InvalidInput([problem])
    if not isinstance(token, str) or not 0 < len(token) <= MAX_TOKEN:
        message = f"token must be a text of 1 to {MAX_TOKEN} characters."
        raise InvalidInput([Problem(_SHAPE, "/token", message)])
    return token
