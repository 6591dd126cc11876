"""`GET /v1/rtes/stream`: its parameters and its errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from streams.api.problems import error_response, problem
from streams.errors import HeadraceError
from streams.gateway.live_tail.document import DESCRIPTION, PARAMETERS, RESPONSES
from streams.gateway.live_tail.events import TYPES
from streams.gateway.live_tail.hub import TailHub
from streams.gateway.live_tail.response import EventStream
from streams.gateway.live_tail.start_positions import TailRequest
from streams.log.cursors import EARLIEST, LATEST, CursorAhead, CursorExpired, CursorInvalid
from streams.log.filters import Filters
from streams.views.parse import QueryError

PATH = "/v1/rtes/stream"
RETRY_AFTER_S = 2
T = TypeVar("T")

_FILTERS = ("session_id", "type", "task_id")
_KNOWN = (*_FILTERS, "from", "cursor")
_LAST_EVENT_ID = "last-event-id"


def router(hub: TailHub, allowed: Callable[[], bool] = lambda: True) -> APIRouter:
    """Return the route over a hub, which the caller starts and stops.

    allowed: whether the client of the current stream may still follow it.
    """
    routes = APIRouter()
    routes.add_api_route(
        PATH,
        make_follow(hub, allowed),
        summary="Follow recorded events",
        description=DESCRIPTION,
        response_class=Response,
        responses=RESPONSES,
        openapi_extra={"parameters": PARAMETERS},
    )
    return routes


def make_follow(
    hub: TailHub, allowed: Callable[[], bool] = lambda: True
) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of the route.  hub, allowed: as of `router`."""

    async def follow(request: Request) -> Response:
        try:
            tail_request = parse(request.url.query, request.headers)
            return EventStream(await hub.open(tail_request), hub.patience_s, allowed)
        except HeadraceError as exc:
            return _make_problem_response(exc, request.headers)

    return follow


def parse(query: str, headers: Mapping[str, str]) -> TailRequest:
    """Parse the query and the header Last-Event-ID.  Raises QueryError."""
    values: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in _KNOWN:
            raise QueryError(name, f"unknown query parameter; known are {', '.join(_KNOWN)}")
        values.setdefault(name, []).append(value)
    start = _get_single_value(values, "from", LATEST)
    if start not in (EARLIEST, LATEST):
        raise QueryError("from", f"one of {EARLIEST}, {LATEST}")
    if not set(values.get("type", ())) <= set(TYPES):
        raise QueryError("type", f"one of {', '.join(TYPES)}")
    cursor = headers.get(_LAST_EVENT_ID) or _get_single_value(values, "cursor", None)
    return TailRequest(Filters(*(values.get(name) for name in _FILTERS)), start, cursor)


def _get_single_value(values: Mapping[str, Sequence[str]], name: str, default: T) -> str | T:
    match values.get(name, ()):
        case [] | ():
            return default
        case [value]:
            return value
    raise QueryError(name, "given more than once")


def _make_problem_response(exc: HeadraceError, headers: Mapping[str, str]) -> Response:
    parameter = "Last-Event-ID" if headers.get(_LAST_EVENT_ID) else "cursor"
    more: dict[str, Any] = {}
    match exc:
        case CursorInvalid():
            response = problem(400, exc.message, exc.code, parameter)
        case CursorAhead():
            response = problem(409, f"{exc.message}: the topic was replaced", exc.code, parameter)
        case CursorExpired():
            response = problem(410, exc.message, exc.code, parameter)
            more = {"earliest": exc.earliest}
        case _:
            response = error_response(exc)
    retry = {"retry-after": str(RETRY_AFTER_S)} if response.status == 503 else None
    return JSONResponse(
        {**response.body, **more}, response.status, retry, media_type="application/problem+json"
    )
