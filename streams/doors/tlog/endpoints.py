"""The endpoints below `/tlog/`, answered from the rows of the view."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from streams.api.problems import problem
from streams.api.route import Refused
from streams.doors.tlog.description import CHECKPOINT, RECEIPTS, TEXT_TYPE, TILE_TYPE, TILES
from streams.doors.tlog.published import published_head
from streams.doors.tlog.receipts import make_receipts
from streams.gateway.context import Gateway
from streams.gateway.endpoints import Endpoint, with_problems
from streams.gateway.entity_tags import tag_response
from streams.gateway.request_parts import accepts_coding
from streams.ops.tlog.tiles import parse_path
from streams.view_store.transparency import TransparencyLog, followed_log, read_published_tile

_NO_SNIFFING = {"x-content-type-options": "nosniff"}
_IMMUTABLE = "public, max-age=31536000, immutable"
_GZIP = "gzip"
_GZIP_LEVEL = 6


def make_endpoints(gateway: Gateway) -> Iterator[tuple[str, str, Endpoint]]:
    """Yield the method, path and endpoint of each.

    Raises PolicyInvalid, SettingsError.
    """
    log = followed_log(gateway.settings)
    yield "GET", CHECKPOINT, with_problems(_make_checkpoint(gateway, log))
    yield "GET", TILES, with_problems(_make_tile(gateway, log))
    yield "GET", RECEIPTS, with_problems(make_receipts(gateway, log))


def _make_checkpoint(gateway: Gateway, log: TransparencyLog | None) -> Endpoint:
    async def answer(request: Request) -> HttpResponse:
        with gateway.view.reader() as rows:
            head = published_head(log, rows)
        headers = {"cache-control": "no-cache", **_NO_SNIFFING}
        response = HttpResponse(head.note.encode(), 200, headers, TEXT_TYPE)
        return tag_response(request, response)

    return answer


def _make_tile(gateway: Gateway, log: TransparencyLog | None) -> Endpoint:
    async def answer(request: Request) -> HttpResponse:
        path = f"tile/{request.path_params['path']}"
        tile = parse_path(path)
        with gateway.view.reader() as rows:
            size = published_head(log, rows).checkpoint.size
            data = None if tile is None else read_published_tile(rows, tile, size)
        if tile is None or data is None:
            detail = f"the published tree of {size} entries has no {path[:100]}"
            raise Refused(problem(404, detail, "tile_unknown"))
        headers = {"cache-control": _IMMUTABLE, **_NO_SNIFFING}
        if tile.level is None:
            headers["vary"] = "accept-encoding"
            if accepts_coding(request.headers.get("accept-encoding", ""), _GZIP):
                headers["content-encoding"] = _GZIP
                data = gzip.compress(data, _GZIP_LEVEL, mtime=0)
        return HttpResponse(data, 200, headers, TILE_TYPE)

    return answer
