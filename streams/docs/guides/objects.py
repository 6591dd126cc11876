"""Tables of the members of objects that users send, from the exported JSON Schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from schemas.protocols import SPECS
from schemas.spec import Spec
from streams.docs.markdown import code, codes, grid

Json = Mapping[str, Any]
_FORMATS = {
    "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$": "a UUID",
    "date-time": "a date-time with a zone",
    r"^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z$": "a UTC date-time",
    "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}"
    "|00000000-0000-0000-0000-000000000000)$": "a UUID of versions 1 to 8, or the nil UUID",
}
_BOUNDS = {
    "exclusiveMinimum": "above {}",
    "exclusiveMaximum": "below {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} members",
    "maxProperties": "at most {} members",
}
_SAFE_INTEGER = 2**53 - 1


def spec_of(protocol: str) -> Spec:
    return next(spec for spec in SPECS if spec.name == protocol)


def meaning_of(protocol: str, owner: str, member: str) -> str:
    """Return the declared meaning of a member; that of the member alone if the object has none."""
    meanings = spec_of(protocol).meanings
    return meanings.get(f"{owner}.{member}") or meanings.get(member, "")


def fields_section(protocol: str, name: str) -> str:
    """Return the members of an object.

    name: of a JSON Schema: a definition, or a file without its ending; members below it follow
    after dots, `manifest.spec.tools`.
    """
    first, *path = name.split(".")
    schema = _named(protocol, first)
    for member in path:
        schema = _below(protocol, schema, member)
    owner = path[-1] if path else first
    alternatives = [_resolved(protocol, each) for each in schema.get("oneOf", [schema])]
    rows = [
        _row(protocol, owner, member, alternatives)
        for member in dict.fromkeys(m for each in alternatives for m in each["properties"])
    ]
    return grid(("member", "type", "required", "default", "limit", "meaning"), rows)


@cache
def _definitions(protocol: str) -> Mapping[str, Json]:
    """Return the schemas of a protocol: the definitions and the files, by name."""
    definitions: dict[str, Json] = {}
    for path, text in spec_of(protocol).export().items():
        schema = json.loads(text)
        definitions |= schema.get("$defs", {})
        definitions[path.rpartition("/")[2].partition(".")[0]] = schema
    return definitions


def _named(protocol: str, name: str) -> Json:
    return _definitions(protocol)[name]


def _resolved(protocol: str, schema: Json) -> Json:
    if "$ref" in schema:
        return _resolved(protocol, _named(protocol, schema["$ref"].rpartition("/")[2]))
    return schema


def _below(protocol: str, schema: Json, member: str) -> Json:
    """Return the schema of a member, or of the items of a list; alternatives are joined."""
    alternatives = [_resolved(protocol, each) for each in schema.get("oneOf", [schema])]
    having = [each for each in alternatives if member in each["properties"]]
    below = [_resolved(protocol, _item(each["properties"][member])) for each in having]
    if len(below) == 1:
        return below[0]
    return {
        "oneOf": [{"title": _label(each), **it} for each, it in zip(having, below, strict=True)]
    }


def _item(schema: Json) -> Json:
    while "items" in schema:
        schema = schema["items"]
    return schema


def _row(protocol: str, owner: str, member: str, alternatives: list[Json]) -> tuple[str, ...]:
    having = [each for each in alternatives if member in each["properties"]]
    schemas = [each["properties"][member] for each in having]
    types = list(dict.fromkeys(filter(None, map(_type, schemas))))
    limits = list(dict.fromkeys(filter(None, map(_limit, schemas))))
    default = next((each["default"] for each in schemas if "default" in each), None)
    return (
        code(member),
        " or ".join(types) if len(types) <= 2 else ", ".join(types),
        _required(member, alternatives),
        "" if default is None else code(json.dumps(default)),
        "; ".join(limits),
        meaning_of(protocol, owner, member),
    )


def _required(member: str, alternatives: list[Json]) -> str:
    """Return `yes`, nothing, or the alternatives that require the member."""
    requiring = [each for each in alternatives if member in each.get("required", ())]
    if len(requiring) == len(alternatives):
        return "yes"
    return f"for {codes(_label(each) for each in requiring)}" if requiring else ""


def _label(alternative: Json) -> str:
    """Return the word that distinguishes an alternative: the constant that it alone has."""
    required = [alternative["properties"][name] for name in alternative.get("required", ())]
    constants = [str(each["const"]) for each in required if "const" in each]
    return constants[-1] if constants else alternative.get("title", "")


def _type(schema: Json) -> str:
    if "$ref" in schema:
        return code(schema["$ref"].rpartition("/")[2])
    if "const" in schema:
        return code(json.dumps(schema["const"]).strip('"'))
    if "enum" in schema:
        return codes(schema["enum"])
    if "anyOf" in schema or "oneOf" in schema:
        alternatives = schema.get("anyOf") or schema["oneOf"]
        return " or ".join(dict.fromkeys(map(_type, alternatives)))
    return _plain_type(schema)


def _plain_type(schema: Json) -> str:
    match schema.get("type"):
        case "array":
            return f"list of {_type(schema.get('items', {}))}"
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return f"object of {_type(schema['additionalProperties'])}"
        case list(types):
            return " or ".join(types)
        case str(name):
            return name
    return "any value"


def _limit(schema: Json) -> str:
    return "; ".join(dict.fromkeys(_limits(schema)))


def _range(low: float | None, high: float | None) -> Iterator[str]:
    if low is not None and high is not None:
        yield f"{low:,} to {high:,}"
    elif low is not None:
        yield f"at least {low:,}"
    elif high is not None:
        yield f"at most {high:,}"


def _limits(schema: Json) -> Iterator[str]:
    high = schema.get("maximum")
    yield from _range(schema.get("minimum"), None if high == _SAFE_INTEGER else high)
    for keyword, text in _BOUNDS.items():
        if keyword in schema:
            bound = text.format(f"{schema[keyword]:,}")
            yield bound.removesuffix("s") if bound.partition("1 ")[0] == "at least " else bound
    if schema.get("uniqueItems"):
        yield "no item twice"
    for keyword in ("pattern", "format"):
        if keyword in schema:
            yield _FORMATS.get(schema[keyword]) or code(schema[keyword])
    for each in schema.get("anyOf", ()):
        yield from _limits(each)
    for keyword in ("items", "additionalProperties"):
        inner = schema.get(keyword)
        if isinstance(inner, dict) and (limit := _limit(inner)):
            yield f"each {limit}"
