"""The conversion of a JSON form to its Avro value, the inverse of `json_form`, for ingress.

It is meant to run after validation.  A value that Avro cannot carry raises ShapeError with the rule
that the protocol's validation has for it, so that an ingress without validation can still answer.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64decode
from collections.abc import Callable
from functools import cache
from typing import Any

from schemas.canonical import MAX_SAFE_INTEGER, canonical_json
from schemas.catalogue import schema_of
from schemas.formats import parse_ms, parse_us
from schemas.json_mapping.json_form import JsonObject, UnparsableJson
from schemas.json_mapping.lookup import mapping_of
from schemas.json_mapping.mapping import EXTRA, ShapeViolation
from schemas.problems import ShapeError
from schemas.sources import Schema

Branch = tuple[str, JsonObject]
"""What a union of records holds: the full name of the record, and its value."""

_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_ABSENT = object()
_BITS = {"int": 31, "long": 63}


def from_json(record: str, value: Any) -> dict[str, Any]:
    """Return the Avro value of a record's JSON form.

    Integral numbers become integers where the field is one; `x` becomes `x_json`, canonical; the
    discriminator or `type` selects the record in a union; ISO times become ms, or µs.  Ids are left
    unchanged.  Raises ShapeError.
    """
    result: dict[str, Any] = _Reader(record).record(schema_of(record), value, "")
    return result


@cache
def _named_types(record: str) -> dict[str, Schema]:
    """Return the named types of a record's schema, by full name."""
    types: dict[str, Schema] = {}
    _collect(schema_of(record), types)
    return types


def _collect(schema: Any, types: dict[str, Schema]) -> None:
    if isinstance(schema, list):
        for branch in schema:
            _collect(branch, types)
    elif isinstance(schema, dict):
        if "namespace" in schema:
            types[f"{schema['namespace']}.{schema['name']}"] = schema
        for field in schema.get("fields", ()):
            _collect(field["type"], types)
        _collect(schema.get("items"), types)
        _collect(schema.get("values"), types)


_LONG_INTEGER = re.compile(r"[0-9]{16}")


def _has_large_double(value: Any) -> bool:
    """Return whether a value has a double that is spelled as an integer beyond the safe ones."""
    if isinstance(value, dict):
        return any(map(_has_large_double, value.values()))
    if isinstance(value, list):
        return any(map(_has_large_double, value))
    return isinstance(value, float) and abs(value) > MAX_SAFE_INTEGER


