"""Hypothesis strategies: Avro values of any record of the catalogue, and packets of each type."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from schemas import canonical_json
from schemas.apc.mapping import PAYLOADS
from schemas.catalogue import schema_of

Avro = dict[str, Any]

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | NUMBERS | TEXT
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OPEN_JSON = st.dictionaries(TEXT, JSON, max_size=3).map(lambda v: canonical_json(v).decode())
TIMES = st.integers(0, 4_000_000_000_000)


class _Values:
    """Strategies for the types of one self-contained schema."""

    def __init__(self, longs: st.SearchStrategy[int]) -> None:
        self.named: dict[str, st.SearchStrategy[Any]] = dict(PRIMITIVES) | {"long": longs}

    def of(self, schema: Any) -> st.SearchStrategy[Any]:
        if isinstance(schema, list):
            return self.union(schema)
        if isinstance(schema, str):
            return self.named[schema]
        kind = schema["type"]
        if kind == "array":
            return st.lists(self.of(schema["items"]), max_size=2)
        if kind == "map":
            return st.dictionaries(TEXT, self.of(schema["values"]), max_size=2)
        if kind in ("record", "enum"):
            name = f"{schema['namespace']}.{schema['name']}"
            made = self.record(schema) if kind == "record" else st.sampled_from(schema["symbols"])
            self.named[name] = made
            return made
        return TIMES

    def union(self, schema: list[Any]) -> st.SearchStrategy[Any]:
        branches = [branch for branch in schema if branch != "null"]
        if len(branches) == 1:
            return st.none() | self.of(branches[0])
        several = st.one_of([self.branch(branch) for branch in branches])
        return st.none() | several if "null" in schema else several

    def branch(self, schema: Any) -> st.SearchStrategy[Any]:
        made = self.of(schema)
        if schema in ("string", "long"):
            return made
        name = schema if isinstance(schema, str) else f"{schema['namespace']}.{schema['name']}"
        return made.map(lambda value: (name, value))

    def record(self, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries({f["name"]: self.field(f) for f in schema["fields"]})

    def field(self, field: dict[str, Any]) -> st.SearchStrategy[Any]:
        made = self.of(field["type"])
        if not field["name"].endswith("_json"):
            return made
        return OPEN_JSON if field["type"] == "string" else st.none() | OPEN_JSON


PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXT,
    "int": st.integers(-(2**31), 2**31 - 1),
    "double": NUMBERS,
    "boolean": st.booleans(),
    "bytes": st.binary(),
}


LONGS = st.integers(-(2**63), 2**63 - 1)


def values(record: str, longs: st.SearchStrategy[int] = LONGS) -> st.SearchStrategy[Avro]:
    """Any Avro value of the record, doubles finite, `…_json` canonical."""
    made: st.SearchStrategy[Avro] = _Values(longs).of(schema_of(record))
    return made


def _with_matching_payload(packet: Avro) -> Avro:
    """The packet with a type that its payload's branch stands for."""
    branch = packet["payload"][0]
    return {**packet, "packet_type": next(t for t, b in PAYLOADS.items() if b == branch)}


_EXACT = st.integers(-(2**53) + 1, 2**53 - 1)
PACKETS = values("headrace.apc.ApcPacket", _EXACT).map(_with_matching_payload)
"""Packets of all types, their integers within what a JSON number holds exactly."""
