"""ASAP's own endpoints (ASAP guide, 6.3): `POST /asap`, its metrics, the service's manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from schemas.asap import INVALID_PARAMS, generate_id
from streams.access import Role, TokenFile
from streams.asap.auth import TokenValidator
from streams.asap.faults import PERMISSION_DENIED, RpcFault
from streams.asap.jsonrpc import MANIFEST_PATH, METRICS_PATH, PATH, dump_json
from streams.asap.on_log import service_server
from streams.asap.server import Server
from streams.engine.records import Output, position
from streams.errors import ViewNotReady
from streams.gateway.await_row import await_row, require_verdicts
from streams.gateway.caller import get_caller
from streams.gateway.context import Gateway
from streams.gateway.endpoints import Endpoint, send_records, with_problems
from streams.gateway.http_response import make_text_response
from streams.gateway.limits import MAX_STRANGER_BODY
from streams.gateway.request_parts import read_body, read_headers
from streams.gateway.service import METRICS_TYPE
from streams.processing.encode import to_output
from streams.protocols.asap import ingress
from streams.protocols.asap.settings import AsapSettings
from streams.routes.produce import trace_of
from streams.views.parse import parse_position
from streams.views.positions import ViewBehind
from streams.views.reads import ReadOnlyStore
from topology.asap import ASAP_ENVELOPES

T = TypeVar("T")


def endpoints(gateway: Gateway) -> list[tuple[str, str, Endpoint]]:
    """Return the method, path and function of each endpoint."""
    server = service_server(gateway.settings, GatewayHost(gateway), _validator(gateway.tokens))
    return [
        ("POST", PATH, _send(gateway, server)),
        ("GET", METRICS_PATH, _metrics(server)),
        ("GET", MANIFEST_PATH, _manifest(server)),
    ]


def _send(gateway: Gateway, server: Server) -> Endpoint:
    async def answer(request: Request) -> HttpResponse:
        body = await read_body(
            request, _body_limit(gateway), gateway.settings.gateway_max_body_values, types=None
        )
        reply = await server.answer(body, read_headers(request))
        return make_text_response(200, reply.text(), reply.headers)

    return with_problems(answer)


def _body_limit(gateway: Gateway) -> int:
    """Return the limit of a body in bytes; a request without a token is read too, for its error."""
    limit = gateway.settings.gateway_max_body_bytes
    stranger = gateway.tokens is not None and get_caller() is None
    return min(limit, MAX_STRANGER_BODY) if stranger else limit


def _validator(tokens: TokenFile | None) -> TokenValidator | None:
    if tokens is None:
        return None

    async def urn(token: str) -> str | None:
        client = tokens.caller(token)
        if client is not None and not client.has((Role.PRODUCER,)):
            message = f"The token of {client.principal} has not the role {Role.PRODUCER}"
            raise RpcFault(
                INVALID_PARAMS, "role_missing", message, PERMISSION_DENIED, status_code=403
            )
        return None if client is None else client.principal

    return urn


def _metrics(server: Server) -> Endpoint:
    async def answer(request: Request) -> HttpResponse:
        return HttpResponse(server.metrics.text(), media_type=METRICS_TYPE)

    return answer


def _manifest(server: Server) -> Endpoint:
    text = dump_json(server.manifest_json())

    async def answer(request: Request) -> HttpResponse:
        return make_text_response(200, text)

    return answer


class GatewayHost:
    """A `streams.asap.on_log.Host` on Kafka and the gateway's view."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._edge = ingress.ENVELOPES

    @property
    def settings(self) -> AsapSettings:
        return self._gateway.settings

    def now_ms(self) -> int:
        return self._gateway.clock()

    def new_id(self) -> str:
        return generate_id()

    async def append(self, envelope: dict[str, Any], headers: Mapping[str, str]) -> str:
        gateway = self._gateway
        require_verdicts(gateway)

        def outputs() -> list[Output]:
            output = to_output(self._edge, envelope, gateway.clock(), gateway.settings)
            return [output._replace(headers=[*output.headers, *trace_of(headers)])]

        (record,) = await send_records(gateway, ASAP_ENVELOPES, outputs)
        return position(record)

    async def find(
        self, row: bytes, look: Callable[[ReadOnlyStore], T | None], seconds: float
    ) -> T | None:
        return await await_row(self._gateway, row, look, seconds)

    async def settle(self, position: str, seconds: float) -> None:
        try:
            await self._gateway.view.wait_async(parse_position(position), seconds)
        except (ViewBehind, ViewNotReady):
            return
