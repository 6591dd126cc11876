"""Endpoints about the gateway itself: health, readiness, metrics, and what it is."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from streams.api.problems import Response, problem
from streams.engine.headers import iso
from streams.gateway.caller import get_caller
from streams.gateway.context import Gateway
from streams.gateway.endpoints import Endpoint, with_problems
from streams.gateway.entity_tags import tag_response
from streams.gateway.features import list_features
from streams.gateway.http_response import dump_json, make_response
from streams.gateway.request_parts import read_query
from streams.protocols.queries import QUERIES
from streams.routes.log import view_json
from streams.views.parse import QueryParams

PATH = "/v1/service"
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def healthz(gateway: Gateway) -> Endpoint:
    async def answer(request: Request) -> HttpResponse:
        status = gateway.view.status()
        if status.state == "failed":
            detail = f"the view has failed for good: {status.reason}; start the gateway again"
            return make_response(problem(503, detail, "service_unavailable"))
        return make_response(Response(200, {"alive": True}))

    return answer


def readyz(gateway: Gateway) -> Endpoint:
    async def answer(request: Request) -> HttpResponse:
        body = readiness(gateway)
        response = make_response(Response(200, body))
        response.status_code = 200 if body["ready"] else 503
        if not body["ready"]:
            response.headers["retry-after"] = "1"
        return response

    return answer


def readiness(gateway: Gateway) -> dict[str, Any]:
    """Return whether the gateway answers queries and accepts envelopes, and why not."""
    status, broker = gateway.view.status(), gateway.broker
    return {
        "ready": status.ready and broker.up,
        "view": view_json(status),
        "broker": {"up": broker.up, "reason": broker.reason},
    }


def metrics(gateway: Gateway) -> Endpoint:
    async def answer(request: Request) -> HttpResponse:
        return HttpResponse(gateway.metrics.text(), media_type=METRICS_TYPE)

    return answer


def about(gateway: Gateway) -> Endpoint:
    """Return the endpoint that says what serves here, and who the caller is.

    Its tag leaves out `now`, which changes all the time.
    """

    async def answer(request: Request) -> HttpResponse:
        QueryParams(read_query(request), ())
        body = describe_service(gateway)
        now = {"now": iso(gateway.clock()).decode()}
        return tag_response(request, make_response(Response(200, body | now)), dump_json(body))

    return with_problems(answer)


def describe_service(gateway: Gateway) -> dict[str, Any]:
    settings = gateway.settings
    return {
        "name": "headrace",
        "version": version("headrace"),
        "cluster_id": gateway.cluster_id,
        "prefix": settings.prefix,
        "partitions": settings.partitions,
        "started_at": iso(gateway.started_ms).decode(),
        "tokens": gateway.tokens is not None,
        "protocols": [side.name for side in QUERIES],
        "features": list_features(settings),
        "caller": _describe_caller(gateway),
    }


def _describe_caller(gateway: Gateway) -> dict[str, Any] | None:
    caller = get_caller()
    if caller is None or gateway.tokens is None:
        return None
    expires = gateway.tokens.expires_of(caller)
    return {
        "principal": caller.principal,
        "roles": sorted(caller.roles),
        "expires_at": None if expires is None else iso(int(expires.timestamp() * 1000)).decode(),
    }
