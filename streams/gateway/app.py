"""The ASGI application: the route table, the live tail and the gateway's own routes."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import cache, partial

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from streams.access.tokens import TokenFile
from streams.api import asyncapi
from streams.doors.a2a.endpoint import A2aEndpoints
from streams.doors.a2a.push_door import A2aPushDoor
from streams.doors.console.endpoints import make_endpoints, make_sessions
from streams.doors.console.session import Sessions
from streams.doors.mcp.endpoint import McpEndpoint
from streams.doors.mcp.push_door import McpPushDoor
from streams.doors.otlp.endpoint import make_endpoints as make_otlp_endpoints
from streams.doors.push.courier import Door as PushDoor
from streams.doors.push.service import PushService
from streams.doors.tlog import description as tlog
from streams.doors.tlog.endpoints import make_endpoints as make_tlog_endpoints
from streams.engine.log import Log
from streams.engine.principals import Principals
from streams.gateway import openapi, registry, service
from streams.gateway.access import index_routes
from streams.gateway.broker import BrokerWatch
from streams.gateway.context import Gateway
from streams.gateway.endpoints import Endpoint, make_endpoint
from streams.gateway.guard import Guard
from streams.gateway.http_response import make_text_response
from streams.gateway.live_tail import PATH as STREAM
from streams.gateway.live_tail import TailHub, make_follow, router
from streams.gateway.log_metrics import make_log_metrics
from streams.gateway.metrics import Metrics, Sources
from streams.gateway.middleware import GatewayMiddleware
from streams.gateway.view_protocol import ViewProtocol
from streams.log.open_letters import DeadLetters
from streams.protocols.queries import QUERIES
from streams.registry.ids import RegistryIds
from streams.routes.table import INPUTS, ROUTES
from streams.settings import Settings
from streams.view_store.transparency import followed_log


def now_ms() -> int:
    """Return the milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def create_app(
    settings: Settings,
    log: Log,
    view: ViewProtocol,
    *,
    hub: TailHub | None = None,
    clock: Callable[[], int] = now_ms,
    ids: RegistryIds | None = None,
) -> FastAPI:
    """Return the gateway over one log and one view, both of which the caller starts and stops.

    hub: the hub of the live tail, if there is one; it runs as long as the app does.
    clock: returns ms since the epoch.  ids: the schema ids of the registry in use, if there is one.
    Raises TopicsMismatch, BrokerUnavailable, SettingsError for an invalid token file, file of
    views or policy.
    """
    gateway = make_gateway(settings, log, view, clock, hub)
    gateway.tokens = None if settings.tokens is None else TokenFile(settings.tokens)
    sessions = make_sessions(gateway)
    guard = Guard(gateway.tokens, settings, None if sessions is None else sessions.find_caller)
    push = _make_push(gateway)
    mcp = None
    if settings.mcp:
        mcp = McpEndpoint(gateway, lambda: openapi.text(settings, app), push)
    app = FastAPI(
        title=openapi.TITLE,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        lifespan=_lifespan(gateway, hub, mcp, push),
    )
    endpoints = _index_endpoints(app, gateway, sessions, ids)
    if mcp is not None:
        endpoints |= {(method, path): answer for method, path, answer in mcp.endpoints()}
    if settings.a2a:
        a2a = A2aEndpoints(gateway, push)
        endpoints |= {(method, path): answer for method, path, answer in a2a.endpoints()}
    if hub is not None:
        app.include_router(router(hub), tags=["rtes"])  # for its description in OpenAPI only
        endpoints["GET", STREAM] = make_follow(hub, guard.is_token_valid)
    paths = index_routes(endpoints, tlog.PATHS if settings.tlog_open else ())
    app.add_middleware(GatewayMiddleware, gateway=gateway, guard=guard, paths=paths)
    return app


