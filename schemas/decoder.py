"""Avro binary decoding, compiled: one Python function per record, made from its schema.

The functions are stricter than fast readers usually are, because the bytes are spliced into other
records and every Avro library must be able to read them: no index outside its union or enum, no
integer beyond its type, no boolean but 0 and 1, no length beyond the buffer, correct block sizes.
Values of unions of several records are `(full name, value)`; a string in such a union, and values
of unions of null, long and string, are plain values.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from schemas.sources import Schema

Decode = Callable[[bytes, int], tuple[dict[str, Any], int]]

ERRORS = (IndexError, KeyError, ValueError, struct.error)
"""What a decoding function raises for bytes that are no encoding of its record."""

_DOUBLE = struct.Struct("<d").unpack_from
_SHORT = [n >> 1 if n < 128 and not n & 1 else -1 for n in range(256)]


def long(b: bytes, p: int) -> tuple[int, int]:
    """Read a zig-zag variable-length integer at p; return it and the position after it."""
    result = shift = 0
    while True:
        byte = b[p]
        p += 1
        result |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift > 63:
            raise ValueError("an integer is longer than ten bytes")
    if result >> 64:
        raise ValueError("an integer does not fit 64 bits")
    return (result >> 1) ^ -(result & 1), p


def int32(b: bytes, p: int) -> tuple[int, int]:
    n, p = long(b, p)
    if not -(1 << 31) <= n < 1 << 31:
        raise ValueError("an integer does not fit 32 bits")
    return n, p


def length(b: bytes, p: int) -> tuple[int, int]:
    n, p = long(b, p)
    if not 0 <= n <= len(b) - p:
        raise ValueError("a length leaves the buffer")
    return n, p


def block(b: bytes, p: int) -> tuple[int, int, int]:
    """Read a block header at p: item count, start position, required end position (-1 if not
    given).
    """
    n, p = long(b, p)
    if n >= 0:
        return n, p, -1
    size, p = length(b, p)
    return -n, p, p + size


class CountedBytes(bytes):
    """Bytes of which decoding counts the items of lists and maps.

    An item may take one byte, and two hundred once it is decoded.
    """

    items = 0
    max_items: int


def count(b: CountedBytes, n: int) -> None:
    """Add the items of a block.  Raises ValueError beyond the most that the bytes may have."""
    b.items += n
    if b.items > b.max_items:
        raise ValueError(f"lists and maps have more than {b.max_items} items")


def full_name(schema: Schema) -> str:
    """Return the full name of a record or enum schema."""
    return f"{schema['namespace']}.{schema['name']}"


class Compiler:
    """A compiler of one self-contained schema to the source of its decoding functions.

    counted: they take `CountedBytes`.
    """

    def __init__(self, *, counted: bool = False) -> None:
        self.counted = counted
        self.scope: dict[str, Any] = {
            "SHORT": _SHORT,
            "long": long,
            "int32": int32,
            "length": length,
            "block": block,
            "count": count,
            "double": _DOUBLE,
            "BOOLEAN": {0: False, 1: True},
        }
        self.names: dict[str, str] = {}
        self.enums: set[str] = set()
        self.lines: list[str] = []

    def function(self, name: str) -> Any:
        """Compile the collected source and return the named function."""
        exec(compile("\n".join(self.lines), "<avro decoder>", "exec"), self.scope)
        for table, branches in self.scope.items():
            if table.startswith("BRANCHES_"):
                for index, (branch, function) in branches.items():
                    branches[index] = (branch, self.scope[function])
        return self.scope[name]

    def record(self, schema: Schema) -> str:
        function = f"decode_{len(self.names)}"
        self.names[full_name(schema)] = function
        body = [f"def {function}(b, p):"]
        members = []
        for i, field in enumerate(schema["fields"]):
            body += self.value(field["type"], f"f{i}", 1, 1)
            members.append(f'"{field["name"]}": f{i}')
        self.lines += [*body, f" return {{{', '.join(members)}}}, p"]
        return function

    def value(self, schema: Any, x: str, indent: int, depth: int) -> list[str]:
        """Return lines that read a value into the variable x and move p past it."""
        return indented(self._lines(schema, x, depth), indent)

    def _lines(self, schema: Any, x: str, depth: int) -> list[str]:
        if isinstance(schema, list):
            return self._union(schema, x, depth)
        kind = schema["type"] if isinstance(schema, dict) else schema
        if kind in ("long", "int"):
            slow = "long" if kind == "long" else "int32"
            return [f"{x} = SHORT[b[p]]", f"if {x} >= 0: p += 1", f"else: {x}, p = {slow}(b, p)"]
        if kind in ("string", "bytes"):
            decode = ".decode()" if kind == "string" else ""
            head = ["n = SHORT[b[p]]", "if n >= 0: p += 1", "else: n, p = length(b, p)"]
            return [*head, "q = p + n", f"{x} = b[p:q]{decode}", "p = q"]
        if kind == "double":
            return [f"{x} = double(b, p)[0]", "p += 8"]
        if kind == "boolean":
            return [f"{x} = BOOLEAN[b[p]]", "p += 1"]
        if kind in ("array", "map"):
            return self._collection(schema, x, depth)
        return self._named(schema, x)

    def _named(self, schema: Any, x: str) -> list[str]:
        name = self.defined(schema)
        if name in self.enums:
            return [f"{x} = {self.names[name]}[b[p]]", "p += 1"]
        return [f"{x}, p = {self.names[name]}(b, p)"]

    def defined(self, schema: Any) -> str:
        """Return the full name of a record or enum, after adding it to `names` if it is a
        definition.
        """
        if isinstance(schema, str):
            return schema
        name = full_name(schema)
        self._define(schema, name)
        return name

    def _define(self, schema: Schema, name: str) -> None:
        if schema["type"] == "record":
            self.record(schema)
            return
        symbols = schema["symbols"]
        if len(symbols) > 64:
            raise ValueError(f"{name} has more symbols than one byte tells apart")
        self.enums.add(name)
        self.names[name] = f"ENUM_{len(self.names)}"
        self.scope[self.names[name]] = {i * 2: symbol for i, symbol in enumerate(symbols)}

    def _collection(self, schema: Schema, x: str, depth: int) -> list[str]:
        n, end, item = f"n{depth}", f"e{depth}", f"i{depth}"
        array = schema["type"] == "array"
        inner = schema["items" if array else "values"]
        loop = [] if array else self.value("string", f"k{depth}", 3, depth + 1)
        loop += self.value(inner, item, 3, depth + 1)
        loop.append(f"   {x}.append({item})" if array else f"   {x}[k{depth}] = {item}")
        return [
            f"{x} = {'[]' if array else '{}'}",
            "if not b[p]: p += 1",
            "else:",
            *self.head(n, end, 1),
            f" while {n}:",
            *([f"  count(b, {n})"] if self.counted else []),
            f"  for _ in range({n}):",
            *loop,
            f"  if {end} != -1 and {end} != p: raise ValueError('a block has not its size')",
            *self.head(n, end, 2),
        ]

    def head(self, n: str, end: str, indent: int) -> list[str]:
        """Return lines that read a block header, as `block` does."""
        lines = [
            f"{n} = SHORT[b[p]]",
            f"if {n} >= 0: p += 1; {end} = -1",
            f"else: {n}, p, {end} = block(b, p)",
        ]
        return indented(lines, indent)

    def _union(self, schema: list[Any], x: str, depth: int) -> list[str]:
        if schema[0] == "null":
            some = [self.value(branch, x, 1, depth) for branch in schema[1:]]
            return [f"if not b[p]: {x} = None; p += 1", *after_null(*some)]
        if schema[0] == "string":
            text = ["if not b[p]:", " p += 1", *self.value("string", x, 1, depth)]
            return [*text, "else:", *indented(self._records(schema, x))]
        return self._records(schema, x)

    def _records(self, schema: list[Any], x: str) -> list[str]:
        """Return lines that read the records among the branches of a union."""
        table = f"BRANCHES_{len(self.scope)}"
        branches: dict[int, Any] = {}
        self.scope[table] = branches
        for i, branch in enumerate(schema):
            if branch != "string":
                name = self.defined(branch)
                branches[i * 2] = (name, self.names[name])
        return [f"name, read = {table}[b[p]]", f"{x}, p = read(b, p + 1)", f"{x} = (name, {x})"]


def after_null(*branches: list[str]) -> list[str]:
    """Return lines for the union branches that follow null; each branch's lines are indented."""
    lines = []
    for i, some in enumerate(branches, 1):
        lines += [f"elif b[p] == {i * 2}:", " p += 1", *some]
    return [*lines, "else: raise ValueError('no such branch')"]


def indented(lines: list[str], by: int = 1) -> list[str]:
    return [" " * by + line for line in lines]


def compile_decoder(schema: Schema, *, counted: bool = False) -> Decode:
    """Compile the decoding function of a record schema: (buffer, position) → (value, position).

    schema: self-contained.  counted: the buffer must be `CountedBytes`.  The position returned may
    be beyond the buffer's end: the caller compares it with the expected end of the value.
    Raises `ERRORS`.
    """
    compiler = Compiler(counted=counted)
    decode: Decode = compiler.function(compiler.record(schema))
    return decode
