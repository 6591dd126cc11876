"""Asks the routes of the gateway from inside, as the caller of the current request."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import orjson
from starlette.requests import Request
from starlette.types import Message

from streams.doors.mcp.results import Json, ToolRefused
from streams.gateway.access import get_access_rule
from streams.gateway.caller import get_caller
from streams.gateway.context import Gateway
from streams.gateway.endpoints import Endpoint, make_endpoint
from streams.routes.table import ROUTES, find


class Reply(NamedTuple):
    """The status and the JSON body of a response."""

    status: int
    body: Any


class Asker:
    """The GET routes of a gateway, called without a socket."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._endpoints: dict[str, Endpoint] = {
            route.template: make_endpoint(gateway, route)
            for route in ROUTES
            if route.method == "GET"
        }

    async def get(self, *segments: str, **query: object) -> Json:
        """Return the body of a 200.

        segments: of the path after /v1, not encoded.  query: without values that are None.
        Raises ToolRefused.
        """
        path = "/".join(("/v1", *(quote(segment, safe="") for segment in segments)))
        texts = {name: _text(value) for name, value in query.items() if value is not None}
        answer = await self.ask(path, urlencode(texts))
        if answer.status != 200:
            raise ToolRefused(answer.body)
        body: Json = answer.body
        return body

    async def ask(self, path: str, query: str, *, as_caller: bool = False) -> Reply:
        """Return the response to a GET of a percent-encoded path.

        as_caller: refuse what the caller's token would be refused; else the tool has checked it.
        Raises NoRoute.
        """
        route, ids = find("GET", path)
        caller = get_caller()
        rule = get_access_rule(route)
        if as_caller and caller is not None and not caller.has(rule.roles):
            needed = " or ".join(rule.roles)
            detail = f"the token of {caller.principal} has not the role {needed}"
            return Reply(403, {"status": 403, "detail": detail, "rule": rule.rule})
        request = _make_request(path, query, ids)
        response = await self._endpoints[route.template](request)
        return Reply(response.status_code, orjson.loads(bytes(response.body)))


def _make_request(path: str, query: str, ids: dict[str, str]) -> Request:
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [],
        "path_params": ids,
    }
    return Request(scope, _receive_nothing)


async def _receive_nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
