"""What surrounds every request: bounds, faults, figures and the access log."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.requests import Request
from starlette.responses import Response as HttpResponse
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streams.api.problems import failed, no_route, problem
from streams.api.route import Refused
from streams.errors import Forbidden, Unauthenticated
from streams.gateway.answer import http
from streams.gateway.asked import ASKED, HEADER, Asked, asking
from streams.gateway.context import Gateway
from streams.gateway.endpoints import Endpoint
from streams.gateway.guard import Guard
from streams.gateway.limits import EXEMPT, MAX_HEAD
from streams.gateway.paths import Paths
from streams.routes.table import ROUTES, parameters_of
from streams.telemetry import logs

log = logging.getLogger("streams.gateway")
access = logging.getLogger("streams.gateway.access")
_NAMES = {p.name for route in ROUTES for p in parameters_of(route)} | {"type", "from"}
"""Of query parameters, those of the stream too."""


class Edge:
    """An ASGI middleware, the outermost one.

    direct: endpoints that are called from here; the framework takes the rest.
    templates: of endpoints, for the metrics.
    Paths below it are percent-encoded, so that an id may hold a slash.
    """

    def __init__(
        self,
        app: ASGIApp,
        gateway: Gateway,
        guard: Guard,
        direct: Paths[Endpoint],
        templates: Mapping[Endpoint, str],
    ) -> None:
        self._app = app
        self._gateway = gateway
        self._guard = guard
        self._direct = direct
        self._templates = templates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = {**scope, "path": scope["raw_path"].decode("ascii")}
        asked = asking(scope["headers"])
        before, context = ASKED.set(asked), logs.CONTEXT.set(asked.ids)
        seen = Seen(asked, send)
        exempt = scope["path"] in EXEMPT
        self._gateway.in_flight += 0 if exempt else 1
        try:
            await self._answer(scope, receive, seen, exempt)
        finally:
            self._gateway.in_flight -= 0 if exempt else 1
            self._note(scope, seen)
            ASKED.reset(before)
            logs.CONTEXT.reset(context)

    async def _answer(self, scope: Scope, receive: Receive, seen: Seen, exempt: bool) -> None:
        refused = self._refusal(scope, exempt)
        if refused is not None:
            await refused(scope, receive, seen.send)
            return
        try:
            with self._guard.admitted(scope) as caller:
                seen.principal = None if caller is None else caller.principal
                await self._pass_on(scope, receive, seen.send)
        except (Unauthenticated, Forbidden) as exc:
            await http(failed(exc))(scope, receive, seen.send)
        except Refused as exc:
            await http(exc.response)(scope, receive, seen.send)
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if seen.status:
                raise  # the answer has begun: only the end of the connection can say it
            answer = problem(500, "a fault of the service", "service_internal")
            await http(answer)(scope, receive, seen.send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._direct.find(scope["method"], scope["path"])
        if found is None:
            await self._app(scope, receive, send)
            return
        scope["endpoint"] = found
        answer = await found(Request(scope, receive))
        await answer(scope, receive, send)

    def _refusal(self, scope: Scope, exempt: bool) -> HttpResponse | None:
        head = len(scope["raw_path"]) + len(scope["query_string"])
        head += sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        if head > MAX_HEAD:
            detail = f"request line and headers are above {MAX_HEAD} bytes"
            return http(problem(431, detail, "headers_too_large"), {"connection": "close"})
        most = self._gateway.settings.gateway_max_requests
        if not exempt and self._gateway.in_flight > most:
            detail = f"{most} requests are being answered; send again with the same id"
            return http(problem(503, detail, "service_unavailable"))
        if scope["method"] == "OPTIONS":
            return _options(scope)
        return None

    def _route(self, scope: Scope) -> str:
        """The template of the route that answered."""
        answered: Any = scope.get("endpoint")
        own = self._templates.get(answered)
        return own or str(getattr(scope.get("route"), "path", "none"))

    def _note(self, scope: Scope, seen: Seen) -> None:
        route, took = self._route(scope), time.perf_counter() - seen.begun
        stream = None if seen.streamed else took
        self._gateway.metrics.answered(scope["method"], route, seen.status, stream)
        if access.isEnabledFor(logging.INFO):
            line = _line(scope, seen, route, took)
            # without a search for the caller, which costs more than the line
            access.handle(logging.LogRecord(access.name, logging.INFO, "", 0, line, (), None))


class Seen:
    """What was answered.  streamed: as server-sent events."""

    def __init__(self, asked: Asked, send: Send) -> None:
        self.asked = asked
        self._send = send
        self.begun = time.perf_counter()
        self.status = 0
        self.sent_bytes = 0
        self.streamed = False
        self.principal: str | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            kinds = [v for n, v in message.get("headers", ()) if n.lower() == b"content-type"]
            self.streamed = any(kind.startswith(b"text/event-stream") for kind in kinds)
            named = (HEADER, self.asked.request_id.encode())
            more = ((n.lower().encode(), v.encode()) for n, v in self.asked.headers.items())
            message = {**message, "headers": [*message.get("headers", ()), named, *more]}
        elif message["type"] == "http.response.body":
            self.sent_bytes += len(message.get("body", b""))
        await self._send(message)


def _line(scope: Scope, seen: Seen, route: str, took_s: float) -> str:
    """Names of query parameters only, and none that nobody declared: they may be secret."""
    query = scope["query_string"]
    named = parse_qsl(query.decode("latin-1"), True) if query else ()
    names = [name if name in _NAMES else "?" for name, _ in named]
    known: dict[str, Any] = {
        "at": logs.at(time.time()),
        "level": "info",
        "logger": access.name,
        "method": scope["method"],
        "path": scope["path"],
        "route": route,
        "query": names[:20],
        "status": seen.status,
        "ms": round(took_s * 1000, 1),
        "bytes": seen.sent_bytes,
        "principal": seen.principal,
        "client": (scope.get("client") or ("",))[0],
        **seen.asked.ids,
    }
    if seen.asked.positions:
        known["positions"] = seen.asked.positions[:20]
    return orjson.dumps(known).decode()


def _options(scope: Scope) -> HttpResponse:
    allowed = allowed_methods(scope)
    if not allowed:
        return http(no_route(f"there is no {scope['path']}", ()))
    return HttpResponse(status_code=204, headers={"allow": ", ".join(allowed)})


def allowed_methods(scope: Scope) -> tuple[str, ...]:
    """The methods that the path takes; empty when there is no such path."""
    routes: list[BaseRoute] = scope["app"].routes
    found: set[str] = set()
    for route in routes:
        if route.matches(scope)[0] is not Match.NONE:
            found |= getattr(route, "methods", None) or set()
    return tuple(sorted(found | {"OPTIONS"})) if found else ()
