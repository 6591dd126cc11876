from __future__ import annotations

import hashlib
import uuid
from contextlib import suppress
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from schemas import (
    ShapeError,
    canonical_json,
    has_lone_surrogate,
    parse_ijson,
    sha256_hex,
    uuid5_url,
)
from tests.unit.schemas.strategies import JSON, NUMBERS


@given(JSON)
@example({"\ufb33": 1, "\U0001f600": 2, "\u20ac": 3})
@example([1.0, -0.0, 1e16, 1e-7, 1e21, 123456789012345680.0, 5e-324, 1e15, 1e-4, 0.00001])
def test_canonical_json_is_rfc_8785(value: Any) -> None:
    assert canonical_json(value) == rfc8785.dumps(value)


@given(NUMBERS)
def test_every_double_is_spelled_as_in_rfc_8785(number: float) -> None:
    assert canonical_json([number]) == rfc8785.dumps([number])


def test_integers_beyond_the_exact_range_are_doubles() -> None:
    assert canonical_json(2**53) == b"9007199254740992"
    assert canonical_json([2**64 + 1]) == b"[18446744073709552000]"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", {1: 2}, 10**400, object()])
def test_what_is_no_json_has_no_canonical_form(value: Any) -> None:
    with pytest.raises(ValueError):
        canonical_json([value])


@given(JSON)
def test_canonical_text_is_read_back(value: Any) -> None:
    assert canonical_json(parse_ijson(canonical_json(value))) == canonical_json(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a":1,"a":2}',
        '{"a":{"b":1,"\\u0062":2}}',
        '"\\ud800"',
        '{"\\udc00":1}',
        "NaN",
        "[Infinity]",
        "[-Infinity]",
        "[1,]",
        "\ufeff1",
        b"\xff",
        "[" * 100_000,
        "01",
        '"\x00"',
    ],
)
def test_text_that_is_no_ijson_is_refused(text: str | bytes) -> None:
    with pytest.raises(ShapeError) as caught:
        parse_ijson(text)
    assert (caught.value.rule, caught.value.path) == ("json_invalid", "")


@given(st.text() | st.binary())
def test_reading_any_text_gives_a_value_or_a_shape_error(text: str | bytes) -> None:
    with suppress(ShapeError):
        parse_ijson(text)


def test_numbers_beyond_the_doubles_are_read_as_infinities() -> None:
    assert parse_ijson("[1e400, -1e400]") == [float("inf"), float("-inf")]
    assert parse_ijson(f"[{'9' * 5000}, -{'9' * 5000}]") == [float("inf"), float("-inf")]
    assert parse_ijson("9" * 300) == int("9" * 300)


def test_lone_surrogates_can_be_let_pass() -> None:
    assert parse_ijson('"\\ud800"', surrogates=True) == "\ud800"


def test_hashes_and_ids_are_lower_case() -> None:
    assert sha256_hex(b"abc") == hashlib.sha256(b"abc").hexdigest()
    assert uuid5_url("http://www.example.com/") == uuid5_url("http://www.example.com/").lower()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_ids_of_names_are_version_5_uuids(name: str) -> None:
    assert uuid5_url(name) == str(uuid.uuid5(uuid.NAMESPACE_URL, name))


@pytest.mark.parametrize(
    "value", ["\ud800", ["a", {"b": "\udfff"}], {"\ud800": 1}, [2**70, "\ud800"]]
)
def test_a_lone_surrogate_is_found_anywhere(value: object) -> None:
    assert has_lone_surrogate(value)


@pytest.mark.parametrize("value", ["\U0001f600", [2**70, "é"], {"a": None}, 1.5])
def test_unicode_text_holds_no_lone_surrogate(value: object) -> None:
    assert not has_lone_surrogate(value)
