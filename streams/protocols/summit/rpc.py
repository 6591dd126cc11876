"""The endpoint `POST /summit`: JSON-RPC over HTTP (Summit guide, 6.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from streams.api.media import JSON_TYPE
from streams.engine.records import Output, position
from streams.gateway.await_row import await_row, require_verdicts
from streams.gateway.caller import get_caller
from streams.gateway.context import Gateway
from streams.gateway.endpoints import Endpoint, send_records, with_problems
from streams.gateway.http_response import dump_json, make_text_response
from streams.gateway.request_parts import read_body, read_headers, read_query
from streams.protocols.summit.settings import SummitSettings
from streams.routes.table import check_after
from streams.summit.rpc import MAX_BODY_BYTES, PATH, Server
from streams.summit.rpc.http import parse_after
from streams.views.parse import parse_position
from streams.views.reads import ReadOnlyStore
from topology.summit import SUMMIT_CALLS

T = TypeVar("T")


def endpoints(gateway: Gateway) -> list[tuple[str, str, Endpoint]]:
    """Return method, path and handler of each endpoint."""
    server = Server(GatewayHost(gateway))
    max_values = gateway.settings.gateway_max_body_values
    max_body_bytes = min(MAX_BODY_BYTES, gateway.settings.gateway_max_body_bytes)

    async def answer(request: Request) -> HttpResponse:
        after = parse_after(read_query(request))
        body = await read_body(request, max_body_bytes, max_values, (JSON_TYPE,))
        reply = await server.answer(body, read_headers(request), after, get_caller())
        if reply.status == 204:
            return HttpResponse(status_code=204, headers=dict(reply.headers))
        return make_text_response(200, dump_json(reply.body), reply.headers)

    return [("POST", PATH, with_problems(answer))]


class GatewayHost:
    """A `streams.summit.rpc.Host` on Kafka and on a view that wakes waiting requests."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    @property
    def settings(self) -> SummitSettings:
        return self._gateway.settings

    async def append(self, outputs: Sequence[Output]) -> list[str]:
        require_verdicts(self._gateway)
        records = await send_records(self._gateway, SUMMIT_CALLS, lambda: list(outputs))
        return [position(record) for record in records]

    async def find(
        self, row: bytes, look: Callable[[ReadOnlyStore], T | None], seconds: float
    ) -> T | None:
        return await await_row(self._gateway, row, look, seconds)

    async def read(self, look: Callable[[ReadOnlyStore], T], after: str | None = None) -> T:
        gateway = self._gateway
        if after is not None:
            after_position = parse_position(after)
            check_after(after_position, gateway.settings.prefix, gateway.partitions)
            await gateway.view.wait_async(after_position, gateway.settings.gateway_wait_s)

        def read_rows() -> T:
            with gateway.view.reader() as reads:
                return look(reads)

        return await asyncio.get_running_loop().run_in_executor(gateway.queries, read_rows)
