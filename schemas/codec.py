"""The codec between bytes on the log and values.  The only module that imports fastavro.

Written: the Confluent wire format, byte 0, four-byte big-endian schema id, Avro binary body.
Read: that, and Avro single-object encoding (C3 01, eight-byte fingerprint).  Values are plain
dicts; a union of several records is `(full name, dict)`; timestamps are ints (ms); enums are str.

Bodies of a record's latest version are handled by functions made from its schema (`native`,
`decoder`, `encoder`): measured on a 1 KB packet, the Python ones take 9 µs to decode and 5 µs to
encode, half and a quarter of fastavro's; the compiled ones a third and a fifth of that.  fastavro
resolves bodies of earlier versions.

Ids are those of the catalogue, and those of a schema registry if one is used.  The codec never
calls the registry itself; it uses the `Ids` passed to `use_ids`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from io import BytesIO
from typing import Any, NamedTuple, Protocol

import fastavro
from fastavro.schema import fingerprint, to_parsing_canonical_form
from fastavro.types import AvroMessage

from schemas.catalogue import CATALOGUE, SchemaEntry
from schemas.decoder import ERRORS, CountedBytes, Decode, compile_decoder
from schemas.encoder import AvroBody, Unencodable
from schemas.native import EncodeFramed, compile_functions
from schemas.sources import Schema

__all__ = [
    "MAX_ITEMS",
    "MAX_SENT_ITEMS",
    "AvroBody",
    "Decoded",
    "Ids",
    "Undecodable",
    "Unencodable",
    "committed_id",
    "decode",
    "decode_many",
    "encode",
    "encode_many",
    "use_ids",
    "written_id",
]

MAX_SENT_ITEMS = 500_000
"""The most items of lists and maps, together, in a record that clients send."""
MAX_ITEMS = 4 * MAX_SENT_ITEMS
"""The most in any other, which may contain what was sent."""
_SINGLE_OBJECT = b"\xc3\x01"


class Decoded(NamedTuple):
    """A decoded record.

    value: in the shape of the record's latest schema.  body: the Avro bytes without framing.
    schema_id: the catalogue's id of the writer's schema.  current: the writer's schema is the
    latest one, so that the body may be spliced into other records (`AvroBody`) unchanged.
    """

    value: dict[str, Any]
    body: bytes
    schema_id: int
    current: bool


class Undecodable(Exception):
    """An error for bytes that are not a record of the expected type.

    code: `null_value`, `frame_unknown`, `schema_unknown`, `record_mismatch` or `body_invalid`.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Ids(Protocol):
    """The schema ids that a schema registry assigned to schemas of the catalogue."""

    def written(self, entry: SchemaEntry) -> int:
        """Return the id that values of this entry are framed with."""

    def committed(self, id: int) -> int | None:
        """Return the catalogue's id of the same schema; None if the catalogue does not have that
        schema.
        """


class _Coder(NamedTuple):
    entry: SchemaEntry
    prefix: bytes
    decode: Decode
    encode: EncodeFramed


_ids: Ids | None = None


def use_ids(ids: Ids | None) -> None:
    """Use these ids for reading and writing in this process; None: only the catalogue's ids."""
    global _ids
    _ids = ids
    _writer.cache_clear()


def written_id(record: str) -> int:
    """Return the id that values of this record are framed with."""
    return int.from_bytes(_writer(record).prefix[1:], "big")


@cache
def _writer(record: str) -> _Coder:
    coder = _coder(record)
    return coder if _ids is None else coder._replace(prefix=_prefix(_ids.written(coder.entry)))


@cache
def _coder(record: str) -> _Coder:
    return _coder_of(CATALOGUE.id_of(record))


@cache
def _coder_of(id: int) -> _Coder:
    entry = CATALOGUE.entry(id)
    encode, decode = compile_functions(entry.schema)
    return _Coder(entry, _prefix(id), decode, encode)


@cache
def _counting_decoder(id: int) -> Decode:
    return compile_decoder(CATALOGUE.entry(id).schema, counted=True)


def _prefix(id: int) -> bytes:
    return b"\x00" + id.to_bytes(4, "big")


@cache
def _parsed(id: int) -> Any:
    return fastavro.parse_schema(_without_logical_types(CATALOGUE.entry(id).schema))


@cache
def _ids_by_fingerprint() -> dict[bytes, int]:
    return {fingerprint_of(entry.schema): entry.id for entry in CATALOGUE}


