"""The outermost middleware: limits, error mapping, metrics, access log."""

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

from streams.api.problems import error_response, no_route, problem
from streams.api.route import Refused
from streams.errors import Forbidden, Unauthenticated
from streams.gateway.context import Gateway
from streams.gateway.endpoints import Endpoint
from streams.gateway.guard import Guard
from streams.gateway.http_response import make_response
from streams.gateway.limits import EXEMPT, MAX_HEAD
from streams.gateway.paths import Paths
from streams.gateway.request_ids import HEADER, REQUEST_IDS, RequestIds, read_request_ids
from streams.routes.table import ROUTES, parameters_of
from streams.telemetry import logs

log = logging.getLogger("streams.gateway")
access = logging.getLogger("streams.gateway.access")
_PARAMETER_NAMES = {p.name for route in ROUTES for p in parameters_of(route)} | {"type", "from"}
"""Names of all declared query parameters, including those of the live tail."""


class GatewayMiddleware:
    """The outermost ASGI middleware.

    direct: endpoints that are called from here; the framework handles the others.
    templates: route templates by endpoint, for the metrics.
    Paths stay percent-encoded for the routes, so that an id may contain a slash.
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
        request_ids = read_request_ids(scope["headers"])
        before, context = REQUEST_IDS.set(request_ids), logs.CONTEXT.set(request_ids.ids)
        recorder = ResponseRecorder(request_ids, send)
        exempt = scope["path"] in EXEMPT
        self._gateway.in_flight += 0 if exempt else 1
        try:
            await self._respond(scope, receive, recorder, exempt)
        finally:
            self._gateway.in_flight -= 0 if exempt else 1
            self._log_request(scope, recorder)
            REQUEST_IDS.reset(before)
            logs.CONTEXT.reset(context)

    async def _respond(
        self, scope: Scope, receive: Receive, recorder: ResponseRecorder, exempt: bool
    ) -> None:
        refused = self._check_limits(scope, exempt)
        if refused is not None:
            await refused(scope, receive, recorder.send)
            return
        try:
            with self._guard.admit(scope) as caller:
                recorder.principal = None if caller is None else caller.principal
                await self._dispatch(scope, receive, recorder.send)
        except (Unauthenticated, Forbidden) as exc:
            await make_response(error_response(exc))(scope, receive, recorder.send)
        except Refused as exc:
            await make_response(exc.response)(scope, receive, recorder.send)
        except Exception:
            log.exception("%s %s error_response", scope["method"], scope["path"])
            if recorder.status:
                raise  # the response has begun: only closing the connection shows the error
            response = problem(500, "a fault of the service", "service_internal")
            await make_response(response)(scope, receive, recorder.send)

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._direct.find(scope["method"], scope["path"])
        if endpoint is None:
            await self._app(scope, receive, send)
            return
        scope["endpoint"] = endpoint
        response = await endpoint(Request(scope, receive))
        await response(scope, receive, send)

    def _check_limits(self, scope: Scope, exempt: bool) -> HttpResponse | None:
        """Return the response for a request above a limit or an OPTIONS request, else None."""
        head = len(scope["raw_path"]) + len(scope["query_string"])
        head += sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        if head > MAX_HEAD:
            detail = f"request line and headers are above {MAX_HEAD} bytes"
            return make_response(problem(431, detail, "headers_too_large"), {"connection": "close"})
        max_requests = self._gateway.settings.gateway_max_requests
        if not exempt and self._gateway.in_flight > max_requests:
            detail = f"{max_requests} requests are being answered; send again with the same id"
            return make_response(problem(503, detail, "service_unavailable"))
        if scope["method"] == "OPTIONS":
            return _answer_options(scope)
        return None

    def _find_template(self, scope: Scope) -> str:
        """Return the template of the route that answered."""
        endpoint: Any = scope.get("endpoint")
        template = self._templates.get(endpoint)
        return template or str(getattr(scope.get("route"), "path", "none"))

    def _log_request(self, scope: Scope, recorder: ResponseRecorder) -> None:
        route, took = self._find_template(scope), time.perf_counter() - recorder.started
        stream = None if recorder.streamed else took
        self._gateway.metrics.observe_request(scope["method"], route, recorder.status, stream)
        if access.isEnabledFor(logging.INFO):
            line = _format_access_line(scope, recorder, route, took)
            # `access.info` would look up the caller's source line, which costs more than this
            access.handle(logging.LogRecord(access.name, logging.INFO, "", 0, line, (), None))


class ResponseRecorder:
    """The status and size of a response as sent.  streamed: it consists of server-sent events."""

    def __init__(self, request_ids: RequestIds, send: Send) -> None:
        self.request_ids = request_ids
        self._send = send
        self.started = time.perf_counter()
        self.status = 0
        self.sent_bytes = 0
        self.streamed = False
        self.principal: str | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            kinds = [v for n, v in message.get("headers", ()) if n.lower() == b"content-type"]
            self.streamed = any(kind.startswith(b"text/event-stream") for kind in kinds)
            named = (HEADER, self.request_ids.request_id.encode())
            more = ((n.lower().encode(), v.encode()) for n, v in self.request_ids.headers.items())
            message = {**message, "headers": [*message.get("headers", ()), named, *more]}
        elif message["type"] == "http.response.body":
            self.sent_bytes += len(message.get("body", b""))
        await self._send(message)


def _format_access_line(scope: Scope, recorder: ResponseRecorder, route: str, took_s: float) -> str:
    """Return the log line; undeclared names and all values of query parameters may be secret."""
    query = scope["query_string"]
    pairs = parse_qsl(query.decode("latin-1"), True) if query else ()
    names = [name if name in _PARAMETER_NAMES else "?" for name, _ in pairs]
    fields: dict[str, Any] = {
        "at": logs.at(time.time()),
        "level": "info",
        "logger": access.name,
        "method": scope["method"],
        "path": scope["path"],
        "route": route,
        "query": names[:20],
        "status": recorder.status,
        "ms": round(took_s * 1000, 1),
        "bytes": recorder.sent_bytes,
        "principal": recorder.principal,
        "client": (scope.get("client") or ("",))[0],
        **recorder.request_ids.ids,
    }
    if recorder.request_ids.positions:
        fields["positions"] = recorder.request_ids.positions[:20]
    return orjson.dumps(fields).decode()


def _answer_options(scope: Scope) -> HttpResponse:
    allowed = allowed_methods(scope)
    if not allowed:
        return make_response(no_route(f"there is no {scope['path']}", ()))
    return HttpResponse(status_code=204, headers={"allow": ", ".join(allowed)})


def allowed_methods(scope: Scope) -> tuple[str, ...]:
    """Return the methods that the path allows; empty if there is no such path."""
    routes: list[BaseRoute] = scope["app"].routes
    methods: set[str] = set()
    for route in routes:
        if route.matches(scope)[0] is not Match.NONE:
            methods |= getattr(route, "methods", None) or set()
    return tuple(sorted(methods | {"OPTIONS"})) if methods else ()
