from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import CATALOGUE, Undecodable, decode, encode, from_json
from schemas.codec import fingerprint_of
from schemas.projection import Projection
from tests.examples import example_count
from tests.unit.schemas import examples
from tests.unit.schemas.strategies import values

EVENT = "headrace.apc.ApcEvent"
PACKET = "headrace.apc.ApcPacket"


def _steps(schema: Any, known: dict[str, Any], depth: int = 3) -> Iterator[tuple[str, ...]]:
    """Every path into a schema, down to some depth."""
    if isinstance(schema, str):
        schema = known.get(schema, schema)
    if isinstance(schema, list):
        branches = [each for each in schema if isinstance(each, dict) or each in known]
        for branch in branches:
            name = known.get(branch, branch) if isinstance(branch, str) else branch
            first = (name["name"],) if len(branches) > 1 else ()
            if first:
                yield first
            yield from ((*first, *tail) for tail in _steps(branch, known, depth - len(first)))
    elif isinstance(schema, dict) and schema.get("type") == "record" and depth > 0:
        for field in schema["fields"]:
            yield (field["name"],)
            for tail in _steps(field["type"], known, depth - 1):
                yield field["name"], *tail


def _named(schema: Any, by_name: dict[str, Any]) -> dict[str, Any]:
    if isinstance(schema, list):
        for branch in schema:
            _named(branch, by_name)
    elif isinstance(schema, dict):
        if "name" in schema:
            by_name[f"{schema['namespace']}.{schema['name']}"] = schema
        for inner in (schema.get("items"), schema.get("values"), schema.get("type")):
            _named(inner, by_name)
        for field in schema.get("fields", ()):
            _named(field["type"], by_name)
    return by_name


def paths_of(record: str) -> list[str]:
    schema = CATALOGUE.latest(record).schema
    return ["/".join(steps) for steps in _steps(schema, _named(schema, {}))]


def picked(value: Any, paths: list[tuple[str, ...]]) -> Any:
    """What a projection is to give, from the whole value."""
    if value is None or () in paths:
        return value
    if isinstance(value, tuple):
        name, inner = value
        short = name.rpartition(".")[2]
        inner_paths = [path[1:] for path in paths if path[0] == short]
        return name, picked(inner, inner_paths) if inner_paths else {}
    first = dict.fromkeys(path[0] for path in paths)
    return {
        name: picked(value[name], [path[1:] for path in paths if path[0] == name]) for name in first
    }


@pytest.mark.parametrize("record", CATALOGUE.records())
def test_it_gives_what_the_decoder_gives_of_these_members(record: str) -> None:
    every = paths_of(record)

    @settings(max_examples=example_count(40), deadline=None)
    @given(values(record), st.lists(st.sampled_from(every), min_size=1, max_size=6, unique=True))
    def check(value: dict[str, Any], paths: list[str]) -> None:
        steps = [tuple(path.split("/")) for path in paths]
        whole = [step for step in steps if not any(step[:n] in steps for n in range(1, len(step)))]
        projection = Projection(record, ["/".join(step) for step in whole])
        framed = encode(record, value)
        assert projection.of(framed) == picked(decode(framed, record).value, whole)

    check()


@settings(deadline=None)
@given(st.integers(0), st.integers(0, 255), st.sampled_from(sorted(examples.valid("apc"))))
def test_bytes_that_decode_are_read_and_others_are_read_or_refused(
    at: int, byte: int, name: str
) -> None:
    framed = bytearray(encode(PACKET, from_json(PACKET, examples.valid("apc")[name])))
    framed[at % len(framed)] = byte
    (projection,) = _SOME.many([bytes(framed)])
    try:
        value = decode(bytes(framed), PACKET).value
    except Undecodable:
        return
    assert projection == {"packet_id": value["packet_id"], "metadata_json": value["metadata_json"]}


_SOME = Projection(PACKET, ("packet_id", "metadata_json"))


@pytest.mark.parametrize(
    "value", [None, b"", b"{}", b"\0\0\0\0\7x", b"\0" + CATALOGUE.id_of(PACKET).to_bytes(4, "big")]
)
def test_what_is_no_record_is_refused_as_the_decoder_refuses_it(value: bytes | None) -> None:
    with pytest.raises(Undecodable) as expected:
        decode(value, PACKET)
    with pytest.raises(Undecodable) as caught:
        _SOME.of(value)
    assert caught.value.code == expected.value.code


def test_another_framing_is_read_too() -> None:
    value = from_json(PACKET, examples.valid("apc")["idea"])
    body = encode(PACKET, value)[5:]
    single = b"\xc3\x01" + fingerprint_of(CATALOGUE.latest(PACKET).schema) + body
    assert _SOME.of(single)["packet_id"] == value["packet_id"]


def test_a_member_that_no_record_has_is_an_error() -> None:
    with pytest.raises(KeyError, match="colour"):
        Projection(EVENT, ("packet/colour",))
