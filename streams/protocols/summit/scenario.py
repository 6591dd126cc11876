"""The host of `POST /summit` in a scenario, on the log in memory (Summit guide, 6.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from streams.api.media import JSON_TYPE, body_bytes, check_type
from streams.api.problems import Response, error_response, problem
from streams.api.query_side import PlayContext
from streams.api.route import Refused
from streams.asap.blocking import run_without_loop
from streams.engine.records import Output, position
from streams.errors import HeadraceError
from streams.protocols.summit.settings import SummitSettings
from streams.routes.table import check_after
from streams.summit.rpc import MAX_BODY_BYTES, PATH, Server
from streams.summit.rpc.http import parse_after
from streams.views.parse import parse_position
from streams.views.reads import ReadOnlyStore

T = TypeVar("T")


class PlayHost:
    """A host without concurrency: rows that are missing after an append count as timed out."""

    def __init__(self, context: PlayContext) -> None:
        self._context = context

    @property
    def settings(self) -> SummitSettings:
        return SummitSettings.of(self._context.settings)

    async def append(self, outputs: Sequence[Output]) -> list[str]:
        return [position(record) for record in self._context.append(outputs)]

    async def find(
        self, row: bytes, look: Callable[[ReadOnlyStore], T | None], seconds: float
    ) -> T | None:
        self._context.view.catch_up(0)
        return look(self._context.view)

    async def read(self, look: Callable[[ReadOnlyStore], T], after: str | None = None) -> T:
        if after is not None:
            after_position = parse_position(after)
            check_after(after_position, self._context.settings.prefix, self._context.partitions())
            self._context.view.wait(after_position, 0)
        self._context.view.catch_up(0)
        return look(self._context.view)


def answer(
    context: PlayContext, method: str, path: str, query: str, headers: Mapping[str, str], body: Any
) -> Response | None:
    """Return the response to `POST /summit`, None for another request.

    body: JSON text or a value; None for none.
    """
    if (method, path) != ("POST", PATH):
        return None
    text = body_bytes(body)
    try:
        check_type(headers, (JSON_TYPE,))
        if len(text) > MAX_BODY_BYTES:
            return problem(413, f"the body is above {MAX_BODY_BYTES} bytes", "too_large")
        reply = run_without_loop(
            Server(PlayHost(context)).answer(text, headers, parse_after(query))
        )
    except Refused as exc:
        return exc.response
    except HeadraceError as exc:
        return error_response(exc)
    return Response(reply.status, reply.body, reply.headers)
