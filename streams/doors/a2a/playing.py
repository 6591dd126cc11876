"""The door in a scenario: one request a line, answered with what is there at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from streams.api.media import body_bytes
from streams.api.problems import Response, problem
from streams.api.query_side import PlayContext
from streams.doors.a2a.protocol import CARD_PATH, ROOT, VERSION, VERSION_NAME
from streams.doors.a2a.refusals import shape_refusal
from streams.doors.scenario import Exchange, make_scenario_gateway
from streams.errors import ExtraMissing

_PATHS = (ROOT, CARD_PATH, "/v1/a2a/")


def serve(
    context: PlayContext, method: str, path: str, query: str, headers: Mapping[str, str], body: Any
) -> Response | None:
    """Return the answer to one request of A2A, None for another path.

    The version is that of the door, unless the line gives one.  The body of a stream is a list of
    its events, each with id, name (`event`, of an error) and data.
    """
    if not path.startswith(_PATHS) or not context.settings.a2a:
        return None
    named = {name.lower(): value for name, value in headers.items()}
    all_headers = {"host": "localhost", VERSION_NAME.lower(): VERSION, **named}
    try:
        return asyncio.run(_answer(context, method, path, query, all_headers, body_bytes(body)))
    except ExtraMissing as exc:
        return shape_refusal(path, problem(501, str(exc), exc.code))


async def _answer(
    context: PlayContext,
    method: str,
    path: str,
    query: str,
    headers: Mapping[str, str],
    content: bytes,
) -> Response:
    """Answer a request by the endpoint of its path.  Raises ExtraMissing."""
    from starlette.requests import Request

    from streams.doors.a2a.description import ENDPOINTS
    from streams.doors.a2a.serving import Serving
    from streams.gateway.paths import Paths, RouteEntry

    paths = Paths()
    for endpoint in ENDPOINTS:
        paths.add(endpoint.method, RouteEntry(endpoint.path, endpoint.rule, None))
    match = paths.match(method, path)
    if match.entry is None:
        return shape_refusal(path, problem(404, f"there is no {method} {path}", "path_unknown"))
    gateway = make_scenario_gateway(context)
    names = {(each.method, each.path): each.name for each in ENDPOINTS}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "path_params": match.parse_ids(),
    }
    request = Request(scope, Exchange(content).receive)
    try:
        response = await Serving(gateway).answer(names[method, match.entry.template], request)
        return await Exchange(content).read(response, request)
    finally:
        await asyncio.to_thread(gateway.stop)
