"""The JSON form of Avro values, compiled: one Python function per record, made from its schema.

Absent members (Avro null) of sparse records are left out; other records, which the service writes,
have null for them.  `x_json` appears as `x`, parsed; `extra_json` as the members that it holds;
times as ISO 8601 with milliseconds, those with microseconds as `formats.iso_us` writes them;
doubles without fraction as integers; non-finite ones as `NaN`, `Infinity`, `-Infinity`; bytes in
base64.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from typing import Any

import orjson

from schemas.canonical import MAX_SAFE_INTEGER, canonical_json, parse_ijson
from schemas.catalogue import schema_of
from schemas.formats import iso_ms, iso_us
from schemas.json_mapping.lookup import mapping_of
from schemas.json_mapping.mapping import EXTRA, JsonMapping
from schemas.nesting import MAX_OPEN_NESTING, too_deep
from schemas.sources import Schema

JsonObject = dict[str, Any]
ToJson = Callable[[dict[str, Any]], JsonObject]

_CONVERTED = {"double": "number({})", "bytes": "base64_text({})"}
_TIMES = {"timestamp-millis": "iso_ms({})", "timestamp-micros": "iso_us({})"}


def to_json(record: str, value: dict[str, Any]) -> JsonObject:
    """Return the JSON form of an Avro value of this record.  It may share lists with the value."""
    return _converter(record)(value)


def number(x: float) -> int | float | str:
    """Return a double as JSON represents it."""
    if x.is_integer():
        return int(x) if -MAX_SAFE_INTEGER <= x <= MAX_SAFE_INTEGER else x
    if math.isfinite(x):
        return x
    return "NaN" if x != x else "Infinity" if x > 0 else "-Infinity"


def base64_text(data: bytes) -> str:
    """Return bytes as JSON represents them."""
    return b64encode(data).decode()


def open_json(text: str) -> Any:
    """Return the value of an I-JSON text with finite numbers; any other text unchanged.

    A text nested more than 200 deep is returned unchanged too.
    """
    try:
        value = orjson.loads(text)
        if canonical_json(value) == text.encode() and not too_deep(value, limit=MAX_OPEN_NESTING):
            return value
    except ValueError:
        pass
    try:
        value = parse_ijson(text)
        if too_deep(value, limit=MAX_OPEN_NESTING):
            return text
        canonical_json(value)
    except ValueError:
        return text
    return value


def extra_members(text: str | None, named: dict[str, Any]) -> dict[str, Any]:
    """Return the object with the members of its extras added; they never replace named members."""
    extra = None if text is None else open_json(text)
    if not isinstance(extra, dict):
        return named
    return {**named, **{name: member for name, member in extra.items() if name not in named}}


class UnparsableJson(str):
    """The unparsed text of a strict `x_json` field that is not I-JSON, or not an object of extras.

    It is its own value, and equals no value of that JSON text.
    """

    __slots__ = ()


def strict_json(text: str) -> Any:
    """Return the value of an I-JSON text; any other text as `UnparsableJson`."""
    value = open_json(text)
    return UnparsableJson(text) if isinstance(value, str) and value == text else value


def strict_members(
    text: str | None, named: dict[str, Any], taken: frozenset[str]
) -> dict[str, Any]:
    """Return the object with the members of its extras added.

    taken: the members that have a field of their own.  Extras that are no object, or that repeat
    one of these, are returned as the text `extra_json`.
    """
    if text is None:
        return named
    extra = strict_json(text)
    if isinstance(extra, dict) and not taken & extra.keys():
        return {**named, **extra}
    return {**named, EXTRA: UnparsableJson(text)}


@cache
def _converter(record: str) -> ToJson:
    return compile_converter(schema_of(record))


def _repetition_lines(name: str, mapping: JsonMapping) -> list[str]:
    """Return lines that fill in members that the objects of a list repeat from their parent."""
    repetition = mapping.repetitions.get(name)
    if repetition is None:
        return []
    lines = [f' for y in r["{repetition.list}"]:']
    for member, above in repetition.members.items():
        lines.append(f'  if y["{member}"] is None: y["{member}"] = r["{above}"]')
    return lines


class _Compiler:
    """A compiler of one self-contained schema to the source of its conversion functions."""

    def __init__(self) -> None:
        self.scope: dict[str, Any] = {
            "number": number,
            "base64_text": base64_text,
            "iso_ms": iso_ms,
            "iso_us": iso_us,
            "open_json": open_json,
            "extra_members": extra_members,
            "strict_json": strict_json,
            "strict_members": strict_members,
        }
        self.names: dict[str, str] = {}
        self.enums: set[str] = set()
        self.lines: list[str] = []

    def record(self, schema: Schema, sparse: bool) -> str:
        name = f"{schema['namespace']}.{schema['name']}"
        function = self.names[name] = f"convert_{len(self.names)}"
        mapping = mapping_of(name)
        sparse = sparse or name in mapping.sparse
        body = [
            f"def {function}(v):",
            " r = {}",
            *self._type_members(name, schema["fields"], mapping),
        ]
        extra = False
        for field in schema["fields"]:
            if field["name"] == EXTRA:
                extra = True
            else:
                body += self._member(field, sparse, mapping)
        body += _repetition_lines(name, mapping)
        end = self._with_extra(schema["fields"], mapping) if extra else " return r"
        self.lines += [*body, end]
        return function

    def _type_members(self, name: str, fields: list[Schema], mapping: JsonMapping) -> list[str]:
        """Return lines that set the members naming the record's type or its union's branch."""
        lines = []
        if name in mapping.tags:
            lines.append(f' r["type"] = "{mapping.tags[name]}"')
        discriminator = mapping.discriminators.get(name)
        if discriminator and discriminator.member not in {field["name"] for field in fields}:
            table = f"WORDS_{len(self.scope)}"
            self.scope[table] = discriminator.words
            lines.append(f' r["{discriminator.member}"] = {table}[v["{discriminator.union}"][0]]')
        return lines

    def _with_extra(self, fields: list[Schema], mapping: JsonMapping) -> str:
        """Return the last line of a record that has a field of extras."""
        if not mapping.open.strict:
            return f' return extra_members(v["{EXTRA}"], r)'
        names = f"NAMES_{len(self.scope)}"
        self.scope[names] = frozenset(mapping.json_name(f["name"]) or f["name"] for f in fields)
        return f' return strict_members(v["{EXTRA}"], r, {names})'

    def _member(self, field: Schema, sparse: bool, mapping: JsonMapping) -> list[str]:
        opened = mapping.json_name(field["name"])
        target = f'r["{opened or field["name"]}"]'
        lines = [f' x = v["{field["name"]}"]']
        schema = field["type"]
        nullable = isinstance(schema, list) and schema[0] == "null"
        converted = self.expression(schema[1] if nullable else schema, "x", sparse)
        if opened:
            converted = "strict_json(x)" if mapping.open.strict else "open_json(x)"
        if not nullable:
            return [*lines, f" {target} = {converted}"]
        if sparse:
            return [*lines, f" if x is not None: {target} = {converted}"]
        return [*lines, f" {target} = None if x is None else {converted}"]

    def expression(self, schema: Any, x: str, sparse: bool) -> str:
        """Return an expression for the JSON form of the variable x, which is not null."""
        if isinstance(schema, list):
            return self._union(schema, x, sparse)
        if isinstance(schema, str):
            if schema in self.names and schema not in self.enums:
                return f"{self.names[schema]}({x})"
            return _CONVERTED.get(schema, "{}").format(x)
        kind = schema["type"]
        if kind == "record":
            return f"{self.record(schema, sparse)}({x})"
        if kind == "array":
            item = self.expression(schema["items"], "y", sparse)
            return x if item == "y" else f"[{item} for y in {x}]"
        if kind == "map":
            item = self.expression(schema["values"], "y", sparse)
            return x if item == "y" else f"{{k: {item} for k, y in {x}.items()}}"
        if kind == "enum":
            self.enums.add(f"{schema['namespace']}.{schema['name']}")
            return x
        return _TIMES.get(schema.get("logicalType"), "{}").format(x)

    def _union(self, schema: list[Any], x: str, sparse: bool) -> str:
        table = f"BRANCHES_{len(self.scope)}"
        branches: dict[str, Any] = {}
        self.scope[table] = branches
        for branch in schema:
            if branch == "string":
                continue
            if isinstance(branch, dict):
                self.record(branch, sparse)
            name = branch if isinstance(branch, str) else f"{branch['namespace']}.{branch['name']}"
            branches[name] = self.names[name]
        converted = f"{table}[{x}[0]]({x}[1])"
        return f"{x} if type({x}) is str else {converted}" if schema[0] == "string" else converted


def compile_converter(schema: Schema) -> ToJson:
    """Compile the conversion function of a self-contained record schema."""
    compiler = _Compiler()
    main = compiler.record(schema, sparse=False)
    scope = compiler.scope
    exec(compile("\n".join(compiler.lines), "<json form>", "exec"), scope)
    for name, table in scope.items():
        if name.startswith("BRANCHES_"):
            for branch, function in table.items():
                table[branch] = scope[function]
    convert: ToJson = scope[main]
    return convert
