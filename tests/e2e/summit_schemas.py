"""What a JSON Schema of a manifest says of a value, by a validator that the project does not use.

Source: Summit guide, 2.6.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from tests.e2e.outputs import Json

MOST = 10
RULES = (
    "manifest.schema",
    "manifest.schema_dialect",
    "manifest.schema_ref",
    "manifest.schema_pattern",
    "manifest.schema_default",
)
"""In the order in which they are looked at."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def filled(schema: Json, value: Any) -> Any:
    """With defaults, by the walk through properties, items, allOf and local references."""
    result = copy.deepcopy(value)
    _fill(schema, result, schema)
    return result


def _fill(schema: Any, value: Any, root: Json) -> None:
    if not isinstance(schema, dict):
        return
    sent = set(value) if isinstance(value, dict) else set()
    for one in _applying(schema, root):
        if isinstance(value, dict):
            for name, part in one.get("properties", {}).items():
                if name in sent:
                    _fill(part, value[name], root)
                elif name not in value and isinstance(part, dict) and "default" in part:
                    value[name] = copy.deepcopy(part["default"])
        elif isinstance(value, list) and "items" in one:
            for each in value:
                _fill(one["items"], each, root)


def _applying(schema: Any, root: Json) -> Iterator[Json]:
    """The schema itself, what it refers to, and all that it consists of, in this order."""
    yield schema
    if "$ref" in schema:
        yield from _applying(_at(root, schema["$ref"]), root)
    for part in schema.get("allOf", ()):
        yield from _applying(part, root)


def _at(root: Json, reference: str) -> Json:
    node = root
    for step in reference.removeprefix("#").split("/")[1:]:
        node = node[step]
    return node


def errors(schema: Json, value: Any, base: str) -> list[Json]:
    """base: the JSON Pointer of the value."""
    locations = {
        place
        for error in Draft202012Validator(schema).iter_errors(value)
        for place in _places(error, base)
    }
    return [{"path": path, "keyword": keyword} for path, keyword in sorted(locations)][:MOST]


def _places(error: Any, base: str) -> Iterator[tuple[str, str]]:
    here = base + "".join(f"/{_escaped(str(step))}" for step in error.absolute_path)
    names = [""]
    if error.validator == "required":
        names = [f"/{_escaped(n)}" for n in error.validator_value if n not in error.instance]
    elif error.validator == "additionalProperties":
        listed = error.schema.get("properties", {})
        names = [f"/{_escaped(name)}" for name in error.instance if name not in listed]
    yield from ((here + name, error.validator) for name in names)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def problem(schema: Json) -> str | None:
    """The rule that a schema of a manifest breaks, as far as the traffic breaks any."""
    return _problem(json.dumps(schema, sort_keys=True))


@cache
def _problem(text: str) -> str | None:
    schema = json.loads(text)
    if schema.get("type") != "object" or not _is_schema(schema):
        return "manifest.schema"
    parts = list(_parts(schema))
    for one in parts:
        if one.get("$schema", DIALECT) != DIALECT:
            return "manifest.schema_dialect"
    if any(not one.get("$ref", "#").startswith("#") for one in parts):
        return "manifest.schema_ref"
    if any("(?=" in one.get("pattern", "") for one in parts):
        return "manifest.schema_pattern"
    if any("default" in one and errors(one, one["default"], "") for one in parts):
        return "manifest.schema_default"
    return None


def _is_schema(schema: Json) -> bool:
    return not list(Draft202012Validator(Draft202012Validator.META_SCHEMA).iter_errors(schema))


def _parts(schema: Json) -> Iterator[Json]:
    yield schema
    for name in ("properties", "$defs"):
        for part in schema.get(name, {}).values():
            yield from _parts(part)
    if isinstance(schema.get("items"), dict):
        yield from _parts(schema["items"])
