"""Arrow columns of Avro records.

The columns of a topic are those of the record on the log (position, time, key, headers), then the
members of its Avro record in the schema's order.  All members may be null: files of an earlier
version have no value for a later member.  Importing this module raises ExtraMissing if the extra
`analytics` is not installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from schemas.catalogue import CATALOGUE
from schemas.sources import documented
from streams.errors import needs_extra

with needs_extra("analytics", "headrace export parquet"):
    import pyarrow as pa

Convert = Callable[[Any], Any]
_JSON_NAME = "_json"
_BRANCH = "branch"


class ArrowType(NamedTuple):
    """The Arrow type of an Avro type.

    convert: makes what pyarrow takes from what the codec gives; None where both are the same.
    """

    type: Any
    convert: Convert | None = None


_PRIMITIVES: Mapping[str, ArrowType] = {
    "string": ArrowType(pa.string()),
    "boolean": ArrowType(pa.bool_()),
    "int": ArrowType(pa.int32()),
    "long": ArrowType(pa.int64()),
    "double": ArrowType(pa.float64()),
    "bytes": ArrowType(pa.binary()),
    "timestamp-millis": ArrowType(pa.timestamp("ms", tz="UTC")),
    "timestamp-micros": ArrowType(pa.timestamp("us", tz="UTC")),
}
_POSITION = (
    pa.field("_partition", pa.int32(), nullable=False),
    pa.field("_offset", pa.int64(), nullable=False),
    pa.field("_timestamp", pa.timestamp("ms", tz="UTC"), nullable=False),
)
_KEY = pa.field("_key", pa.string())
RECORD_COLUMNS = (
    *_POSITION,
    _KEY,
    pa.field("_cause", pa.string()),
    pa.field("_principal", pa.string()),
    pa.field("_trace_id", pa.string()),
)
"""The columns of a record on the log, before the members of its value."""
ROW_COLUMNS = (_KEY, *_POSITION)
"""The columns before the members of a table's row."""


class Columns:
    """The columns of a topic.

    log_columns: RECORD_COLUMNS or ROW_COLUMNS.  record: Avro full name of the value.
    """

    def __init__(self, log_columns: Sequence[Any], record: str) -> None:
        schema = CATALOGUE.latest(record).schema
        self.record = record
        self.avro_schema = json.dumps(schema)
        self._log_columns = tuple(log_columns)
        self._members = TypeMapping().type_of(documented(schema))
        self._storage = _storage_of(self._members.type)
        self.schema = pa.schema([*log_columns, *self._members.type])

    @property
    def with_statistics(self) -> list[str]:
        """Return the columns whose least and greatest values are in the footers."""
        texts = [field.name for field in self.schema if field.type == pa.string()]
        return ["_offset", "_timestamp", *texts]

    def batch(self, rows: Sequence[tuple[Sequence[Any], dict[str, Any] | None]]) -> Any:
        """Return the RecordBatch of rows: the values of the log's columns, and the decoded value.

        A row without value has null members.
        """
        convert = self._members.convert or _same
        columns = [
            pa.array([values[n] for values, _ in rows], type=field.type)
            for n, field in enumerate(self._log_columns)
        ]
        members = [None if value is None else convert(value) for _, value in rows]
        structs = pa.array(members, type=self._storage).cast(self._members.type)
        return pa.RecordBatch.from_arrays([*columns, *structs.flatten()], schema=self.schema)


