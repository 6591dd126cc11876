"""The Avro value of a JSON form: the way back of `json_form`, for the edges.

Meant to be used after validation.  What Avro cannot carry raises ShapeError with the rule that the
protocol's validation has for it, so that an edge that skipped validation can still answer.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from schemas.branches import (
    ASAP,
    ASAP_ENVELOPE,
    ASAP_PAYLOADS,
    EXTRA,
    PAYLOADS,
    SUMMIT,
    SUMMIT_OBJECTS,
    SUMMIT_PARAMS,
    TAGS,
    json_name,
)
from schemas.canonical import MAX_SAFE_INTEGER, canonical_json
from schemas.catalogue import schema_of
from schemas.formats import parse_ms, parse_us
from schemas.json_form import Unread
from schemas.problems import ShapeError
from schemas.sources import Schema

_RECORDS = {word: record for record, word in TAGS.items()}
_ASAP_PAYLOADS = frozenset(ASAP_PAYLOADS.values())
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_SAOP = ("headrace.rtes.RtesEvent", "headrace.saop.SaopTurn", "headrace.saop.SaopRewind")
_SAOP_RULES = {
    "headrace.saop.AgentId": "agent_unknown",
    "headrace.saop.Complexity": "complexity_unknown",
    "headrace.rtes.ToolStatus": "status_unknown",
}
_SAP_RULES = {
    "member_type": "bad_type",
    "member_missing": "missing_field",
    "json_invalid": "bad_json",
    "number_range": "out_of_range",
    "format_time": "bad_timestamp",
}
_ASAP_RULES = {
    "json_invalid": "bad_json",
    "payload_type": "unknown_payload_type",
}
_SUMMIT_RULES = {
    "SummitCall": "params.shape",
    "SummitReply": "reply.shape",
    "SummitManifest": "manifest.shape",
}
_BITS = {"int": 31, "long": 63}


def from_json(record: str, value: Any) -> dict[str, Any]:
    """The Avro value of a record's JSON form.

    Integral numbers become integers where the field is one; `x` becomes `x_json`, canonical; the
    branch of a payload is told by `packet_type`, `payload_type` or `type`; ISO times become ms, or
    µs.  Ids are left as they are.  Raises ShapeError.
    """
    result: dict[str, Any] = _Reader(record).record(schema_of(record), value, "")
    return result


@cache
def _named(record: str) -> dict[str, Schema]:
    """The named types of a record's schema, by full name."""
    found: dict[str, Schema] = {}
    _collect(schema_of(record), found)
    return found


def _collect(schema: Any, found: dict[str, Schema]) -> None:
    if isinstance(schema, list):
        for branch in schema:
            _collect(branch, found)
    elif isinstance(schema, dict):
        if "namespace" in schema:
            found[f"{schema['namespace']}.{schema['name']}"] = schema
        for field in schema.get("fields", ()):
            _collect(field["type"], found)
        _collect(schema.get("items"), found)
        _collect(schema.get("values"), found)


_LONG_INTEGER = re.compile(r"[0-9]{16}")


def _has_large_double(value: Any) -> bool:
    """Whether a double in a JSON value has a canonical spelling beyond the safe integers."""
    if isinstance(value, dict):
        return any(map(_has_large_double, value.values()))
    if isinstance(value, list):
        return any(map(_has_large_double, value))
    return isinstance(value, float) and abs(value) > MAX_SAFE_INTEGER


