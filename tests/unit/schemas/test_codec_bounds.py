"""A record of few bytes that would be millions of items in memory is no record."""

from __future__ import annotations

import re
import tracemalloc
from typing import Any

import pytest

from schemas import CATALOGUE, Undecodable, decode, decode_many, encode
from schemas.codec import MAX_ITEMS, MAX_SENT_ITEMS, fingerprint_of
from schemas.encoder import varint
from schemas.projection import Projection
from schemas.sources import Schema
from tests.unit.schemas.test_codec import PACKET, example
from topology.apc import APC_EVENTS, APC_PACKETS
from topology.core import RTES_RAW

pytestmark = pytest.mark.usefixtures("each_codec")
OTHER_ITEMS = 9
"""Items of the packet's other lists."""
MARK = "recipient-of-the-marked-place"


def with_recipients(count: int) -> bytes:
    """Return a packet with so many recipients, each a record of empty and missing members."""
    packet = example()
    packet["recipients"] = [dict.fromkeys(packet["recipients"][0]) | {"agent_id": MARK}]
    framed = encode(PACKET, packet)
    before, after = framed.split(varint(1) + varint(len(MARK)) + MARK.encode())
    return before + varint(count) + bytes(3 * count) + after[2:]


def code_of(value: bytes, max_items: int = MAX_ITEMS) -> str | None:
    """Return why a packet is not decoded, None if it is."""
    (result,) = decode_many([value], PACKET, max_items)
    if isinstance(result, Undecodable):
        with pytest.raises(Undecodable, match=re.escape(str(result))):
            decode(value, PACKET, max_items)
        return result.code
    assert decode(value, PACKET, max_items) == result
    return None


def test_a_record_has_as_many_items_as_the_bound_and_no_more() -> None:
    assert code_of(with_recipients(1000), 1000 + OTHER_ITEMS) is None
    assert code_of(with_recipients(1000), 999 + OTHER_ITEMS) == "body_invalid"


def test_items_of_several_blocks_count_together() -> None:
    whole = with_recipients(1000)
    blocks = varint(500) + bytes(1500)
    parted = whole.replace(varint(1000) + bytes(3000), blocks * 2)
    assert len(parted) > len(whole)
    assert code_of(parted, 1000 + OTHER_ITEMS) is None
    assert code_of(parted, 999 + OTHER_ITEMS) == "body_invalid"


def test_records_in_another_framing_or_of_an_earlier_version_are_bounded_alike() -> None:
    fingerprint = fingerprint_of(CATALOGUE.latest(PACKET).schema)
    assert code_of(b"\xc3\x01" + fingerprint + with_recipients(1000)[5:], 999) == "body_invalid"
    earlier = next(e for e in CATALOGUE if e.record == PACKET)
    framed = b"\0" + earlier.id.to_bytes(4, "big") + with_recipients(1000)[5:]
    assert code_of(framed, 999) == "body_invalid"


def test_millions_of_items_take_the_memory_of_the_bound_only() -> None:
    value = with_recipients(3_000_000)
    tracemalloc.start()
    assert code_of(value, 20_000) == "body_invalid"
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * len(value) + (20 << 20)


def test_a_projection_of_few_members_is_bounded_too() -> None:
    value = with_recipients(MAX_ITEMS + 1)
    (result,) = Projection(PACKET, ["recipients"]).many([value])
    assert isinstance(result, Undecodable)


def test_what_clients_send_is_bounded_below_what_contains_it() -> None:
    assert APC_PACKETS.max_items == RTES_RAW.max_items == MAX_SENT_ITEMS
    assert APC_EVENTS.max_items == MAX_ITEMS > 2 * MAX_SENT_ITEMS


@pytest.mark.parametrize("record", CATALOGUE.records())
def test_each_item_takes_a_byte_so_that_short_records_need_no_count(record: str) -> None:
    names = dict[str, Schema]()
    for items in items_in(CATALOGUE.latest(record).schema, names):
        assert least_bytes(items, names) > 0


def items_in(schema: Any, names: dict[str, Schema]) -> list[Any]:
    """Return the schema of the items of each list and map."""
    if isinstance(schema, list):
        return [items for branch in schema for items in items_in(branch, names)]
    if not isinstance(schema, dict):
        return []
    if "name" in schema:
        names[f"{schema['namespace']}.{schema['name']}"] = schema
    if schema["type"] == "record":
        return items_in([field["type"] for field in schema["fields"]], names)
    if schema["type"] == "map":  # a key takes a byte
        return items_in(schema["values"], names)
    if schema["type"] == "array":
        return [schema["items"], *items_in(schema["items"], names)]
    return items_in(schema["type"], names)


def least_bytes(schema: Any, names: dict[str, Schema]) -> int:
    if isinstance(schema, dict) and schema["type"] == "record":
        return sum(least_bytes(field["type"], names) for field in schema["fields"])
    if isinstance(schema, str) and schema in names:
        return least_bytes(names[schema], names)
    return int(schema != "null")