class TypeMapping:
    """A mapping of the types of one self-contained Avro schema.  Raises ValueError for others."""

    def __init__(self) -> None:
        self._named: dict[str, ArrowType] = {}

    def type_of(self, schema: Any) -> ArrowType:
        """Return the Arrow type of a type; a name is that of a type spelled out before."""
        if isinstance(schema, list):
            return self._union([branch for branch in schema if branch != "null"])
        if isinstance(schema, str):
            return self._simple(schema)
        match schema["type"]:
            case "array":
                return _list_of(self.type_of(schema["items"]))
            case "map":
                return _map_of(self.type_of(schema["values"]))
            case "record":
                return self._remember(schema, self._record(schema["fields"]))
            case "enum":
                return self._remember(schema, _PRIMITIVES["string"])
            case primitive:
                return self._simple(schema.get("logicalType", primitive))

    def _simple(self, name: str) -> ArrowType:
        known = _PRIMITIVES.get(name) or self._named.get(name)
        if known is None:
            raise ValueError(f"no Arrow type for {name}: it is unknown, or contains itself")
        return known

    def _remember(self, schema: Mapping[str, Any], made: ArrowType) -> ArrowType:
        self._named[f"{schema['namespace']}.{schema['name']}"] = made
        return made

    def _record(self, fields: Sequence[Mapping[str, Any]]) -> ArrowType:
        types = {field["name"]: self.type_of(field["type"]) for field in fields}
        converts = {name: each.convert for name, each in types.items() if each.convert}
        struct = pa.struct([_field(field, types[field["name"]].type) for field in fields])

        def convert(value: dict[str, Any]) -> dict[str, Any]:
            changed = dict(value)
            for name, function in converts.items():
                if (member := changed[name]) is not None:
                    changed[name] = function(member)
            return changed

        return ArrowType(struct, convert if converts else None)

    def _union(self, branches: Sequence[Any]) -> ArrowType:
        if len(branches) == 1:
            return self.type_of(branches[0])
        types = {_branch_name(branch): self.type_of(branch) for branch in branches}
        if len(types) < len(branches) or _BRANCH in types:
            raise ValueError(f"two branches of a union have one name: {branches}")
        members = [(name, each.type) for name, each in types.items()]

        def convert(value: Any) -> dict[str, Any]:
            name, inner = _branch_of(value)
            function = types[name].convert
            return {_BRANCH: name, name: function(inner) if function else inner}

        return ArrowType(pa.struct([(_BRANCH, pa.string()), *members]), convert)


def _same(value: Any) -> Any:
    return value


def _or_null(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _list_of(item: ArrowType) -> ArrowType:
    if item.convert is None:
        return ArrowType(pa.list_(item.type))
    convert = _or_null(item.convert)
    return ArrowType(pa.list_(item.type), lambda items: [convert(each) for each in items])


def _map_of(item: ArrowType) -> ArrowType:
    convert = _or_null(item.convert or _same)
    return ArrowType(
        pa.map_(pa.string(), item.type),
        lambda entries: [(key, convert(value)) for key, value in entries.items()],
    )


def _branch_of(value: Any) -> tuple[str, Any]:
    """Return the name of a value's branch, and the value without it."""
    match value:
        case (str() as name, inner):
            return name.rpartition(".")[2], inner
        case str():
            return "string", value
        case int():
            return "long", value
        case _:
            raise ValueError(f"a value of no branch: {type(value).__name__}")


def _branch_name(branch: Any) -> str:
    name = branch if isinstance(branch, str) else branch.get("name", branch["type"])
    return str(name).rpartition(".")[2]


def _field(field: Mapping[str, Any], type: Any) -> Any:
    """Return the Arrow field of a member, with its documentation and the symbols of its enum."""
    metadata = {"doc": field["doc"]} if "doc" in field else {}
    branches = field["type"] if isinstance(field["type"], list) else [field["type"]]
    for branch in branches:
        if isinstance(branch, dict) and branch["type"] == "enum":
            metadata["symbols"] = json.dumps(branch["symbols"])
    is_json = field["name"].endswith(_JSON_NAME) and type == pa.string()
    return pa.field(field["name"], pa.json_() if is_json else type, metadata=metadata or None)


def _storage_of(type: Any) -> Any:
    """Return a type with text in the place of JSON, which pyarrow makes from no Python value."""
    if isinstance(type, pa.JsonType):
        return pa.string()
    if pa.types.is_struct(type):
        return pa.struct([field.with_type(_storage_of(field.type)) for field in type])
    if pa.types.is_map(type):
        return pa.map_(type.key_type, _storage_of(type.item_type))
    return pa.list_(_storage_of(type.value_type)) if pa.types.is_list(type) else type
