"""`POST /asap` in a scenario: the service's server, on the log in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from streams.api.media import body_bytes
from streams.api.problems import Response
from streams.api.query_side import PlayContext
from streams.asap.blocking import run_without_loop
from streams.asap.on_log import service_server
from streams.engine.records import position
from streams.processing.encode import to_output
from streams.protocols.asap import ingress
from streams.protocols.asap.settings import AsapSettings
from streams.routes.produce import trace_of
from streams.views.reads import ReadOnlyStore

T = TypeVar("T")
_CALL, _MANIFEST = ("POST", "/asap"), ("GET", "/.well-known/asap/manifest.json")


class PlayHost:
    """A host on the log in memory, which is idle after each envelope: what is missing timed out."""

    def __init__(self, context: PlayContext) -> None:
        self._context = context
        self.now_ms = context.clock
        self.new_id = context.new_id

    @property
    def settings(self) -> AsapSettings:
        return AsapSettings.of(self._context.settings)

    async def append(self, envelope: dict[str, Any], headers: Mapping[str, str]) -> str:
        edge = ingress.ENVELOPES
        output = to_output(edge, envelope, self.now_ms(), self._context.settings)
        traced = output._replace(headers=[*output.headers, *trace_of(headers)])
        (record,) = self._context.append([traced])
        return position(record)

    async def find(
        self, row: bytes, look: Callable[[ReadOnlyStore], T | None], seconds: float
    ) -> T | None:
        self._context.view.catch_up(0)
        return look(self._context.view)

    async def settle(self, position: str, seconds: float) -> None:
        self._context.view.catch_up(0)


def answer(
    context: PlayContext, method: str, path: str, query: str, headers: Mapping[str, str], body: Any
) -> Response | None:
    """Return the response of the service's server; None for another path.

    body: JSON text or a value; None for none.
    """
    if (method, path) not in (_CALL, _MANIFEST):
        return None
    server = service_server(AsapSettings.of(context.settings), PlayHost(context))
    if (method, path) == _MANIFEST:
        return Response(200, server.manifest.model_dump(mode="json"))
    reply = run_without_loop(server.answer(body_bytes(body), headers))
    return Response(200, reply.body, reply.headers)
