"""`GET /v1/rtes/stream`: its parameters and its errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from streams.api.problems import failed, problem
from streams.errors import HeadraceError
from streams.gateway.sse.beginnings import Wanted
from streams.gateway.sse.document import DESCRIPTION, PARAMETERS, RESPONSES
from streams.gateway.sse.hub import TailHub
from streams.gateway.sse.response import EventStream
from streams.gateway.sse.topic import TYPES
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
    """The route over a hub that is started and stopped elsewhere.

    allowed: whether the client of the stream that asks may still follow it.
    """
    routes = APIRouter()

    @routes.get(
        PATH,
        summary="Follow recorded events",
        description=DESCRIPTION,
        response_class=Response,
        responses=RESPONSES,
        openapi_extra={"parameters": PARAMETERS},
    )
    async def follow(request: Request) -> Response:
        try:
            wanted = parse(request.url.query, request.headers)
            return EventStream(await hub.open(wanted), hub.patience_s, allowed)
        except HeadraceError as exc:
            return _refused(exc, request.headers)

    return routes


def parse(query: str, headers: Mapping[str, str]) -> Wanted:
    """Raises QueryError."""
    given: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in _KNOWN:
            raise QueryError(name, f"unknown query parameter; known are {', '.join(_KNOWN)}")
        given.setdefault(name, []).append(value)
    start = _single(given, "from", LATEST)
    if start not in (EARLIEST, LATEST):
        raise QueryError("from", f"one of {EARLIEST}, {LATEST}")
    if not set(given.get("type", ())) <= set(TYPES):
        raise QueryError("type", f"one of {', '.join(TYPES)}")
    cursor = headers.get(_LAST_EVENT_ID) or _single(given, "cursor", None)
    return Wanted(Filters(*(given.get(name) for name in _FILTERS)), start, cursor)


def _single(given: Mapping[str, Sequence[str]], name: str, default: T) -> str | T:
    match given.get(name, ()):
        case [] | ():
            return default
        case [value]:
            return value
    raise QueryError(name, "given more than once")


def _refused(exc: HeadraceError, headers: Mapping[str, str]) -> Response:
    where = "Last-Event-ID" if headers.get(_LAST_EVENT_ID) else "cursor"
    more: dict[str, Any] = {}
    match exc:
        case CursorInvalid():
            answer = problem(400, exc.message, exc.code, where)
        case CursorAhead():
            answer = problem(409, f"{exc.message}: the topic was replaced", exc.code, where)
        case CursorExpired():
            answer = problem(410, exc.message, exc.code, where)
            more = {"earliest": exc.earliest}
        case _:
            answer = failed(exc)
    retry = {"retry-after": str(RETRY_AFTER_S)} if answer.status == 503 else None
    return JSONResponse(
        {**answer.body, **more}, answer.status, retry, media_type="application/problem+json"
    )
