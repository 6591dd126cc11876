"""`POST /v1/traces` in a scenario: one request a line, in the JSON of OTLP."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from streams.api.media import JSON_TYPE, body_bytes
from streams.api.problems import Response
from streams.api.query_side import PlayContext
from streams.doors.otlp.description import LOGS, METRICS, TRACES
from streams.doors.scenario import Exchange, make_scenario_gateway


def serve(
    context: PlayContext, method: str, path: str, query: str, headers: Mapping[str, str], body: Any
) -> Response | None:
    """Return the answer to one request of OTLP, None for another path."""
    if method != "POST" or path not in (TRACES, METRICS, LOGS):
        return None
    named = {name.lower(): value for name, value in headers.items()}
    all_headers = {"host": "localhost", "content-type": JSON_TYPE, **named}
    return asyncio.run(_answer(context, path, all_headers, body_bytes(body)))


async def _answer(
    context: PlayContext, path: str, headers: Mapping[str, str], content: bytes
) -> Response:
    from starlette.requests import Request

    from streams.doors.otlp.endpoint import make_endpoints

    gateway = make_scenario_gateway(context)
    endpoints = {each: endpoint for _, each, endpoint in make_endpoints(gateway)}
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    exchange = Exchange(content)
    request = Request(scope, exchange.receive)
    try:
        return await exchange.read(await endpoints[path](request), request)
    finally:
        await asyncio.to_thread(gateway.stop)