def _double_text(value: Any) -> str:
    """Sorted JSON in which a double without fraction keeps its point or exponent.

    RFC 8785 writes 1e20 as an integer, and an integer of that size is not I-JSON when it is read.
    """
    shown = _short(value)
    return json.dumps(shown, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _short(value: Any) -> Any:
    """With the other doubles without fraction as integers, as RFC 8785 has them."""
    if isinstance(value, dict):
        return {name: _short(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_short(item) for item in value]
    whole = isinstance(value, float) and value.is_integer() and abs(value) <= MAX_SAFE_INTEGER
    return int(value) if whole else value


class _Reader:
    def __init__(self, record: str) -> None:
        self.named = _named(record)
        self.saop = record in _SAOP
        self.sap = record.startswith("headrace.sap.")
        self.asap = record.startswith(ASAP)
        self.summit = record.startswith(SUMMIT)
        self.shape = _SUMMIT_RULES.get(record.removeprefix(SUMMIT))

    def fail(self, rule: str, path: str, message: str, saop: str = "schema_invalid") -> ShapeError:
        """saop: the rule that a turn, an event or a rewind breaks instead."""
        name = path.rpartition("/")[2] or "The value"
        if self.sap:
            return ShapeError(_SAP_RULES.get(rule, rule), path, f"{name} {message}.")
        if self.asap:
            whole = "bad_payload" if path.startswith("/payload/") else "malformed_envelope"
            return ShapeError(_ASAP_RULES.get(rule, whole), path, f"{name} {message}.")
        if self.shape:
            told = "json.invalid" if rule == "json_invalid" else self.shape
            return ShapeError(told, path, f"{name} {message}.")
        return ShapeError(saop if self.saop else rule, path, f"{name} {message}.")

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
            whole = "member_type" if path or self.sap or self.asap else "json_invalid"
            raise self.fail(whole, path, "must be an object")
        name = f"{schema['namespace']}.{schema['name']}"
        rest = dict(value)
        if name in TAGS:
            rest.pop("type", None)
        if name == ASAP_ENVELOPE or name in _ASAP_PAYLOADS:
            rest.pop("payload_type", None)
        result = {}
        for field in schema["fields"]:
            if field["name"] == EXTRA:
                continue
            shown = json_name(field["name"]) or field["name"]
            place = f"{path}/{shown}"
            if shown not in rest or (self.sap and rest[shown] is None and "default" not in field):
                if "default" not in field:
                    raise self.fail("member_missing", place, "is missing")
                result[field["name"]] = field["default"]
                continue
            member = rest.pop(shown)
            if member is None and shown != field["name"] and name in SUMMIT_OBJECTS:
                result[field["name"]] = "null"  # a value like any other
                continue
            result[field["name"]] = self.member(field, member, value, place)
        if any(field["name"] == EXTRA for field in schema["fields"]):
            result[EXTRA] = self.text_of(rest, path) if rest else None
        elif rest:
            unknown = min(rest)
            escaped = unknown.replace("~", "~0").replace("/", "~1")
            raise self.fail("member_unknown", f"{path}/{escaped}", "is no member of this object")
        return result

    def member(self, field: Schema, member: Any, owner: dict[str, Any], path: str) -> Any:
        schema = field["type"]
        if isinstance(schema, list) and "null" not in schema:
            return self.branch(owner, member, path)
        nullable = isinstance(schema, list) and member is None
        if json_name(field["name"]) and not nullable:
            return self.text_of(member, path)
        return self.value(schema, member, path)

    def text_of(self, member: Any, path: str) -> str:
        """Open JSON as text; a string stands for itself, as `json_form.open_json` shows it.

        In SAP and Summit a string is a JSON value like any other.
        """
        other = self.sap or (self.summit and not isinstance(member, Unread))
        if isinstance(member, str) and not other:
            return str(self.string("string", member, path))
        try:
            text = canonical_json(member).decode()
            long = (self.sap or self.asap) and _LONG_INTEGER.search(text)
            return _double_text(member) if long and _has_large_double(member) else text
        except ValueError as exc:
            raise self.fail("json_invalid", path, f"is no I-JSON: {exc}") from exc

    def branch(self, owner: dict[str, Any], member: Any, path: str) -> tuple[str, dict[str, Any]]:
        if "packet_type" in owner:
            record = PAYLOADS.get(str(owner["packet_type"]))
            if record is None:
                raise self.fail("enum_value", "/packet_type", "is no packet type")
        elif "payload_type" in owner:
            record = ASAP_PAYLOADS.get(str(owner["payload_type"]))
            if record is None:
                raise self.fail("payload_type", "/payload_type", "is no payload type")
        elif self.summit:
            record = SUMMIT_PARAMS.get(str(owner.get("method")))
            if record is None:
                raise ShapeError("rpc.method", "/method", "method is none of those logged.")
        else:
            record = self.typed(member, path)
        return record, self.record(self.named[record], member, path)

    def typed(self, member: Any, path: str) -> str:
        """The record that the member `type` of an object names."""
        if not isinstance(member, dict):
            raise self.fail("member_type", path, "must be an object")
        if "type" not in member:
            raise self.fail("member_missing", f"{path}/type", "is missing")
        record = _RECORDS.get(str(member["type"]))
        if record is None or record not in self.named:
            broken = "is no type that is known here"
            raise self.fail("enum_value", f"{path}/type", broken, "event_type_unknown")
        return record

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
        return self.branch({}, value, path)

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
            rule = _SAOP_RULES.get(f"{schema['namespace']}.{schema['name']}", "schema_invalid")
            words = ", ".join(schema["symbols"])
            raise self.fail("enum_value", path, f"is not one of {words}", rule)
        return value

    def string(self, schema: Any, value: Any, path: str) -> str:
        if not isinstance(value, str):
            raise self.fail("member_type", path, "must be a string")
        try:
            value.encode()
        except UnicodeEncodeError as exc:
            broken = "has a lone surrogate"
            raise self.fail("json_invalid", path, broken, "text_invalid") from exc
        return value

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
    "boolean": _Reader.boolean,
    "double": _Reader.double,
    "int": _Reader.integer,
    "long": _Reader.integer,
}
