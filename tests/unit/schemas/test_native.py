"""The compiled codec and the Python one: the same values, bytes and errors for whatever comes.

A quick run tries seeded random values of every schema; the whole one adds Hypothesis.
`python -m bench.codec` compares a million.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import CATALOGUE, AvroBody
from schemas.native import (
    VARIABLE,
    Functions,
    compile_functions,
    compiled_functions,
    describe,
    has_bytes,
    is_installed,
    is_outdated,
    python_functions,
)
from streams.settings.service import ServiceSettings, declarations
from tests.examples import run_size
from tests.unit.schemas.random_values import generator
from tests.unit.schemas.strategies import values

FRAME = b"\x00\x00\x00\x00\x07"
ENTRIES = [entry for entry in CATALOGUE if not has_bytes(entry.schema)]
LATEST = [entry for entry in ENTRIES if entry == CATALOGUE.latest(entry.record)]
SEED = 7
VALUES = run_size(500, 40)
"""Random values of each schema."""
compiled = pytest.mark.skipif(not is_installed(), reason="the compiled codec is not installed")


def outcome(call: Callable[[], Any]) -> Any:
    """Return what a call returns, or its error's type and text."""
    try:
        return call()
    except Exception as exc:
        return type(exc), str(exc)


def same_types(one: Any, other: Any) -> bool:
    """Return whether two equal values consist of the same types, as 1 and True do not."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same_types(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return all(map(same_types, one, other))
    return True


def agree(reference: Functions, native: Functions, value: Any) -> bytes:
    """Check that a value has one encoding, which has one value; return it."""
    framed = reference.encode(FRAME, value)
    assert native.encode(FRAME, value) == framed
    one, other = reference.decode(framed, len(FRAME)), native.decode(framed, len(FRAME))
    assert one[1] == other[1] == len(framed)
    assert repr(one) == repr(other)  # as NaN is not NaN
    return framed


def agree_on_damaged(reference: Functions, native: Functions, body: bytes) -> None:
    one = outcome(lambda: reference.decode(body, 0))
    assert repr(outcome(lambda: native.decode(body, 0))) == repr(one)


def agree_on_odd(reference: Functions, native: Functions, value: Any) -> None:
    one = outcome(lambda: reference.encode(FRAME, value))
    assert outcome(lambda: native.encode(FRAME, value)) == one


@compiled
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.record}-{entry.id}")
def test_random_values_of_every_schema(entry: Any) -> None:
    reference, native = python_functions(entry.schema), compiled_functions(entry.schema)
    rnd, make = Random(SEED), generator(entry.schema)
    for _ in range(VALUES):
        value = make(rnd)
        body = bytearray(agree(reference, native, value)[len(FRAME) :])
        if body:
            body[rnd.randrange(len(body))] = rnd.randrange(256)
            agree_on_damaged(reference, native, bytes(body))
            agree_on_damaged(reference, native, bytes(body[: rnd.randrange(len(body))]))
        path = [rnd.randrange(30) for _ in range(rnd.randint(1, 4))]
        agree_on_odd(reference, native, _with(value, path, rnd.choice(ODD_VALUES)))


@compiled
@pytest.mark.slow
@pytest.mark.parametrize("entry", LATEST, ids=lambda entry: entry.record)
def test_values_have_the_same_bytes_and_bytes_the_same_values(entry: Any) -> None:
    reference, native = python_functions(entry.schema), compiled_functions(entry.schema)

    @given(values(entry.record))
    def check(value: dict[str, Any]) -> None:
        framed = agree(reference, native, value)
        one, other = reference.decode(framed, 5), native.decode(framed, 5)
        assert one == other == (value, len(framed))
        assert same_types(one, other)

    check()


@compiled
@pytest.mark.slow
@pytest.mark.parametrize("entry", LATEST, ids=lambda entry: entry.record)
def test_changed_bytes_have_the_same_outcome(entry: Any) -> None:
    reference, native = python_functions(entry.schema), compiled_functions(entry.schema)
    changes = st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=3)

    @given(values(entry.record), changes, st.integers(0, 40), st.binary(max_size=4))
    def check(value: dict[str, Any], changes: list[Any], cut: int, more: bytes) -> None:
        body = bytearray(reference.encode(b"", value))
        for at, byte in changes:
            if body:
                body[at % len(body)] = byte
        damaged = bytes(body[: len(body) - cut] if cut < 20 else body) + more
        agree_on_damaged(reference, native, damaged)

    check()


def _with(value: Any, path: list[int], other: Any) -> Any:
    """Return a copy of a value with one of its parts replaced; the path chooses it."""
    if not path or not isinstance(value, (dict, list, tuple)) or not value:
        return other
    if isinstance(value, dict):
        key = sorted(value, key=str)[path[0] % len(value)]
        return {**value, key: _with(value[key], path[1:], other)}
    at = path[0] % len(value)
    changed = [*value[:at], _with(value[at], path[1:], other), *value[at + 1 :]]
    return type(value)(changed)


ODD_VALUES: list[Any] = [
    *(None, True, 0, -1, 2**31, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 0.5, "", "a"),
    *(b"", b"a", AvroBody(b"a"), "\ud800", [], (), {}, ("a", {}), {1: None}, [None], {"a": 1}),
]
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.binary(max_size=3).map(AvroBody),
    st.just([]),
    st.just(()),
    st.just({}),
    st.tuples(st.text(max_size=3), st.dictionaries(st.text(max_size=2), st.none(), max_size=1)),
    st.dictionaries(st.integers(0, 3), st.none(), max_size=1),
)


@compiled
@pytest.mark.slow
@pytest.mark.parametrize("entry", LATEST, ids=lambda entry: entry.record)
def test_odd_values_have_the_same_outcome(entry: Any) -> None:
    reference, native = python_functions(entry.schema), compiled_functions(entry.schema)
    paths = st.lists(st.integers(0, 30), min_size=1, max_size=4)

    @given(values(entry.record), paths, ODD)
    def check(value: dict[str, Any], path: list[int], odd: Any) -> None:
        agree_on_odd(reference, native, _with(value, path, odd))

    check()


@compiled
def test_a_member_may_be_missing_only_where_it_has_a_default() -> None:
    for entry in LATEST:
        agree_on_odd(python_functions(entry.schema), compiled_functions(entry.schema), {})


def is_python(functions: Functions) -> bool:
    """Return whether these are functions written in Python."""
    return type(functions.decode).__name__ == "function"


@compiled
def test_the_compiled_codec_is_used_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert describe() == "compiled, 1.1.0"
    assert not is_python(compile_functions(LATEST[0].schema))


def test_the_setting_chooses_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "off")
    assert describe() == "Python (HEADRACE_NATIVE is off)"
    assert is_python(compile_functions(LATEST[0].schema))


def test_the_setting_is_declared() -> None:
    declaration = declarations(ServiceSettings)["native"]
    assert (declaration.env, declaration.choices) == (VARIABLE, ("on", "off"))


def test_a_compiled_codec_of_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        VERSION = "0.9.0"

    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr("schemas.native.headrace_native", Other)
    assert is_outdated()
    assert describe() == "Python (the compiled codec is 0.9.0, not 1.1.0)"
    assert is_python(compile_functions(LATEST[0].schema))


def test_without_the_compiled_codec_python_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr("schemas.native.headrace_native", None)
    assert not is_outdated()
    assert describe() == "Python (the compiled codec is not installed)"
    assert is_python(compile_functions(LATEST[0].schema))
