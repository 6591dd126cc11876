"""What a protocol adds to the description of the gateway, beside its routes and their answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from typing import Any, NamedTuple

from streams.access.callers import AccessRule
from streams.api.openapi import BASE, Json
from streams.telemetry.metrics import MetricDeclaration
from streams.views.query_params import Parameter
from topology.declarations import Topic

DescribeParameter = Callable[[Parameter], Json]
"""Takes a query parameter; gives it as OpenAPI has it."""


class Body(NamedTuple):
    """What requests of one or more routes are made of.

    name: as the routes name it.  components: makes its JSON Schemas, by name.  examples: makes
    them, by name.  composed: of components that other bodies bring, and so listed after them.
    """

    name: str
    components: Callable[[], Json]
    examples: Callable[[], Json]
    composed: bool = False


class PathId(NamedTuple):
    """An id in the path of a route.  format: of JSON Schema, where the id has one."""

    example: str | None
    format: str | None = None


class Metrics(NamedTuple):
    """What a server of the protocol's own exports.  about: in Markdown.  declared: each metric."""

    title: str
    about: str
    declared: tuple[MetricDeclaration, ...]


def _no_paths(describe: DescribeParameter) -> Json:
    return {}


@dataclass(frozen=True, kw_only=True)
class Description:
    """tags: their descriptions, in the order of documents.  ids: of paths, by name.

    records: topics whose records, or parts of them, stand in composed answers.  bodies: of routes.
    paths: makes the OpenAPI paths of endpoints that are no rows of the route table.
    components: makes their JSON Schemas, by name.  needs: what a token must have for each of
    these endpoints, by method and path.  metrics: what one of them exports.
    """

    tags: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, PathId] = field(default_factory=dict)
    records: tuple[Topic, ...] = ()
    bodies: tuple[Body, ...] = ()
    paths: Callable[[DescribeParameter], Json] = _no_paths
    components: Callable[[], Json] = dict
    needs: Mapping[tuple[str, str], AccessRule] = field(default_factory=dict)
    metrics: Metrics | None = None


def envelope(
    name: str, examples: str, *, file: str | None = None, filled_in: str | None = None
) -> Body:
    """The body of a kind of envelope whose JSON Schema lies under `schemas/json`.

    examples: the folder under `schemas/examples`.  file: that holds the schema, if it is not
    called as the body is.  filled_in: the member that the edge fills in, and that may be left out.
    """
    components = partial(_components, name, file or name, filled_in)
    return Body(name, components, partial(read_examples, examples))


def _components(name: str, file: str, filled_in: str | None) -> Json:
    """The JSON Schema of an envelope and its parts."""
    own = name.replace("/", ".")
    schema = json.loads(_text("json", file).replace('"#/$defs/', f'"{BASE}{own}.'))
    parts = schema.pop("$defs", {})
    schema.pop("$schema", None)
    for part in (schema, *parts.values()):
        if filled_in in part.get("required", ()):
            part["required"].remove(filled_in)
    return {own: schema, **{f"{own}.{part}": found for part, found in parts.items()}}


def read_schema(name: str) -> Any:
    """A file of `schemas/json`, named without its ending."""
    return json.loads(_text("json", name))


def read_example(name: str) -> Any:
    """A file of `schemas/examples`, named without its ending."""
    return json.loads(_text("examples", name))


def read_examples(folder: str) -> Json:
    """All of a folder of `schemas/examples`, by file name."""
    names = sorted(path.name for path in files("schemas").joinpath("examples", folder).iterdir())
    stems = (name.removesuffix(".json") for name in names if name.endswith(".json"))
    return {stem: {"value": read_example(f"{folder}/{stem}")} for stem in stems}


def _text(folder: str, name: str) -> str:
    return files("schemas").joinpath(folder, f"{name}.json").read_text("utf-8")
