"""The types of a protocol's part of the OpenAPI document, beside its routes and responses."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from typing import Any, NamedTuple

from streams.access.callers import AccessRule
from streams.api.openapi import BASE, Json
from streams.api.problems import Code
from streams.telemetry.metrics import MetricDeclaration
from streams.views.query_params import Parameter
from topology.declarations import Topic

DescribeParameter = Callable[[Parameter], Json]
"""Takes a query parameter; returns its OpenAPI description."""


class Body(NamedTuple):
    """The request body of one or more routes.

    name: as the routes name it.  components: makes its JSON Schemas, by name.  examples: makes
    them, by name.  composed: it uses components of other bodies, and so is listed after them.
    """

    name: str
    components: Callable[[], Json]
    examples: Callable[[], Json]
    composed: bool = False


class PathId(NamedTuple):
    """An id in the path of a route.  format, pattern: of JSON Schema, if the id has one."""

    example: str | None
    format: str | None = None
    pattern: str | None = None


class Metrics(NamedTuple):
    """The metrics that a server of the protocol exports.  about: an introduction in Markdown."""

    title: str
    about: str
    declared: tuple[MetricDeclaration, ...]


def _no_paths(describe: DescribeParameter) -> Json:
    return {}


@dataclass(frozen=True, kw_only=True)
class Description:
    """One protocol's part of the OpenAPI document.

    tags: descriptions of tags, in the order of the document.  ids: path parameters, by name.
    records: topics whose records, or parts of them, occur in composed responses.
    paths: makes the OpenAPI paths of endpoints outside the route table.  components: makes their
    JSON Schemas, by name.  needs: the access rule of each of these endpoints, by method and path.
    metrics: the metrics that one of them exports.
    http_rules: the rule codes that only HTTP responses of the protocol have.
    """

    tags: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, PathId] = field(default_factory=dict)
    records: tuple[Topic, ...] = ()
    bodies: tuple[Body, ...] = ()
    paths: Callable[[DescribeParameter], Json] = _no_paths
    components: Callable[[], Json] = dict
    needs: Mapping[tuple[str, str], AccessRule] = field(default_factory=dict)
    metrics: Metrics | None = None
    http_rules: tuple[Code, ...] = ()


def envelope(
    name: str, examples: str, *, file: str | None = None, filled_in: str | None = None
) -> Body:
    """Return the body of a kind of envelope whose JSON Schema is a file of `schemas/json`.

    examples: the folder under `schemas/examples`.  file: the schema's file, if its name is not
    that of the body.  filled_in: a required member that clients may omit, because the edge adds it.
    """
    components = partial(_components, name, file or name, filled_in)
    return Body(name, components, partial(read_examples, examples))


def _components(name: str, file: str, filled_in: str | None) -> Json:
    """Return the JSON Schemas of an envelope and its parts, by name."""
    base = name.replace("/", ".")
    schema = json.loads(_text("json", file).replace('"#/$defs/', f'"{BASE}{base}.'))
    parts = schema.pop("$defs", {})
    schema.pop("$schema", None)
    for part in (schema, *parts.values()):
        if filled_in in part.get("required", ()):
            part["required"].remove(filled_in)
    return {base: schema, **{f"{base}.{part}": part_schema for part, part_schema in parts.items()}}


def read_schema(name: str) -> Any:
    """Read a file of `schemas/json`; the name has no suffix."""
    return json.loads(_text("json", name))


def read_example(name: str) -> Any:
    """Read a file of `schemas/examples`; the name has no suffix."""
    return json.loads(_text("examples", name))


def read_examples(folder: str) -> Json:
    """Read all files of a folder of `schemas/examples`, by file name."""
    names = sorted(path.name for path in files("schemas").joinpath("examples", folder).iterdir())
    stems = (name.removesuffix(".json") for name in names if name.endswith(".json"))
    return {stem: {"value": read_example(f"{folder}/{stem}")} for stem in stems}


def _text(folder: str, name: str) -> str:
    return files("schemas").joinpath(folder, f"{name}.json").read_text("utf-8")
