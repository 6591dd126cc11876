"""Values of earlier versions are read in the shape of the latest one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from schemas import codec
from schemas.catalogue import Catalogue, SchemaEntry

pytestmark = pytest.mark.usefixtures("each_codec")
COLOUR = {"type": "enum", "name": "Colour", "namespace": "t", "symbols": ["red", "green"]}
ONE = {"type": "record", "name": "One", "namespace": "t", "fields": []}
TWO = {
    "type": "record",
    "name": "Two",
    "namespace": "t",
    "fields": [{"name": "c", "type": ["null", "t.Colour"], "default": None}],
}


def version(*fields: tuple[str, Any, Any]) -> dict[str, Any]:
    shape = [{"name": name, "type": type, "default": default} for name, type, default in fields]
    return {"type": "record", "name": "Row", "namespace": "t", "fields": shape}


OLD = version(
    ("gone", "string", ""),
    ("first", ["null", COLOUR], None),
    ("second", ["null", "t.Colour"], None),
    ("part", [ONE, TWO], {}),
    ("when", {"type": "long", "logicalType": "timestamp-millis"}, 0),
)
NEW = version(
    ("first", ["null", COLOUR], None),
    ("second", ["null", "t.Colour"], None),
    ("part", [ONE, TWO], {}),
    ("when", {"type": "long", "logicalType": "timestamp-millis"}, 0),
    ("added", "string", "default"),
)


@pytest.fixture(autouse=True)
def _two_versions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    entries = [SchemaEntry(1, "t.Row", 1, OLD), SchemaEntry(2, "t.Row", 2, NEW)]
    caches = (codec._coder, codec._coder_of, codec._parsed, codec._ids_by_fingerprint)
    monkeypatch.setattr(codec, "CATALOGUE", Catalogue(entries))
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


def written(**members: Any) -> bytes:
    value = {"gone": "x", "first": "green", "second": "red", "part": ("t.One", {}), "when": 7}
    return codec._coder_of(1).encode(b"", value | members)


@pytest.mark.parametrize("part", [("t.One", {}), ("t.Two", {"c": "green"})])
def test_an_earlier_version_is_resolved_to_the_latest(part: Any) -> None:
    body = written(part=part)
    expected = {"first": "green", "second": "red", "part": part, "when": 7, "added": "default"}
    fingerprint = codec.fingerprint_of(OLD)
    for framed in (b"\x00\x00\x00\x00\x01" + body, b"\xc3\x01" + fingerprint + body):
        assert codec.decode(framed, "t.Row") == (expected, body, 1, False)
        assert codec.decode_many([framed], "t.Row") == [(expected, body, 1, False)]


def test_the_latest_version_is_written() -> None:
    value = codec.decode(b"\x00\x00\x00\x00\x01" + written(), "t.Row").value
    framed = codec.encode("t.Row", value)
    assert framed[:5] == b"\x00\x00\x00\x00\x02"
    assert codec.decode(framed, "t.Row").value == value


def test_a_broken_body_of_an_earlier_version_is_undecodable() -> None:
    with pytest.raises(codec.Undecodable) as caught:
        codec.decode(b"\x00\x00\x00\x00\x01" + written() + b"\x00", "t.Row")
    assert caught.value.code == "body_invalid"
