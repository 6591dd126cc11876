"""The catalogue as a schema registry: Confluent's read API, at the root path as clients expect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from streams.gateway.context import Gateway
from streams.gateway.endpoints import Endpoint
from streams.gateway.http_response import dump_json
from streams.registry.ids import RegistryIds
from streams.registry.reading import (
    MEDIA,
    RegistryError,
    RegistryReadApi,
    RegistryResponse,
    read_only,
)

SUBJECT_PATH = "/subjects/{subject}"
VERSIONS_PATH = f"{SUBJECT_PATH}/versions"
ID_PATH = "/schemas/ids/{id}"
TYPES = ["AVRO"]
_ROOTS = ("subjects", "schemas", "config", "mode")

Ids = Mapping[str, str]
Read = Callable[[RegistryReadApi, Ids, Mapping[str, str]], Any]

READS: Mapping[str, Read] = {
    "/subjects": lambda reading, _, query: reading.list_subjects(query),
    VERSIONS_PATH: lambda reading, ids, _: reading.list_versions(**ids),
    f"{VERSIONS_PATH}/{{version}}": lambda reading, ids, _: reading.get_version(**ids),
    f"{VERSIONS_PATH}/{{version}}/schema": lambda reading, ids, _: reading.get_version_schema(
        **ids
    ),
    "/schemas/types": lambda *_: TYPES,
    ID_PATH: lambda reading, ids, _: reading.get_by_id(**ids),
    f"{ID_PATH}/schema": lambda reading, ids, _: reading.get_schema_by_id(**ids),
    f"{ID_PATH}/subjects": lambda reading, ids, _: reading.list_subjects_of_id(**ids),
    f"{ID_PATH}/versions": lambda reading, ids, _: reading.list_versions_of_id(**ids),
    "/config": lambda reading, *_: reading.compatibility(),
    "/config/{subject}": lambda reading, ids, _: reading.compatibility(**ids),
    "/mode": lambda reading, *_: reading.mode(),
    "/mode/{subject}": lambda reading, ids, _: reading.mode(**ids),
}
"""The function that answers GET on each path."""
WRITES = (SUBJECT_PATH, VERSIONS_PATH)
"""Paths to which clients post schemas; all such requests are refused."""


def endpoints(gateway: Gateway, ids: RegistryIds | None = None) -> list[tuple[str, str, Endpoint]]:
    """Return the method, path and endpoint of each route.

    ids: the ids of the registry in use, if there is one.
    """
    prefix = gateway.settings.prefix
    reading = (
        RegistryReadApi(prefix)
        if ids is None
        else RegistryReadApi(prefix, ids.known, ids.known_committed)
    )
    return [
        *(("GET", path, _make_read_endpoint(reading, read)) for path, read in READS.items()),
        *(("POST", path, _make_write_endpoint()) for path in WRITES),
    ]


def refusal(path: str, status: int, detail: str) -> HttpResponse | None:
    """Return the registry's response to a path without a route; None for paths of other APIs."""
    if path.split("/")[1] not in _ROOTS:
        return None
    return _make_response(RegistryError(status, detail).answer)


def _make_read_endpoint(reading: RegistryReadApi, read: Read) -> Endpoint:
    async def answer(request: Request) -> HttpResponse:
        try:
            body = read(reading, request.path_params, request.query_params)
            return _make_response(RegistryResponse(200, body))
        except RegistryError as fault:
            return _make_response(fault.answer)

    return answer


def _make_write_endpoint() -> Endpoint:
    async def answer(request: Request) -> HttpResponse:
        return _make_response(read_only(request.path_params["subject"]).answer)

    return answer


def _make_response(answer: RegistryResponse) -> HttpResponse:
    headers = {"cache-control": "no-store"}
    return HttpResponse(dump_json(answer.body), answer.status, headers, MEDIA)
