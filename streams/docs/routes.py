"""The page on HTTP routes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from fastapi import FastAPI

from streams.access.callers import AccessRule
from streams.docs.markdown import code, codes, grid
from streams.gateway.access import list_access_rules
from streams.gateway.live_tail import TailHub, router
from streams.gateway.openapi import document
from streams.settings import Settings

Json = dict[str, Any]


def routes_page() -> str:
    described = document(Settings(), _with_stream())
    needs = {(method, path): need for method, path, need in list_access_rules()}
    tags = {tag["name"]: tag["description"] for tag in described["tags"]}
    sections: dict[str, list[tuple[str, ...]]] = {tag: [] for tag in tags}
    for method, path, operation in _operations(described):
        (tag,) = operation["tags"]
        sections[tag].append(_row(method, path, operation, needs[method, path]))
    header = ("route", "does", "parameters", "headers", "needs")
    return (
        "# HTTP\n\n"
        "What the gateway answers; `/openapi.json` says it in full, with the schemas of bodies\n"
        "and answers. What a route needs is the role of the bearer token, where the gateway asks\n"
        "for tokens; `operator` may do whatever the others may. Parameters are of the query.\n"
        + "".join(
            f"\n## {tag}\n\n{tags[tag]}\n\n{grid(header, rows)}" for tag, rows in sections.items()
        )
    )


def _with_stream() -> FastAPI:
    """Return an application with the one route that is in no table.

    It is only described and never called, so its router needs no hub.
    """
    app = FastAPI()
    app.include_router(router(cast(TailHub, None)), tags=["rtes"])
    return app


def _operations(described: Json) -> Iterator[tuple[str, str, Json]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def _row(method: str, path: str, operation: Json, need: AccessRule) -> tuple[str, ...]:
    parameters = operation.get("parameters", ())
    query, headers = (
        codes(p["name"] for p in parameters if p["in"] == i) for i in ("query", "header")
    )
    roles = "" if need.optional else " or ".join(map(str, need.roles))
    return code(f"{method} {path}"), operation["summary"], query, headers, roles or "nothing"
