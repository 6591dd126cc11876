"""The outermost middleware: limits, error mapping, metrics, access log."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.requests import Request
from starlette.responses import Response as HttpResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streams.api.problems import Response, error_response, no_route, problem
from streams.api.route import Refused
from streams.doors.a2a.refusals import shape_refusal
from streams.errors import Forbidden, Unauthenticated
from streams.gateway import registry
from streams.gateway.bodies import take_response_memory
from streams.gateway.context import Gateway
from streams.gateway.guard import Guard, answers_by_stream
from streams.gateway.http_response import make_response
from streams.gateway.limits import MAX_HEAD, PART_BYTES
from streams.gateway.paths import Paths, RouteMatch
from streams.gateway.request_ids import HEADER, REQUEST_IDS, RequestIds, read_request_ids
from streams.gateway.slots import answering, on_stream
from streams.routes.table import ROUTES, parameters_of
from streams.telemetry import logs

log = logging.getLogger("streams.gateway")
access = logging.getLogger("streams.gateway.access")
_API = "/v1/"
_API_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_API_CACHE = (b"cache-control", b"private, no-cache")
"""Clients may store an answer, and ask whether it still holds; streams have their own header."""
_PARAMETER_NAMES = {p.name for route in ROUTES for p in parameters_of(route)} | {"type", "from"}
"""Names of all declared query parameters, including those of the live tail."""


class GatewayMiddleware:
    """The outermost ASGI middleware, which also calls the endpoints.

    app: handles the lifespan; it gets no request.
    Paths are matched percent-encoded, so that an id may contain a slash.
    """

    def __init__(self, app: ASGIApp, gateway: Gateway, guard: Guard, paths: Paths) -> None:
        self._app = app
        self._gateway = gateway
        self._guard = guard
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = {**scope, "path": scope["raw_path"].decode("ascii")}
        request_ids = read_request_ids(scope["headers"])
        before, context = REQUEST_IDS.set(request_ids), logs.CONTEXT.set(request_ids.ids)
        recorder = ResponseRecorder(request_ids, send, is_api=scope["path"].startswith(_API))
        match = self._paths.match(scope["method"], scope["path"])
        try:
            await self._respond(scope, receive, recorder, match)
        finally:
            self._log_request(scope, recorder)
            REQUEST_IDS.reset(before)
            logs.CONTEXT.reset(context)

    async def _respond(
        self, scope: Scope, receive: Receive, recorder: ResponseRecorder, match: RouteMatch
    ) -> None:
        refused = self._check_limits(scope, match)
        if refused is not None:
            await refused(scope, receive, recorder.send)
            return
        try:
            with (
                answering(),
                self._guard.admit(scope, match) as caller,
                self._occupy_slot(scope, match),
            ):
                recorder.principal = None if caller is None else caller.principal
                recorder.route = match.template
                response = await _call_endpoint(scope, receive, match)
                if scope["method"] == "GET" and not match.exempt:  # a write is done by now
                    take_response_memory(len(getattr(response, "body", b"")))
                await response(scope, receive, recorder.send)
        except (Unauthenticated, Forbidden) as exc:
            await _refuse(scope, error_response(exc))(scope, receive, recorder.send)
        except Refused as exc:
            await _refuse(scope, exc.response)(scope, receive, recorder.send)
        except Exception:
            log.exception("%s %s error_response", scope["method"], scope["path"])
            if recorder.status:
                raise  # the response has begun: only closing the connection shows the error
            fault = problem(500, "a fault of the service", "service_internal")
            await _refuse(scope, fault)(scope, receive, recorder.send)

    @contextmanager
    def _occupy_slot(self, scope: Scope, match: RouteMatch) -> Iterator[None]:
        """Count an admitted request, and the memory of its bodies, until it is answered.

        A refused one has no slot, so that clients without a token cannot take them all.
        """
        size = 0 if match.exempt or answers_by_stream(scope, match) else 1
        self._gateway.in_flight += size

        def become_stream() -> None:
            nonlocal size
            self._gateway.in_flight -= size
            size = 0

        on_stream(become_stream)
        try:
            with self._gateway.bodies.hold():
                yield
        finally:
            self._gateway.in_flight -= size

    def _check_limits(self, scope: Scope, match: RouteMatch) -> HttpResponse | None:
        """Return the response for a request above a limit or an OPTIONS request, else None."""
        head = len(scope["raw_path"]) + len(scope["query_string"])
        head += sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        if head > MAX_HEAD:
            detail = f"request line and headers are above {MAX_HEAD} bytes"
            refused = problem(431, detail, "headers_too_large")
            return _refuse(scope, refused._replace(headers={"connection": "close"}))
        foreign = self._guard.check_host(scope)
        if foreign is not None:
            return _refuse(scope, foreign)
        max_requests = self._gateway.settings.gateway_max_requests
        if not match.exempt and self._gateway.in_flight >= max_requests:
            detail = f"{max_requests} requests are being answered; send again with the same id"
            return _refuse(scope, problem(503, detail, "service_unavailable"))
        if scope["method"] == "OPTIONS":
            return _answer_options(scope, match)
        return None

    def _log_request(self, scope: Scope, recorder: ResponseRecorder) -> None:
        route, took = recorder.route, time.perf_counter() - recorder.started
        stream = None if recorder.streamed else took
        self._gateway.metrics.observe_request(scope["method"], route, recorder.status, stream)
        if access.isEnabledFor(logging.INFO):
            line = _format_access_line(scope, recorder, route, took)
            # `access.info` would look up the caller's source line, which costs more than this
            access.handle(logging.LogRecord(access.name, logging.INFO, "", 0, line, (), None))


class ResponseRecorder:
    """The status and size of a response as sent.

    streamed: it consists of server-sent events.  route: the template that answers, or "none".
    """

    def __init__(self, request_ids: RequestIds, send: Send, *, is_api: bool) -> None:
        self.request_ids = request_ids
        self._is_api = is_api
        self._send = send
        self.started = time.perf_counter()
        self.status = 0
        self.sent_bytes = 0
        self.streamed = False
        self.principal: str | None = None
        self.route = "none"

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            kinds = [v for n, v in message.get("headers", ()) if n.lower() == b"content-type"]
            self.streamed = any(kind.startswith(b"text/event-stream") for kind in kinds)
            named = (HEADER, self.request_ids.request_id.encode())
            more = ((n.lower().encode(), v.encode()) for n, v in self.request_ids.headers.items())
            headers = self._api_headers(message) if self._is_api else message.get("headers", ())
            message = {**message, "headers": [*headers, named, *more]}
        elif message["type"] == "http.response.body":
            self.sent_bytes += len(message.get("body", b""))
            message = await self._send_parts(message)
        await self._send(message)

    async def _send_parts(self, message: Message) -> Message:
        """Send a large body but for its last part, which is returned.

        The server takes the next part once the client has read of the last: until then a response
        keeps its slot and its memory.
        """
        body = message.get("body", b"")
        start = 0
        while len(body) - start > PART_BYTES:
            part = bytes(body[start : start + PART_BYTES])
            await self._send({"type": message["type"], "body": part, "more_body": True})
            start += PART_BYTES
        return {**message, "body": bytes(body[start:])} if start else message

    def _api_headers(self, message: Message) -> list[tuple[bytes, bytes]]:
        """Return the headers of a response to a browser's program, too, which must not guess."""
        headers = list(message.get("headers", ()))
        if not self.streamed:
            headers = [each for each in headers if each[0].lower() != _API_CACHE[0]] + [_API_CACHE]
        return [*headers, *_API_HEADERS]


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
        **logs.trace_fields(recorder.request_ids.ids.get("traceparent")),
    }
    if recorder.request_ids.positions:
        fields["positions"] = recorder.request_ids.positions[:20]
    return orjson.dumps(fields).decode()


