from __future__ import annotations

from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import (
    CATALOGUE,
    AvroBody,
    Decoded,
    Undecodable,
    Unencodable,
    decode,
    decode_many,
    encode,
    encode_many,
    from_json,
)
from schemas.codec import fingerprint_of
from schemas.encoder import varint
from tests.unit.schemas import examples
from tests.unit.schemas.strategies import values

PACKET = "headrace.apc.ApcPacket"
EVENT = "headrace.apc.ApcEvent"
RECORDS = CATALOGUE.records()
pytestmark = pytest.mark.usefixtures("each_codec")


def example(name: str = "idea") -> dict[str, Any]:
    return from_json(PACKET, examples.valid("apc")[name])


def code_of(value: bytes | None, record: str = PACKET) -> str:
    with pytest.raises(Undecodable) as caught:
        decode(value, record)
    assert [getattr(r, "code", None) for r in decode_many([value], record)] == [caught.value.code]
    return caught.value.code


@pytest.mark.parametrize("record", RECORDS)
def test_what_is_written_is_read_back_and_is_what_fastavro_writes(record: str) -> None:
    schema = fastavro.parse_schema(CATALOGUE.latest(record).schema)

    @given(values(record))
    def check(value: dict[str, Any]) -> None:
        framed = encode(record, value)
        assert decode(framed, record) == (value, framed[5:], CATALOGUE.id_of(record), True)
        reference = BytesIO()
        fastavro.schemaless_writer(reference, schema, value)
        assert framed[5:] == reference.getvalue()

    check()


@given(st.binary(max_size=60) | st.binary(max_size=60).map(lambda b: encode(PACKET, example()) + b))
def test_any_bytes_decode_or_raise_undecodable(value: bytes) -> None:
    for record in (PACKET, "headrace.core.TimerRow"):
        for framed in (value, b"\x00" + CATALOGUE.id_of(record).to_bytes(4, "big") + value):
            (result,) = decode_many([framed], record)
            if isinstance(result, Decoded):
                assert decode(encode(record, result.value), record).value == result.value


@given(st.integers(0), st.integers(0, 255), st.sampled_from(sorted(examples.valid("apc"))))
def test_a_changed_byte_decodes_or_raises_undecodable(at: int, byte: int, name: str) -> None:
    framed = bytearray(encode(PACKET, example(name)))
    framed[at % len(framed)] = byte
    (result,) = decode_many([bytes(framed)], PACKET)
    if isinstance(result, Decoded) and result.current:
        body = BytesIO(result.body)
        fastavro.schemaless_reader(body, CATALOGUE.latest(PACKET).schema, None)
        assert body.read() == b"", "bytes that are spliced must be readable by others"


def test_null_value() -> None:
    assert code_of(None) == "null_value"


@pytest.mark.parametrize("value", [b"", b"\x00\x3b", b"{}", b"\xc3\x01\x00", b"\x01" * 20])
def test_no_known_frame(value: bytes) -> None:
    assert code_of(value) == "frame_unknown"


def test_unknown_schema() -> None:
    assert code_of(b"\x00\x00\x00\x00\x01abc") == "schema_unknown"
    assert code_of(b"\xc3\x01" + bytes(8) + b"abc") == "schema_unknown"


def test_another_record() -> None:
    framed = encode("headrace.core.TimerRow", {"data": {}})
    assert code_of(framed) == "record_mismatch"


@pytest.mark.parametrize("change", [lambda b: b[:-1], lambda b: b + b"\x00", lambda b: b[:5]])
def test_a_body_that_ends_elsewhere(change: Any) -> None:
    assert code_of(change(encode(PACKET, example()))) == "body_invalid"


def test_single_object_encoding_is_read() -> None:
    value = example()
    body = encode(PACKET, value)[5:]
    fingerprint = fingerprint_of(CATALOGUE.latest(PACKET).schema)
    assert decode(b"\xc3\x01" + fingerprint + body, PACKET).value == value


def test_fingerprints_are_little_endian() -> None:
    assert fingerprint_of({"type": "null"}).hex() == "8a8f25cce724dd63"


def framed_timer(*parts: bytes) -> bytes:
    return b"\x00" + CATALOGUE.id_of("headrace.core.TimerRow").to_bytes(4, "big") + b"".join(parts)


def test_blocks_with_their_size_are_read_if_the_size_is_true() -> None:
    entry = b"\x02a\x02b"
    good = framed_timer(varint(-1), varint(len(entry)), entry, b"\x00")
    assert decode(good, "headrace.core.TimerRow").value == {"data": {"a": "b"}}
    bad = framed_timer(varint(-1), varint(len(entry) + 1), entry, b"\x00")
    assert code_of(bad, "headrace.core.TimerRow") == "body_invalid"