def _double_text(value: Any) -> str:
    """Write sorted JSON in which a double without fraction keeps its point or exponent.

    RFC 8785 writes 1e20 as an integer, and reading an integer of that size is not I-JSON.
    """
    shortened = _shorten_doubles(value)
    return json.dumps(shortened, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _shorten_doubles(value: Any) -> Any:
    """Replace the doubles without fraction that are safe integers by integers, as RFC 8785 does."""
    if isinstance(value, dict):
        return {name: _shorten_doubles(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_shorten_doubles(item) for item in value]
    whole = isinstance(value, float) and value.is_integer() and abs(value) <= MAX_SAFE_INTEGER
    return int(value) if whole else value


class _Reader:
    def __init__(self, record: str) -> None:
        self.named = _named_types(record)
        self.mapping = mapping_of(record)
        self.codes = self.mapping.codes_of.get(record, self.mapping.codes)

    def fail(
        self, violation: ShapeViolation, path: str, message: str, enum: str = ""
    ) -> ShapeError:
        """Make the error for a violation.

        enum: the full name of the enum that does not have the symbol.
        """
        name = path.rpartition("/")[2] or "The value"
        return ShapeError(self.codes.code(violation, path, enum), path, f"{name} {message}.")

    def value(self, schema: Any, value: Any, path: str) -> Any:
        if isinstance(schema, list):
            if value is None and "null" in schema:
                return None
            branches = [branch for branch in schema if branch != "null"]
            text = "string" in branches and isinstance(value, str)
            return self.value("string" if text else branches[0], value, path)
        if isinstance(schema, str):
            schema = self.named.get(schema, schema)
        kind = schema["type"] if isinstance(schema, dict) else schema
        return _KINDS[kind](self, schema, value, path)

    def record(self, schema: Schema, value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.fail("member_type" if path else "root_type", path, "must be an object")
        mapping, name = self.mapping, f"{schema['namespace']}.{schema['name']}"
        null_is_value = mapping.open.strict and name in mapping.sparse
        remaining = dict(value)
        result = {}
        extra = False
        for field in schema["fields"]:
            avro_name = field["name"]
            if avro_name == EXTRA:
                extra = True
                continue
            opened = mapping.json_name(avro_name)
            member_name = opened or avro_name
            member = remaining.pop(member_name, _ABSENT)
            if member is None and mapping.null_is_absent and "default" not in field:
                member = _ABSENT
            if member is _ABSENT:
                if "default" not in field:
                    raise self.fail("member_missing", f"{path}/{member_name}", "is missing")
                result[avro_name] = field["default"]
            elif member is None and member_name != avro_name and null_is_value:
                result[avro_name] = "null"
            else:
                member_path = f"{path}/{member_name}"
                result[avro_name] = self.member(name, field, member, value, member_path)
        self.drop_type_members(name, remaining)
        if extra:
            result[EXTRA] = self.text_of(remaining, path) if remaining else None
        elif remaining:
            raise self.unknown(remaining, path)
        return result

    def drop_type_members(self, name: str, remaining: dict[str, Any]) -> None:
        """Remove the members that only name the record's type or the branch of its union."""
        if name in self.mapping.tags:
            remaining.pop("type", None)
        if name in self.mapping.discriminating:
            remaining.pop(self.mapping.discriminating[name], None)

    def unknown(self, remaining: dict[str, Any], path: str) -> ShapeError:
        escaped = min(remaining).replace("~", "~0").replace("/", "~1")
        return self.fail("member_unknown", f"{path}/{escaped}", "is no member of this object")

    def member(self, record: str, field: Schema, member: Any, owner: JsonObject, path: str) -> Any:
        schema = field["type"]
        if isinstance(schema, list) and "null" not in schema:
            return self.branch(record, owner, member, path)
        nullable = isinstance(schema, list) and member is None
        if not nullable and self.mapping.json_name(field["name"]):
            return self.text_of(member, path)
        return self.value(schema, member, path)

    def text_of(self, member: Any, path: str) -> str:
        """Return the text of open JSON, as the mapping's `OpenJson` prescribes."""
        open_json = self.mapping.open
        if isinstance(member, str) and (not open_json.quoted or isinstance(member, UnparsableJson)):
            return str(self.string("string", member, path))
        try:
            text = canonical_json(member).decode()
            long = open_json.pointed and _LONG_INTEGER.search(text)
            return _double_text(member) if long and _has_large_double(member) else text
        except ValueError as exc:
            raise self.fail("json_invalid", path, f"is no I-JSON: {exc}") from exc

    def branch(self, name: str, owner: JsonObject, member: Any, path: str) -> Branch:
        discriminator = self.mapping.discriminators.get(name)
        if discriminator is None:
            return self.tagged(member, path)
        pointer = f"{path.rpartition('/')[0]}/{discriminator.member}"
        if discriminator.member not in owner:
            raise self.fail("member_missing", pointer, "is missing")
        record = discriminator.records.get(str(owner[discriminator.member]))
        if record is None:
            raise self.fail("branch_unknown", pointer, discriminator.unknown)
        return record, self.record(self.named[record], member, path)

    def tagged(self, member: Any, path: str) -> Branch:
        """Return the record that the object's member `type` names, and its value."""
        if not isinstance(member, dict):
            raise self.fail("member_type", path, "must be an object")
        if "type" not in member:
            raise self.fail("member_missing", f"{path}/type", "is missing")
        record = self.mapping.tagged.get(str(member["type"]))
        if record is None or record not in self.named:
            raise self.fail("type_unknown", f"{path}/type", "is no type that is known here")
        return record, self.record(self.named[record], member, path)

    def array(self, schema: Schema, value: Any, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise self.fail("member_type", path, "must be an array")
        items = schema["items"]
        if isinstance(items, list):
            return [self.item(items, item, f"{path}/{i}") for i, item in enumerate(value)]
        return [self.value(items, item, f"{path}/{i}") for i, item in enumerate(value)]

    def item(self, union: list[Any], value: Any, path: str) -> Any:
        if "string" in union and isinstance(value, str):
            return self.string("string", value, path)
        return self.tagged(value, path)

    def map(self, schema: Schema, value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.fail("member_type", path, "must be an object")
        return {
            name: self.value(schema["values"], member, f"{path}/{name}")
            for name, member in value.items()
        }

    def enum(self, schema: Schema, value: Any, path: str) -> str:
        if not isinstance(value, str):
            raise self.fail("member_type", path, "must be a string")
        if value not in schema["symbols"]:
            symbols = ", ".join(schema["symbols"])
            name = f"{schema['namespace']}.{schema['name']}"
            raise self.fail("enum_value", path, f"is not one of {symbols}", name)
        return value

    def string(self, schema: Any, value: Any, path: str) -> str:
        if not isinstance(value, str):
            raise self.fail("member_type", path, "must be a string")
        try:
            value.encode()
        except UnicodeEncodeError as exc:
            raise self.fail("lone_surrogate", path, "has a lone surrogate") from exc
        return value

    def bytes(self, schema: Any, value: Any, path: str) -> bytes:
        text = self.string(schema, value, path)
        try:
            return b64decode(text, validate=True)
        except ValueError as exc:
            raise self.fail("member_type", path, "must be base64") from exc

    def boolean(self, schema: Any, value: Any, path: str) -> bool:
        if not isinstance(value, bool):
            raise self.fail("member_type", path, "must be a boolean")
        return value

    def double(self, schema: Any, value: Any, path: str) -> float:
        if isinstance(value, str) and value in _SPECIAL:
            return _SPECIAL[value]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.fail("member_type", path, "must be a number")
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf

    def integer(self, schema: Any, value: Any, path: str) -> int:
        if isinstance(schema, dict) and isinstance(value, str):
            micros = schema.get("logicalType") == "timestamp-micros"
            moment = parse_us(value) if micros else parse_ms(value)
            if moment is None:
                raise self.fail("format_time", path, "must be a date-time")
            return moment
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.fail("member_type", path, "must be an integer")
        bits = _BITS[schema["type"] if isinstance(schema, dict) else schema]
        if not -(1 << bits) <= value < 1 << bits:
            raise self.fail("number_range", path, f"does not fit {bits + 1} bits")
        return value


_KINDS: dict[str, Callable[[_Reader, Any, Any, str], Any]] = {
    "record": _Reader.record,
    "array": _Reader.array,
    "map": _Reader.map,
    "enum": _Reader.enum,
    "string": _Reader.string,
    "bytes": _Reader.bytes,
    "boolean": _Reader.boolean,
    "double": _Reader.double,
    "int": _Reader.integer,
    "long": _Reader.integer,
}
