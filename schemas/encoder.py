"""Avro binary encoding, compiled: one Python function per record, made from its schema.

A record's encoding is the concatenation of its fields' encodings, so a field that is itself a
record may be passed as its encoded bytes (`AvroBody`), which are spliced in unchanged.
The functions append to a bytearray.  Values of unions of several records are `(full name, value)`.
Four kinds of union are supported: null and one other type; null and several of `_PYTHON`; several
records; a string and records, where strings are plain values.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from schemas.sources import Schema

Encode = Callable[[dict[str, Any], bytearray], None]


class AvroBody(bytes):
    """The Avro encoding of a record, without framing, used in place of its value in another
    record.
    """


class Unencodable(ValueError):
    """An error for a value that its record's schema cannot carry."""


def varint(n: int) -> bytes:
    """Encode an integer of up to 64 bits as a zig-zag variable-length integer."""
    if not -(1 << 63) <= n < 1 << 63:
        raise ValueError("an integer does not fit 64 bits")
    remaining = n * 2 if n >= 0 else -n * 2 - 1
    out = bytearray()
    while remaining > 127:
        out.append(remaining & 127 | 128)
        remaining >>= 7
    out.append(remaining)
    return bytes(out)


def varint32(n: int) -> bytes:
    if not -(1 << 31) <= n < 1 << 31:
        raise ValueError("an integer does not fit 32 bits")
    return varint(n)


def plain_bytes(value: Any) -> bytes:
    """Return the value, which is bytes.  Raises TypeError for any other."""
    if type(value) is not bytes:
        raise TypeError(f"{type(value).__name__} is not bytes")
    return value


_SMALL = [varint(n) for n in range(4096)]


_PYTHON = {"long": "int", "string": "str"}
"""The Python type that tells a primitive from the others of a union."""


class _Compiler:
    """A compiler of one self-contained schema to the source of its encoding functions."""

    def __init__(self) -> None:
        self.scope: dict[str, Any] = {
            "SMALL": _SMALL,
            "varint": varint,
            "varint32": varint32,
            "double": struct.Struct("<d").pack,
            "BOOLEAN": {False: b"\x00", True: b"\x01"},
            "Body": AvroBody,
            "plain_bytes": plain_bytes,
        }
        self.names: dict[str, str] = {}
        self.kinds: dict[str, str] = {}
        self.lines: list[str] = []

    def record(self, schema: Schema) -> str:
        name = f"{schema['namespace']}.{schema['name']}"
        function = f"encode_{len(self.names)}"
        self.names[name], self.kinds[name] = function, "record"
        body = [f"def {function}(v, o):"]
        for field in schema["fields"]:
            optional = field.get("default", ...) is None
            get = f'v.get("{field["name"]}")' if optional else f'v["{field["name"]}"]'
            body += [f" x0 = {get}", *self.value(field["type"], "x0", 1)]
        self.lines += [*body, " return None"]
        return function

    def value(self, schema: Any, x: str, depth: int) -> list[str]:
        """Return lines that append the encoding of the variable x, indented by depth."""
        return [" " * depth + line for line in self._lines(schema, x, depth)]

    def _lines(self, schema: Any, x: str, depth: int) -> list[str]:
        if isinstance(schema, list):
            return self._union(schema, x, depth)
        kind = schema["type"] if isinstance(schema, dict) else schema
        if kind in ("long", "int"):
            slow = "varint" if kind == "long" else "varint32"
            return [f"o += SMALL[{x}] if 0 <= {x} < 4096 else {slow}({x})"]
        if kind in ("string", "bytes"):
            return [
                f"s = {x}.encode()" if kind == "string" else f"s = plain_bytes({x})",
                "n = len(s)",
                "o += SMALL[n] if n < 4096 else varint(n)",
                "o += s",
            ]
        if kind == "double":
            return [f"o += double({x})"]
        if kind == "boolean":
            return [f"o += BOOLEAN[{x}]"]
        if kind in ("array", "map"):
            return self._collection(schema, x, depth)
        return self._named(schema, x)

    def _named(self, schema: Any, x: str) -> list[str]:
        if isinstance(schema, dict):
            name = f"{schema['namespace']}.{schema['name']}"
            if schema["type"] == "record":
                self.record(schema)
            elif name not in self.names:
                self.names[name], self.kinds[name] = f"ENUM_{len(self.names)}", "enum"
                self.scope[self.names[name]] = {
                    s: varint(i) for i, s in enumerate(schema["symbols"])
                }
        else:
            name = schema
        if self.kinds[name] == "enum":
            return [f"o += {self.names[name]}[{x}]"]
        call = f"{self.names[name]}({x}, o)"
        return [f"if type({x}) is Body: o += {x}", f"else: {call}"]

    def _collection(self, schema: Schema, x: str, depth: int) -> list[str]:
        inner = f"x{depth}"
        head = [f"if {x}:", f" n = len({x})", " o += SMALL[n] if n < 4096 else varint(n)"]
        if schema["type"] == "array":
            loop = [f" for {inner} in {x}:", *self.value(schema["items"], inner, 2)]
        else:
            key = f"k{depth}"
            loop = [f" for {key}, {inner} in {x}.items():"]
            loop += self.value("string", key, 2) + self.value(schema["values"], inner, 2)
        return [
            *head,
            *loop,
            f"elif {x} is None: raise TypeError('null for a list or map')",
            "o += b'\\0'",
        ]

    def _union(self, schema: list[Any], x: str, depth: int) -> list[str]:
        branches = [(i, b) for i, b in enumerate(schema) if b != "null"]
        if len(branches) == 1:
            ((index, branch),) = branches
            null = varint(schema.index("null"))
            some = ["else:", f" o += {varint(index)!r}", *self.value(branch, x, 1)]
            return [f"if {x} is None: o += {null!r}", *some]
        if schema[0] == "null":
            lines = [f"if {x} is None: o += b'\\0'"]
            for index, branch in branches:
                lines.append(f"elif type({x}) is {_PYTHON[branch]}:")
                lines += [f" o += {varint(index)!r}", *self.value(branch, x, 1)]
            return [*lines, f"else: raise TypeError('no branch for ' + type({x}).__name__)"]
        if schema[0] == "string":
            text = [f"if type({x}) is str:", " o += b'\\0'", *self.value("string", x, 1)]
            records = self._records(branches[1:], x)
            return [*text, "else:", *[" " + line for line in records]]
        return self._records(branches, x)

    def _records(self, branches: list[tuple[int, Any]], x: str) -> list[str]:
        """Return lines that append the records among the branches, each with its index."""
        table = f"BRANCH_{len(self.scope)}"
        branch_of: dict[str, tuple[bytes, str]] = {}
        self.scope[table] = branch_of
        for index, branch in branches:
            self._named(branch, x)
            name = branch if isinstance(branch, str) else f"{branch['namespace']}.{branch['name']}"
            branch_of[name] = (varint(index), self.names[name])
        return [f"b, f = {table}[{x}[0]]", "o += b", f"f({x}[1], o)"]


def compile_encoder(schema: Schema) -> Encode:
    """Compile the encoding function of a self-contained record schema.

    It raises KeyError, TypeError, AttributeError, ValueError or struct.error for a value that the
    schema cannot carry; `codec.encode` wraps these.
    """
    compiler = _Compiler()
    main = compiler.record(schema)
    scope = compiler.scope
    exec(compile("\n".join(compiler.lines), "<avro encoder>", "exec"), scope)
    for name, table in scope.items():
        if name.startswith("BRANCH_"):
            for branch, (index, function) in table.items():
                table[branch] = (index, scope[function])
    encode: Encode = scope[main]
    return encode