def test_lengths_that_leave_the_buffer_or_are_negative_are_refused() -> None:
    for length in (-1, 2**40, -(2**63)):
        assert code_of(framed_timer(b"\x02", varint(length), b"a"), "headrace.core.TimerRow")


def session(*fields: bytes) -> bytes:
    return (
        b"\x00" + CATALOGUE.id_of("headrace.rtes.RtesSession").to_bytes(4, "big") + b"".join(fields)
    )


@pytest.mark.parametrize("overlong", [b"\x80" * 10 + b"\x00", b"\xff" * 9 + b"\x03"])
def test_integers_beyond_64_bits_are_refused(overlong: bytes) -> None:
    assert code_of(session(overlong, b"\x00"), "headrace.rtes.RtesSession") == "body_invalid"


def test_wrong_indexes_booleans_and_int_ranges_are_refused() -> None:
    framed = encode(PACKET, example())
    routing = b"\x00\x0a" + varint(60_000) + b"\x01\x00\x00"
    assert framed.count(routing) == 1
    for changed in (
        b"\x01\x0a" + varint(60_000) + b"\x01\x00\x00",
        b"\x08\x0a" + varint(60_000) + b"\x01\x00\x00",
        b"\x00" + varint(2**31) + varint(60_000) + b"\x01\x00\x00",
        b"\x00\x0a" + varint(60_000) + b"\x02\x00\x00",
        b"\x00\x0a" + varint(60_000) + b"\x01\x01\x00",
    ):
        assert code_of(framed.replace(routing, changed)) == "body_invalid"


CALL = {
    "jsonrpc": "2.0",
    "id": None,
    "method": "agent.cancel",
    "params": ("headrace.summit.CancelParams", {"runId": "r", "agentId": None, "reason": None}),
    "caller": None,
    "delivery": None,
}
CALL_RECORD = "headrace.summit.SummitCall"


@pytest.mark.parametrize(("id", "index"), [(None, 0), (0, 2), (-(2**62), 2), ("", 4), ("7", 4)])
def test_a_union_of_plain_types_is_told_by_the_type_of_its_value(
    id: int | str | None, index: int
) -> None:
    framed = encode(CALL_RECORD, {**CALL, "id": id})
    place = 5 + len(b"\x062.0")
    assert framed[place] == index
    assert decode(framed, CALL_RECORD).value == {**CALL, "id": id}
    bad_frame = framed[:place] + b"\x06" + framed[place + 1 :]
    assert code_of(bad_frame, CALL_RECORD) == "body_invalid"


@pytest.mark.parametrize("id", [True, 1.0, b"7", 2**63])
def test_what_no_plain_type_of_a_union_can_hold_is_refused(id: Any) -> None:
    with pytest.raises(Unencodable, match="SummitCall"):
        encode(CALL_RECORD, {**CALL, "id": id})


def test_a_list_keeps_its_order_with_bad_values_between() -> None:
    good = encode(PACKET, example())
    results = decode_many([good, None, b"x", good[:-1], good], PACKET)
    codes = [r.code if isinstance(r, Undecodable) else "ok" for r in results]
    assert codes == ["ok", "null_value", "frame_unknown", "body_invalid", "ok"]


@given(values("headrace.apc.ApcDelivery"))
def test_a_spliced_body_is_what_encoding_the_value_gives(value: dict[str, Any]) -> None:
    body = AvroBody(encode(PACKET, value["packet"])[5:])
    record = "headrace.apc.ApcDelivery"
    assert encode(record, {**value, "packet": body}) == encode(record, value)


@given(values(EVENT), st.booleans())
def test_a_nullable_packet_is_spliced_too(value: dict[str, Any], absent: bool) -> None:
    packet = None if absent else example()
    body = None if packet is None else AvroBody(encode(PACKET, packet)[5:])
    spliced, plain = encode_many(EVENT, [{**value, "packet": p} for p in (body, packet)])
    assert spliced == plain


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"data": None},
        {"data": {"a": 1}},
        {"data": {"a": "\ud800"}},
        {"data": []},
    ],
)
def test_what_a_schema_cannot_carry_is_refused(value: dict[str, Any]) -> None:
    if value.get("data") == []:
        assert encode("headrace.core.TimerRow", value)[5:] == b"\x00"
        return
    with pytest.raises(Unencodable, match="TimerRow"):
        encode("headrace.core.TimerRow", value)


@pytest.mark.parametrize("n", [2**63, -(2**63) - 1])
def test_integers_that_do_not_fit_are_refused(n: int) -> None:
    with pytest.raises(Unencodable):
        encode("headrace.rtes.RtesSession", {"last_sequence": n, "last_recorded_at": 0})
