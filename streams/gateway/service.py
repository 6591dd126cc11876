"""Routes about the gateway itself."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from streams.api.problems import Response
from streams.engine.headers import iso
from streams.gateway.answer import http
from streams.gateway.context import Gateway
from streams.gateway.endpoints import Endpoint

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def healthz() -> Endpoint:
    async def answer(request: Request) -> HttpResponse:
        """The process is alive."""
        return http(Response(200, {"alive": True}))

    return answer


def readyz(gateway: Gateway) -> Endpoint:
    async def answer(request: Request) -> HttpResponse:
        found = readiness(gateway)
        text = http(Response(200, found))
        text.status_code = 200 if found["ready"] else 503
        if not found["ready"]:
            text.headers["retry-after"] = "1"
        return text

    return answer


def readiness(gateway: Gateway) -> dict[str, Any]:
    """Whether queries are answered and envelopes taken, and if not, why."""
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
