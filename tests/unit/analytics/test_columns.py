"""Check that the columns have the values of the records, of every schema."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random
from typing import Any

import pytest

from schemas import CATALOGUE, decode, encode
from tests.unit.schemas.random_values import generator

RECORDS = sorted({entry.record for entry in CATALOGUE})


def plain(type: Any) -> Any:
    """Return a type of the same values with numbers for times, and text for JSON."""
    import pyarrow as pa

    if isinstance(type, pa.JsonType):
        return pa.string()
    if pa.types.is_timestamp(type):
        return pa.int64()
    if pa.types.is_struct(type):
        return pa.struct([field.with_type(plain(field.type)) for field in type])
    if pa.types.is_map(type):
        return pa.map_(type.key_type, plain(type.item_type))
    return pa.list_(plain(type.value_type)) if pa.types.is_list(type) else type


def expected(schema: Any, value: Any, named: dict[str, Any]) -> Any:
    """Return what a reader of the file is to see of a value."""
    if isinstance(schema, dict) and schema["type"] in ("record", "enum"):
        named[f"{schema['namespace']}.{schema['name']}"] = schema
    if value is None:
        return None
    if isinstance(schema, str) and schema in named:
        schema = named[schema]
    if isinstance(schema, list):
        branches = [branch for branch in schema if branch != "null"]
        if len(branches) == 1:
            return expected(branches[0], value, named)
        full = [each["name"] if isinstance(each, dict) else str(each) for each in branches]
        names = [name.rpartition(".")[2] for name in full]
        branch = value[0].rpartition(".")[2] if isinstance(value, tuple) else None
        branch = branch or ("string" if isinstance(value, str) else "long")
        inner = value[1] if isinstance(value, tuple) else value
        inner = expected(branches[names.index(branch)], inner, named)
        return {"branch": branch} | {name: inner if name == branch else None for name in names}
    if isinstance(value, dict) and "fields" in schema:
        fields = schema["fields"]
        return {f["name"]: expected(f["type"], value[f["name"]], named) for f in fields}
    if isinstance(value, dict):
        return [(key, expected(schema["values"], each, named)) for key, each in value.items()]
    if isinstance(value, list):
        return [expected(schema["items"], each, named) for each in value]
    return value


def register(schema: Any, named: dict[str, Any]) -> None:
    """Remember the types that a schema spells out."""
    if isinstance(schema, list):
        for each in schema:
            register(each, named)
    elif isinstance(schema, dict):
        if "name" in schema:
            named[f"{schema['namespace']}.{schema['name']}"] = schema
        for each in schema.get("fields", ()):
            register(each["type"], named)
        register(schema.get("items", schema.get("values")), named)


def exact(value: Any) -> Any:
    """Return a value in which equal doubles have equal bits, and NaN is equal to itself."""
    match value:
        case float():
            return struct.pack(">d", value)
        case dict():
            return {name: exact(each) for name, each in value.items()}
        case list() | tuple():
            return [exact(each) for each in value]
        case _:
            return value


@pytest.mark.parametrize("record", RECORDS)
def test_a_file_has_the_values_of_the_records(record: str, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from streams.analytics.columns import ROW_COLUMNS, Columns

    columns = Columns(ROW_COLUMNS, record)
    schema = CATALOGUE.latest(record).schema
    make, chance = generator(schema), Random(record)
    values = [decode(encode(record, make(chance)), record).value for _ in range(8)]
    batch = columns.batch([(("key", 1, 2, 3), value) for value in values])
    pq.write_table(pa.Table.from_batches([batch]), tmp_path / "file.parquet")
    table = pq.read_table(tmp_path / "file.parquet")
    assert table.schema.equals(columns.schema)
    named: dict[str, Any] = {}
    register(schema, named)
    members = pa.Table.from_arrays(
        [table[name].cast(plain(table[name].type)) for name in table.column_names[4:]],
        table.column_names[4:],
    )
    rows = [exact(row) for row in members.to_pylist()]
    assert rows == [exact(expected(schema, value, named)) for value in values]


def test_a_type_that_contains_itself_is_refused() -> None:
    from streams.analytics.columns import TypeMapping

    fields = [{"name": "next", "type": ["null", "x.Node"]}]
    node = {"type": "record", "name": "Node", "namespace": "x", "fields": fields}
    with pytest.raises(ValueError, match=r"x\.Node"):
        TypeMapping().type_of(node)


def test_fields_have_their_documentation_and_the_symbols_of_enums() -> None:
    from streams.analytics.columns import RECORD_COLUMNS, Columns

    schema = Columns(RECORD_COLUMNS, "headrace.apc.ApcPacket").schema
    assert b"INTER_AGENT" in schema.field("channel").metadata[b"symbols"]
    assert schema.field("metadata_json").type.extension_name == "arrow.json"
