"""`POST /asap` in a scenario: the service's server, on the log in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from streams.asap.blocking import at_once
from streams.asap.on_log import Host, service_server
from streams.edges import edge_of, to_output
from streams.engine.records import Output, Record, position
from streams.problems import Response
from streams.routes.produce import trace_of
from streams.settings import Settings
from streams.views import View
from streams.views.reads import Reads
from topology.topics import ASAP_ENVELOPES

T = TypeVar("T")
_CALL, _MANIFEST = ("POST", "/asap"), ("GET", "/.well-known/asap/manifest.json")


class PlayHost:
    """Everything is at rest after each envelope, so what is not there then is timed out.

    append: puts records on the log, and lets every processor come to rest.
    """

    def __init__(
        self,
        settings: Settings,
        view: View,
        clock: Callable[[], int],
        append: Callable[[Sequence[Output]], Sequence[Record]],
        new_id: Callable[[], str],
    ) -> None:
        self._settings = settings
        self._view = view
        self._append = append
        self.now_ms = clock
        self.new_id = new_id

    @property
    def settings(self) -> Settings:
        return self._settings

    async def append(self, envelope: dict[str, Any], headers: Mapping[str, str]) -> str:
        edge = edge_of(ASAP_ENVELOPES.name)
        output = to_output(edge, envelope, self.now_ms(), self._settings)
        traced = output._replace(headers=[*output.headers, *trace_of(headers)])
        (record,) = self._append([traced])
        return position(record)

    async def find(self, row: bytes, look: Callable[[Reads], T | None], seconds: float) -> T | None:
        self._view.catch_up(0)
        return look(self._view)

    async def settle(self, position: str, seconds: float) -> None:
        self._view.catch_up(0)


def answer(
    host: Host, method: str, path: str, headers: Mapping[str, str], body: Any
) -> Response | None:
    """The answer of the service's server; None for what is not its own.

    body: JSON text or a value; None for none.
    """
    if (method, path) not in (_CALL, _MANIFEST):
        return None
    server = service_server(host.settings, host)
    if (method, path) == _MANIFEST:
        return Response(200, server.manifest.model_dump(mode="json"))
    reply = at_once(server.answer(text_of(body), headers))
    return Response(200, reply.body, reply.headers)


def text_of(body: Any) -> bytes:
    if body is None:
        return b""
    return (body if isinstance(body, str) else json.dumps(body)).encode()
