"""The OpenAPI document as a whole."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from streams.api.media import JSON_TYPE
from streams.api.openapi import Json, json_response, problem_responses, ref
from streams.gateway.descriptions import DESCRIPTIONS
from streams.gateway.openapi import registry
from streams.gateway.openapi.operation import operation, query_parameter
from streams.gateway.openapi.schemas import Components
from streams.gateway.openapi.security import secure
from streams.routes.table import ROUTES
from streams.settings import Settings

TITLE = "headrace"
_TAGS = {
    **{tag: about for each in DESCRIPTIONS for tag, about in each.tags.items()},
    registry.TAG: "The schemas of all records, as a schema registry has them; read only.",
    "service": "The gateway itself.",
}
_ABOUT = (
    "An event-sourced governance log for fleets of AI agents. What is sent goes to Kafka as it is"
    " answered 202; the verdict follows there. A query with `after` sees it."
)


def document(settings: Settings, app: FastAPI | None = None) -> Json:
    """Return the OpenAPI 3.1 document.  app: adds the routes that it has beside the table's."""
    components = Components()
    paths: Json = {}
    for route in ROUTES:
        at_path = paths.setdefault(route.template, {})
        at_path[route.method.lower()] = operation(route, components, settings.prefix)
    of_app = {"paths": {}} if app is None else _make_framework_document(app)
    result: Json = {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": version("headrace"), "description": _ABOUT},
        "tags": [{"name": name, "description": about} for name, about in _TAGS.items()],
        "paths": {
            **paths,
            **_make_protocol_paths(settings.prefix),
            **of_app["paths"],
            **registry.paths(settings.prefix),
            **_make_service_paths(),
        },
        "components": {
            "schemas": {
                **components.schemas,
                **{k: v for each in DESCRIPTIONS for k, v in each.components().items()},
                **registry.components(),
                **of_app.get("components", {}).get("schemas", {}),
            }
        },
    }
    if settings.tokens is not None:
        secure(result)
    return result


def text(settings: Settings, app: FastAPI) -> bytes:
    return orjson.dumps(document(settings, app))


def _make_protocol_paths(prefix: str) -> Json:
    """Return the paths of the protocols' endpoints that the route table does not have."""
    describe = partial(query_parameter, prefix=prefix)
    return {path: item for each in DESCRIPTIONS for path, item in each.paths(describe).items()}


def _make_framework_document(app: FastAPI) -> dict[str, Any]:
    """Return the framework's document of the routes that have a schema, such as the live tail."""
    return get_openapi(title=TITLE, version="", routes=app.routes)


def _make_service_paths() -> Json:
    ready = ref("Readiness")
    return {
        "/healthz": _make_get_path(
            "get_health", "Whether the process is alive", ref("Alive"), problem_responses(503)
        ),
        "/readyz": _make_get_path(
            "get_readiness",
            "Whether queries are answered and envelopes taken",
            ready,
            {"503": json_response(ready, "Not now; the answer says why.")},
        ),
        "/v1/service": _make_get_path(
            "get_service", "What serves here, and whom the token belongs to", ref("Service")
        ),
        "/metrics": _make_get_path(
            "get_metrics", "Figures for Prometheus", {"type": "string"}, media="text/plain"
        ),
        "/openapi.json": _make_get_path("get_openapi", "This document", {"type": "object"}),
        "/asyncapi.json": _make_get_path(
            "get_asyncapi", "The topics of Kafka, as AsyncAPI 3", {"type": "object"}
        ),
    }


def _make_get_path(
    name: str, summary: str, schema: Json, more: Json | None = None, media: str = JSON_TYPE
) -> Json:
    responses = {
        "200": json_response(schema, "The answer.", media),
        **(more or {}),
        **problem_responses(),
    }
    return {
        "get": {
            "operationId": name,
            "summary": summary,
            "tags": ["service"],
            "responses": responses,
        }
    }
