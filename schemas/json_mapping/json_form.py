"""The JSON form of Avro values, compiled: one Python function per record, made from its schema.

Members of sparse records that are absent (Avro null) are left out; other records, which the
service writes, show them as null.  `x_json` appears as `x`, parsed; `extra_json` as the members
that it holds; times as ISO 8601 with milliseconds, those with microseconds as `formats.iso_us` has
them; doubles without fraction as integers; non-finite ones as `NaN`, `Infinity`, `-Infinity`.
"""

from __future__ import annotations

import math
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

_TIMES = {"timestamp-millis": "iso_ms({})", "timestamp-micros": "iso_us({})"}


def to_json(record: str, value: dict[str, Any]) -> JsonObject:
    """The JSON form of an Avro value of the record named.  It may share lists with the value."""
    return _converter(record)(value)


def number(x: float) -> int | float | str:
    """A double as JSON shows it."""
    if x.is_integer():
        return int(x) if -MAX_SAFE_INTEGER <= x <= MAX_SAFE_INTEGER else x
    if math.isfinite(x):
        return x
    return "NaN" if x != x else "Infinity" if x > 0 else "-Infinity"


def open_json(text: str) -> Any:
    """The value of a text of I-JSON with finite numbers; any other text itself.

    A text nested more than 200 deep counts as another one.
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
    """The object with the members of its extras added; none of these replaces one named."""
    extra = None if text is None else open_json(text)
    if not isinstance(extra, dict):
        return named
    return {**named, **{name: member for name, member in extra.items() if name not in named}}


class Unread(str):
    """The text of a strict `x_json` field that holds no I-JSON, or no object of extras.

    It stands for itself, and equals no value of that JSON text.
    """

    __slots__ = ()


def strict_json(text: str) -> Any:
    """The value of a text of I-JSON; any other text as `Unread`."""
    value = open_json(text)
    return Unread(text) if isinstance(value, str) and value == text else value


def strict_members(
    text: str | None, named: dict[str, Any], taken: frozenset[str]
) -> dict[str, Any]:
    """The object with the members of its extras added; what is no such object, as `extra_json`.

    taken: the members that have a field of their own.
    """
    if text is None:
        return named
    extra = strict_json(text)
    if isinstance(extra, dict) and not taken & extra.keys():
        return {**named, **extra}
    return {**named, EXTRA: Unread(text)}


@cache
def _converter(record: str) -> ToJson:
    return compile_converter(schema_of(record))


def _repeated(name: str, mapping: JsonMapping) -> list[str]:
    """The lines that give the objects in a list what they repeat."""
    repetition = mapping.repetitions.get(name)
    if repetition is None:
        return []
    lines = [f' for y in r["{repetition.list}"]:']
    for member, above in repetition.members.items():
        lines.append(f'  if y["{member}"] is None: y["{member}"] = r["{above}"]')
    return lines


class _Compiler:
    """Writes the source of the conversion functions of one self-contained schema."""

    def __init__(self) -> None:
        self.scope: dict[str, Any] = {
            "number": number,
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
        body = [f"def {function}(v):", " r = {}", *self._words(name, schema["fields"], mapping)]
        extra = False
        for field in schema["fields"]:
            if field["name"] == EXTRA:
                extra = True
            else:
                body += self._member(field, sparse, mapping)
        body += _repeated(name, mapping)
        end = self._with_extra(schema["fields"], mapping) if extra else " return r"
        self.lines += [*body, end]
        return function

    def _words(self, name: str, fields: list[Schema], mapping: JsonMapping) -> list[str]:
        """The lines of members that say what the record is, or what is in its union."""
        lines = []
        if name in mapping.tags:
            lines.append(f' r["type"] = "{mapping.tags[name]}"')
        told = mapping.discriminators.get(name)
        if told and told.member not in {field["name"] for field in fields}:
            words = f"WORDS_{len(self.scope)}"
            self.scope[words] = told.words
            lines.append(f' r["{told.member}"] = {words}[v["{told.union}"][0]]')
        return lines

    def _with_extra(self, fields: list[Schema], mapping: JsonMapping) -> str:
        """The last line of a record that has a field of extras."""
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
        shown = self.expression(schema[1] if nullable else schema, "x", sparse)
        if opened:
            shown = "strict_json(x)" if mapping.open.strict else "open_json(x)"
        if not nullable:
            return [*lines, f" {target} = {shown}"]
        if sparse:
            return [*lines, f" if x is not None: {target} = {shown}"]
        return [*lines, f" {target} = None if x is None else {shown}"]

    def expression(self, schema: Any, x: str, sparse: bool) -> str:
        """An expression for the JSON form of the variable x, which is not null."""
        if isinstance(schema, list):
            return self._union(schema, x, sparse)
        if isinstance(schema, str):
            if schema in self.names and schema not in self.enums:
                return f"{self.names[schema]}({x})"
            return f"number({x})" if schema == "double" else x
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
        shown = f"{table}[{x}[0]]({x}[1])"
        return f"{x} if type({x}) is str else {shown}" if schema[0] == "string" else shown


def compile_converter(schema: Schema) -> ToJson:
    """The conversion function of a self-contained record schema."""
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