async def _call_endpoint(scope: Scope, receive: Receive, match: RouteMatch) -> HttpResponse:
    if match.endpoint is None:
        return _answer_unserved(scope, match)
    try:
        scope["path_params"] = match.parse_ids()
    except UnicodeDecodeError:
        return _answer_unknown(scope, "the path is not UTF-8")
    return await match.endpoint(Request(scope, receive))


def _answer_options(scope: Scope, match: RouteMatch) -> HttpResponse:
    allowed = match.list_methods()
    if not allowed:
        return _refuse(scope, no_route(f"there is no {scope['path']}", ()))
    return HttpResponse(status_code=204, headers={"allow": ", ".join(allowed)})


def _answer_unserved(scope: Scope, match: RouteMatch) -> HttpResponse:
    """Return 405 with the methods that the path allows, or 404."""
    allowed = match.list_methods()
    if not allowed:
        return _answer_unknown(scope, f"there is no {scope['path']}")
    detail = f"the path takes {', '.join(allowed)}, not {scope['method']}"
    response = registry.refusal(scope["path"], 405, detail)
    response = response or _refuse(scope, no_route(detail, allowed))
    response.headers["allow"] = ", ".join(allowed)
    return response


def _answer_unknown(scope: Scope, detail: str) -> HttpResponse:
    return registry.refusal(scope["path"], 404, detail) or _refuse(scope, no_route(detail, ()))


def _refuse(scope: Scope, response: Response) -> HttpResponse:
    """Return a refusal as the clients of its path read it."""
    return make_response(shape_refusal(scope["path"], response))
