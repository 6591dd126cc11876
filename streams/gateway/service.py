"""Endpoints about the gateway itself: health, readiness, metrics."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from streams.api.problems import Response, problem
from streams.engine.headers import iso
from streams.gateway.context import Gateway
from streams.gateway.endpoints import Endpoint
from streams.gateway.http_response import make_response

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
        "view": {
            "state": status.state,
            "lag": status.lag,
            "applied": status.applied,
            "since": iso(status.since_ms).decode(),
            "reason": status.reason,
        },
        "broker": {"up": broker.up, "reason": broker.reason},
    }


def metrics(gateway: Gateway) -> Endpoint:
    async def answer(request: Request) -> HttpResponse:
        return HttpResponse(gateway.metrics.text(), media_type=METRICS_TYPE)

    return answer