def make_gateway(
    settings: Settings,
    log: Log,
    view: ViewProtocol,
    clock: Callable[[], int] = now_ms,
    hub: TailHub | None = None,
) -> Gateway:
    """Return the state that all requests share; its broker watch is not started yet.

    Raises TopicsMismatch, BrokerUnavailable, SettingsError for an invalid policy.
    """
    topics = log.topics()
    names = [settings.prefix + topic.name for topic in INPUTS]
    broker = BrokerWatch(log.cluster_id)
    sources = Sources(
        view,
        lambda: broker.up,
        lambda: 0 if hub is None else hub.clients,
        lambda: gateway.in_flight,
        lambda: gateway.dead_letters.counts,
        make_log_metrics(view, followed_log(settings), clock),
    )
    gateway = Gateway(
        settings=settings,
        log=log,
        view=view,
        partitions={name: topics[name].partitions for name in names if name in topics},
        cluster_id=log.cluster_id(),
        broker=broker,
        dead_letters=DeadLetters(log, settings.prefix),
        metrics=Metrics(sources),
        clock=clock,
        principals=Principals.of(settings.principal_key),
    )
    return gateway


def _make_push(gateway: Gateway) -> PushService | None:
    """Return what posts events to addresses; without a key of gateways there is none."""
    if gateway.settings.gateway_key is None:
        return None
    push = PushService(gateway.settings, gateway.log, gateway.clock, gateway.metrics)
    push.tokens = gateway.tokens
    return push


def _run_push(
    gateway: Gateway, push: PushService | None, mcp: McpEndpoint | None
) -> AbstractAsyncContextManager[None]:
    """Return the context in which events are posted for the doors."""
    if push is None:
        return nullcontext()
    doors: dict[str, PushDoor] = {}
    if mcp is not None:
        doors["mcp"] = McpPushDoor(push, mcp.open_door)
    if gateway.settings.a2a:
        doors["a2a"] = A2aPushDoor(gateway, push)
    return push.run(doors)


def _lifespan(
    gateway: Gateway, hub: TailHub | None, mcp: McpEndpoint | None, push: PushService | None
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        gateway.broker.start()
        gateway.dead_letters.start()
        if hub is not None:
            hub.start()
        async with nullcontext() if mcp is None else mcp.run(), _run_push(gateway, push, mcp):
            yield
        gateway.broker.stop()
        gateway.dead_letters.stop()
        if hub is not None:
            await hub.stop()
        gateway.stop()

    return lifespan


def _index_endpoints(
    app: FastAPI, gateway: Gateway, sessions: Sessions | None, ids: RegistryIds | None
) -> dict[tuple[str, str], Endpoint]:
    """Return the endpoints by method and path template; the middleware calls them directly."""
    endpoints = [(route.method, route.template, make_endpoint(gateway, route)) for route in ROUTES]
    endpoints += [
        ("GET", "/healthz", service.healthz(gateway)),
        ("GET", "/readyz", service.readyz(gateway)),
        ("GET", "/metrics", service.metrics(gateway)),
        ("GET", service.PATH, service.about(gateway)),
        (
            "GET",
            "/openapi.json",
            _make_document_endpoint(partial(openapi.text, gateway.settings, app)),
        ),
        (
            "GET",
            "/asyncapi.json",
            _make_document_endpoint(partial(asyncapi.text, gateway.settings)),
        ),
        *(each for side in QUERIES if side.endpoints for each in side.endpoints(gateway)),
        *registry.endpoints(gateway, ids),
        *make_endpoints(gateway, sessions),
        *make_tlog_endpoints(gateway),
        *make_otlp_endpoints(gateway),
    ]
    return {(method, template): answer for method, template, answer in endpoints}


def _make_document_endpoint(build: Callable[[], bytes]) -> Endpoint:
    """Return an endpoint for a document that is built on the first request and cached."""
    text = cache(build)

    async def answer(request: Request) -> HttpResponse:
        return make_text_response(200, text())

    return answer
