from __future__ import annotations

import copy
import hashlib
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from schemas import apc, canonical_json
from schemas.apc import IdeaPacket, Sender
from tests.unit.schemas import examples
from tests.unit.schemas.strategies import NUMBERS, PACKETS

VALID = examples.valid("apc")
ID = "7F0C2F5D-0F76-4A4C-93D0-F0B2E2891730"


def test_hashes_are_over_the_canonical_form_with_and_without_created_at() -> None:
    packet = VALID["idea"]
    whole, identity = apc.packet_hashes(packet)
    assert whole == hashlib.sha256(rfc8785.dumps(packet)).hexdigest()
    without_time = {name: member for name, member in packet.items() if name != "created_at"}
    assert identity == hashlib.sha256(rfc8785.dumps(without_time)).hexdigest()


@given(PACKETS, st.booleans())
def test_hashes_of_any_packet_are_over_its_canonical_form(
    avro: dict[str, Any], repeated: bool
) -> None:
    packet = apc.packet_json(avro)
    if repeated:
        packet["metadata"] = {"a": 1, "created_at": packet["created_at"]}
    folded = apc.fold_ids(packet)
    without_time = {name: member for name, member in folded.items() if name != "created_at"}
    expected = [hashlib.sha256(canonical_json(form)).hexdigest() for form in (folded, without_time)]
    assert list(apc.packet_hashes(packet)) == expected


def test_identity_does_not_depend_on_created_at_nor_hashes_on_the_case_of_ids() -> None:
    packet = VALID["idea"]
    later = {**packet, "created_at": "2030-01-01T00:00:00Z"}
    assert apc.packet_hashes(later)[1] == apc.packet_hashes(packet)[1]
    assert apc.packet_hashes(later)[0] != apc.packet_hashes(packet)[0]
    shouted = copy.deepcopy(packet)
    shouted["packet_id"] = shouted["trace"]["root_packet_id"] = ID
    assert apc.packet_hashes(shouted) == apc.packet_hashes(packet)


@pytest.mark.parametrize("name", VALID)
def test_ids_are_folded_wherever_a_packet_has_them(name: str) -> None:
    packet = VALID[name]
    assert apc.fold_ids(packet) is packet
    shouted = copy.deepcopy(packet)
    _shout(shouted)
    before = copy.deepcopy(shouted)
    assert apc.fold_ids(shouted) == packet
    assert shouted == before, "the packet given is left as it is"


def _shout(packet: dict[str, object]) -> None:
    for value in packet.values():
        if isinstance(value, dict):
            _shout(value)
    for name, value in packet.items():
        if name.endswith("packet_id") and isinstance(value, str):
            packet[name] = value.upper()
        if name == "evidence_refs" and isinstance(value, list):
            packet[name] = [
                "packet:" + ref[7:].upper() if ref.startswith("packet:") else ref for ref in value
            ]
        if name == "candidates" and isinstance(value, list):
            for candidate in value:
                candidate["packet_ref_ids"] = [id.upper() for id in candidate["packet_ref_ids"]]


def test_ids_that_are_no_uuids_stay_as_they_are() -> None:
    packet = {**VALID["ack"], "packet_id": "ABC", "payload": {"acked_packet_id": 5}}
    assert apc.fold_ids(packet) is packet


def test_models_read_and_write_the_protocols_json() -> None:
    packet = IdeaPacket.model_validate(VALID["idea"])
    assert isinstance(packet.sender, Sender)
    assert packet.payload.expected_impact.quality_gain == 0.12
    assert packet.json_form() == VALID["idea"]


@pytest.mark.parametrize("name", VALID)
def test_the_model_of_each_type_reads_its_example(name: str) -> None:
    model = apc.MODELS[VALID[name]["packet_type"]]
    assert model.model_validate(VALID[name]).json_form() == VALID[name]


@given(NUMBERS)
def test_a_number_is_the_decimal_of_its_canonical_spelling(number: float) -> None:
    assert apc.dec(number) == Decimal(rfc8785.dumps(number).decode())


def test_products_are_exact() -> None:
    assert apc.product(apc.dec(0.7), apc.dec(1.2)) == Decimal("0.84")
    assert not apc.dec(0.84) > apc.product(apc.dec(0.7), apc.dec(1.2))
    assert apc.difference(apc.dec(0.85), apc.dec(0.7)) == Decimal("0.15")
    third = apc.dec(1 / 3)
    assert Fraction(apc.product(third, third)) == Fraction(third) ** 2


@given(NUMBERS, NUMBERS)
def test_arithmetic_of_any_numbers_is_exact(a: float, b: float) -> None:
    x, y = apc.dec(a), apc.dec(b)
    assert Fraction(apc.product(x, y)) == Fraction(x) * Fraction(y)
    assert Fraction(apc.difference(x, y)) == Fraction(x) - Fraction(y)


def test_rounding_is_half_even() -> None:
    assert apc.round6(Decimal("0.0000005")) == 0
    assert apc.round6(Decimal("0.0000015")) == 0.000002
    assert apc.round6(Fraction(2, 3)) == 0.666667
    assert apc.to_nano(0.7) == 700_000_000
    assert apc.to_nano(Fraction(1, 2_000_000_000)) == 0
    assert apc.to_nano(Decimal("0.0000000015")) == 2


@given(st.fractions())
def test_nano_of_a_fraction_is_within_half_a_nano(value: Fraction) -> None:
    assert abs(Fraction(apc.to_nano(value), 10**9) - value) <= Fraction(1, 2 * 10**9)