def fingerprint_of(schema: Schema) -> bytes:
    """Return the CRC-64-AVRO fingerprint of a schema, as single-object encoding writes it."""
    return bytes.fromhex(fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO"))


def committed_id(schema: Any) -> int | None:
    """Return the id of the catalogue's schema that decodes the same bytes; None if there is none.

    schema: JSON, as a registry returns it; documentation, defaults and member order are ignored.
    """
    try:
        return _ids_by_fingerprint().get(fingerprint_of(schema))
    except Exception:  # what is no schema raises this or that
        return None


def _without_logical_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_logical_types(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    if "logicalType" in schema:
        return schema["type"]
    return {
        name: _without_logical_types(part)
        if name in ("type", "items", "values", "fields")
        else part
        for name, part in schema.items()
    }


def _frame(value: bytes) -> tuple[int, bytes]:
    """Return the writer's schema id and the body of a framed record."""
    if value[:1] == b"\x00" and len(value) >= 5:
        id = int.from_bytes(value[1:5], "big")
        committed = id if id in CATALOGUE or _ids is None else _ids.committed(id)
        if committed is None or committed not in CATALOGUE:
            raise Undecodable("schema_unknown", f"Schema id {id} is not in the catalogue.")
        return committed, value[5:]
    if value[:2] == _SINGLE_OBJECT and len(value) >= 10:
        known = _ids_by_fingerprint().get(value[2:10])
        if known is None:
            raise Undecodable(
                "schema_unknown", f"Schema fingerprint {value[2:10].hex()} is not in the catalogue."
            )
        return known, value[10:]
    raise Undecodable("frame_unknown", "The value is in no framing of Avro that is known here.")


def decode(value: bytes | None, record: str, max_items: int = MAX_ITEMS) -> Decoded:
    """Decode a framed record of the given type.

    max_items: of all its lists and maps.  Raises Undecodable, and nothing else.
    """
    if value is None:
        raise Undecodable("null_value", "The record has no value.")
    id, body = _frame(value)
    coder = _coder(record)
    if id == coder.entry.id:
        return Decoded(_read_current(coder, body, max_items), body, id, True)
    entry = CATALOGUE.entry(id)
    if entry.record != record:
        raise Undecodable("record_mismatch", f"The value is a {entry.record}, not a {record}.")
    return Decoded(_read_earlier(entry, coder.entry, body, max_items), body, id, False)


def _read_current(coder: _Coder, body: bytes, max_items: int) -> dict[str, Any]:
    try:
        if len(body) <= max_items:  # an item takes a byte at least
            value, end = coder.decode(body, 0)
        else:
            counted = CountedBytes(body)
            counted.max_items = max_items
            value, end = _counting_decoder(coder.entry.id)(counted, 0)
    except ERRORS as exc:
        raise Undecodable("body_invalid", f"The body is no {coder.entry.record}: {exc}.") from exc
    if end != len(body):
        raise Undecodable(
            "body_invalid", f"The body of {len(body)} bytes does not end where its record ends."
        )
    return value


def _read_earlier(
    writer: SchemaEntry, latest: SchemaEntry, body: bytes, max_items: int
) -> dict[str, Any]:
    """Resolve a body of an earlier version to the latest version by Avro's rules."""
    _read_current(_coder_of(writer.id), body, max_items)
    resolved: AvroMessage = fastavro.schemaless_reader(
        BytesIO(body),
        _parsed(writer.id),
        _parsed(latest.id),
        return_record_name=True,
        return_record_name_override=True,
    )
    value: dict[str, Any] = _plain_enums(resolved)
    return value


def _plain_enums(value: Any) -> Any:
    """Replace the (name, symbol) pairs of nullable enums by their symbols.

    fastavro returns the branch of a nullable enum as a pair, as it does for records.
    """
    if isinstance(value, dict):
        return {name: _plain_enums(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain_enums(item) for item in value]
    if isinstance(value, tuple):
        name, inner = value
        return inner if isinstance(inner, str) else (name, _plain_enums(inner))
    return value


def decode_many(
    values: Sequence[bytes | None], record: str, max_items: int = MAX_ITEMS
) -> list[Decoded | Undecodable]:
    """Decode each value; a value that `decode` raises Undecodable for yields the exception
    instead.
    """
    coder = _coder(record)
    prefix, read, id = coder.prefix, coder.decode, coder.entry.id
    results: list[Decoded | Undecodable] = []
    for value in values:
        try:
            if value is not None and value[:5] == prefix and len(value) <= max_items:
                body = value[5:]
                decoded, end = read(body, 0)
                if end == len(body):
                    results.append(Decoded(decoded, body, id, True))
                    continue
            results.append(decode(value, record, max_items))
        except Undecodable as exc:
            results.append(exc.with_traceback(None))  # whose frames hold these very results
        except ERRORS as exc:
            results.append(Undecodable("body_invalid", f"The body is no {record}: {exc}."))
    return results


def encode(record: str, value: dict[str, Any]) -> bytes:
    """Encode and frame a value with the record's latest schema.

    A field that is a record may be passed as `AvroBody`.  Raises Unencodable.
    """
    coder = _writer(record)
    try:
        return coder.encode(coder.prefix, value)
    except (*ERRORS, TypeError, AttributeError) as exc:
        raise Unencodable(f"{record}: {type(exc).__name__}: {exc}") from exc


def encode_many(record: str, values: Sequence[dict[str, Any]]) -> list[bytes]:
    """Encode each value with `encode`."""
    return [encode(record, value) for value in values]
