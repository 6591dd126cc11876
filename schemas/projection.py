"""Decoding of some members of a record, skipping the others; compiled like `schemas.decoder`.

It is for readers of many records that need little of each: a fact of 1.2 KB takes 90 µs to decode,
and 10 µs for a dozen of its members.  Skipped members are checked only as far as skipping needs,
and nothing after the last requested member is read; so this may accept bytes that `decode`
refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from schemas.catalogue import CATALOGUE
from schemas.codec import MAX_ITEMS, Undecodable, decode
from schemas.decoder import ERRORS, Compiler, after_null, full_name, indented
from schemas.sources import Schema

Selection = Mapping[str, "Selection"]
"""Members by name, each with what is wanted of it; nothing stands for all of it."""
Read = Callable[[bytes, int], tuple[dict[str, Any], int]]


class Projection:
    """A decoder of some members of a record type, each a path: names joined with `/`.

    In a union of several records the name of a record, without its namespace, is a step too.  A
    value has the shape of `decode`'s, without the other members; a record of a union of which
    nothing is requested is an empty dict.
    """

    def __init__(self, record: str, paths: Sequence[str]) -> None:
        self._record = record
        self._selection: dict[str, Any] = {}
        for path in paths:
            members = self._selection
            for step in path.split("/"):
                members = members.setdefault(step, {})
        entry = CATALOGUE.latest(record)
        self._prefix = b"\x00" + entry.id.to_bytes(4, "big")
        self._read: Read = _Projector(entry.schema).reader(entry.schema, self._selection)

    def many(self, values: Sequence[bytes | None]) -> list[dict[str, Any] | Undecodable]:
        """Decode framed records; an undecodable record yields its exception."""
        prefix, read = self._prefix, self._read
        results: list[dict[str, Any] | Undecodable] = []
        for value in values:
            if value is not None and value[:5] == prefix and len(value) <= MAX_ITEMS:
                try:
                    members, end = read(value, 5)
                except ERRORS:
                    end = -1
                if 0 <= end <= len(value):
                    results.append(members)
                    continue
            results.append(self._decode_fully(value))
        return results

    def of(self, value: bytes | None) -> dict[str, Any]:
        """Decode one framed record.  Raises Undecodable."""
        (result,) = self.many([value])
        if isinstance(result, Undecodable):
            raise result
        return result

    def _decode_fully(self, value: bytes | None) -> dict[str, Any] | Undecodable:
        """Decode a value that may have another framing or version, or be no record."""
        try:
            picked: dict[str, Any] = _select(decode(value, self._record).value, self._selection)
        except Undecodable as exc:
            return exc
        return picked


def _select(value: Any, selection: Selection) -> Any:
    """Return the requested members of a fully decoded value."""
    if isinstance(value, tuple):
        name, inner = value
        branch = selection.get(name.rpartition(".")[2])
        return name, {} if branch is None else _select_or_all(inner, branch)
    if value is None:
        return None
    return {name: _select_or_all(value[name], inner) for name, inner in selection.items()}


def _select_or_all(value: Any, selection: Selection) -> Any:
    return _select(value, selection) if selection else value


class _Projector(Compiler):
    """The compiler of projections.

    Types are defined when they are first read, which may not be where the schema defines them.
    """

    def __init__(self, schema: Schema) -> None:
        super().__init__()
        self._schemas: dict[str, Schema] = {}
        self._collect(schema)
        self._passing: dict[str, str] = {}
        self._tables = 0

    def _collect(self, schema: Any) -> None:
        if isinstance(schema, list):
            for branch in schema:
                self._collect(branch)
        elif isinstance(schema, dict):
            if "name" in schema:
                self._schemas[full_name(schema)] = schema
            for inner in (schema.get("items"), schema.get("values"), schema.get("type")):
                self._collect(inner)
            self._collect([field["type"] for field in schema.get("fields", ())])

    def defined(self, schema: Any) -> str:
        name = schema if isinstance(schema, str) else full_name(schema)
        if name not in self.names:
            self._define(self._schemas[name], name)
        return name

    def reader(self, schema: Schema, selection: Selection) -> Read:
        read: Read = self.function(self._define_projection(schema, selection, to_end=False))
        return read

    def _define_projection(self, schema: Schema, selection: Selection, *, to_end: bool) -> str:
        """Define a function that reads these members; to_end: it must move p past the record."""
        unknown = set(selection) - {field["name"] for field in schema["fields"]}
        if unknown:
            raise KeyError(f"{full_name(schema)} has no {', '.join(sorted(unknown))}")
        body: list[str] = []
        members: list[str] = []
        for i, field in enumerate(schema["fields"]):
            if field["name"] in selection:
                body += self._read_selection(field["type"], selection[field["name"]], f"f{i}")
                members.append(f'"{field["name"]}": f{i}')
            elif to_end or len(members) < len(selection):
                body += self._skip(field["type"], 1)
        function = self._unique_name("project")
        lines = [f"def {function}(b, p):", *indented(body)]
        self.lines += [*lines, f" return {{{', '.join(members)}}}, p"]
        return function

    def _unique_name(self, kind: str) -> str:
        self._tables += 1
        return f"{kind}_{self._tables}"

    def _read_selection(self, schema: Any, selection: Selection, x: str) -> list[str]:
        if not selection:
            return self._lines(schema, x, 1)
        if isinstance(schema, list) and len(schema) == 2 and schema[0] == "null":
            some = indented(self._read_selection(schema[1], selection, x))
            return [f"if not b[p]: {x} = None; p += 1", *after_null(some)]
        if isinstance(schema, list):
            return self._alternatives(schema, selection, x)
        record = schema if isinstance(schema, dict) else self._schemas[schema]
        return [f"{x}, p = {self._define_projection(record, selection, to_end=True)}(b, p)"]

    def _alternatives(self, schema: list[Any], selection: Selection, x: str) -> list[str]:
        """Return lines for a union of several records, or of a string and records."""
        if schema[0] != "string":
            return self._branches(schema, selection, x)
        text = ["if not b[p]:", " p += 1", *indented(self._lines("string", x, 1))]
        return [*text, "else:", *indented(self._branches(schema, selection, x))]

    def _branches(self, schema: list[Any], selection: Selection, x: str) -> list[str]:
        table = f"BRANCHES_{self._unique_name('union')}"
        branches = self.scope[table] = {}
        for i, branch in enumerate(schema):
            if branch == "string":
                continue
            record = branch if isinstance(branch, dict) else self._schemas[branch]
            if record["name"] in selection and not selection[record["name"]]:
                function = self.names[self.defined(record)]
            else:
                function = self._define_projection(
                    record, selection.get(record["name"], {}), to_end=True
                )
            branches[i * 2] = (full_name(record), function)
        return [f"name, read = {table}[b[p]]", f"{x}, p = read(b, p + 1)", f"{x} = (name, {x})"]

    def _skip(self, schema: Any, depth: int) -> list[str]:
        """Return lines that move p past a value."""
        if isinstance(schema, list):
            return self._skip_union(schema, depth)
        kind = schema["type"] if isinstance(schema, dict) else schema
        match kind:
            case "long" | "int":
                return ["while b[p] > 127: p += 1", "p += 1"]
            case "string" | "bytes":
                slow = "else: n, p = length(b, p); p += n"
                return ["n = SHORT[b[p]]", "if n >= 0: p += n + 1", slow]
            case "double":
                return ["p += 8"]
            case "boolean":
                return ["p += 1"]
            case "array" | "map":
                return self._skip_collection(schema, depth)
        definition = schema if isinstance(schema, dict) else self._schemas[schema]
        if definition["type"] == "enum":
            return ["p += 1"]
        return [line for field in definition["fields"] for line in self._skip(field["type"], depth)]

    def _skip_union(self, schema: list[Any], depth: int) -> list[str]:
        if schema[0] == "null":
            some = [indented(self._skip(branch, depth)) for branch in schema[1:]]
            return ["if not b[p]: p += 1", *after_null(*some)]
        return self._alternatives(schema, {}, "_")

    def _skip_collection(self, schema: Schema, depth: int) -> list[str]:
        n, end = f"n{depth}", f"e{depth}"
        array = schema["type"] == "array"
        item = [] if array else self._skip("string", depth + 1)
        item += self._skip(schema["items" if array else "values"], depth + 1)
        return [
            "if not b[p]: p += 1",
            "else:",
            *self.head(n, end, 1),
            f" while {n}:",
            f"  if {end} >= 0: p = {end}",
            "  else:",
            f"   for _ in range({n}):",
            *indented(item, 4),
            *self.head(n, end, 2),
        ]
