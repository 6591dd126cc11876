"""The compiled checks of shapes and numbers: what they accept, the Python ones accept too."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from schemas.apc import MODELS, validate
from schemas.apc.envelope import FORMATS
from schemas.canonical import has_rfc8785_numbers
from schemas.formats import is_uuid, parse_time
from schemas.model import ClosedModel, Id, Number, OpenObject, Share, Text, TolerantModel
from schemas.native import choose_number_check, compile_shape, compiled_shape, is_installed
from schemas.shapes import Unsupported, rule_of
from tests.examples import run_size
from tests.unit.schemas import examples
from tests.unit.schemas.strategies import JSON

SEED = 7
CHANGES = run_size(3000, 150)
"""Changed copies of each example."""
VALID = examples.valid("apc")
compiled = pytest.mark.skipif(not is_installed(), reason="the compiled codec is not installed")

NUMBERS: list[Any] = [
    *(0, -0.0, 0.0, 1, 1.0, 0.5, -1, 5, 9, 10, 2, 2.0000001, 1e-5, 1e-4, 1.5e-4, 1e15, 1e16 + 2),
    *(2**53 - 1, 2**53, -(2**53), 2**63 - 1, 2**63, -(2**63) - 1, 2**70, 1e300, 5e-324),
    *(math.inf, -math.inf, math.nan, 86_400_000, 86_400_001, 123456.75, 999999999999999.9),
]
ODD: list[Any] = [
    *(None, True, False, "", "a", "é" * 256, "é" * 257, "\ud800", "apc/1.0", "IDEA", b"a"),
    *([], ["a"], ["a"] * 33, [None], ["\ud800"], {}, {"a": 1}, {"\ud800": 1}, {1: "a"}, ()),
    *("7f3c9b1e-0d52-4a8e-9c51-3b6f0f8a2d10", "7F3C9B1E-0d52-4a8e-9c51-3b6f0f8a2d10"),
    *("2026-02-29T00:00:00Z", "2024-02-29T23:59:59.123456789+23:59", *NUMBERS),
]


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each part of a JSON value."""
    yield path
    if isinstance(value, dict | list):
        names = value if isinstance(value, dict) else range(len(value))
        for name in names:
            yield from paths(value[name], (*path, name))


def change(value: Any, rnd: Random) -> Any:
    """Return a copy in which one part is replaced, removed or joined by another."""
    changed = copy.deepcopy(value)
    *place, last = rnd.choice(list(paths(changed))[1:])
    owner = changed
    for name in place:
        owner = owner[name]
    match rnd.randrange(4):
        case 0:
            del owner[last]
        case 1 if isinstance(owner, dict):
            owner[rnd.choice(("other", "type", "\ud800", 1))] = rnd.choice(ODD)
        case _:
            owner[last] = rnd.choice(ODD)
    return changed


def is_accepted(model: type[BaseModel], value: Any) -> bool:
    """Return whether the model itself accepts a value."""
    try:
        model.__pydantic_validator__.validate_python(value)
    except ValidationError:
        return False
    return True


@compiled
@pytest.mark.parametrize("name", VALID)
def test_examples_fit_and_changed_ones_only_if_the_model_accepts_them(name: str) -> None:
    packet = VALID[name]
    model = MODELS[packet["packet_type"]]
    fits = compiled_shape(rule_of(model, FORMATS))
    assert fits(packet)
    rnd, outcomes = Random(SEED), set()
    for _ in range(CHANGES):
        changed = change(packet, rnd)
        outcome = fits(changed), is_accepted(model, changed)
        outcomes.add(outcome)
        assert outcome != (True, False), changed
    assert {(True, True), (False, False)} <= outcomes


@compiled
@pytest.mark.parametrize("name", VALID)
def test_the_problems_of_packets_are_those_that_python_finds(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rnd = Random(SEED + 1)
    packets = [change(VALID[name], rnd) for _ in range(run_size(500, 50))]
    with_shapes = [validate(packet, edge=False) for packet in packets]
    monkeypatch.setattr(sys.modules[validate.__module__], "_shape", lambda _: lambda _: False)
    assert [validate(packet, edge=False) for packet in packets] == with_shapes


@compiled
@pytest.mark.parametrize("member", [Share, Number, Annotated[float, Field(ge=-1, le=1)]])
@pytest.mark.parametrize("value", [*NUMBERS, True, "1", None])
def test_numbers_fit_only_if_the_model_accepts_them(member: Any, value: Any) -> None:
    class One(ClosedModel):
        number: member

    fits = compiled_shape(rule_of(One, FORMATS))({"number": value})
    assert not fits or is_accepted(One, {"number": value})
    in_range = type(value) is float and is_accepted(One, {"number": value})
    assert not in_range or fits


def spelled(rnd: Random) -> str:
    """Return a text that is a date-time, or nearly one."""
    year, month, day = rnd.choice((0, 4, 1900, 2000, 2024, 2025)), rnd.randint(0, 13), 28
    day += rnd.randint(-28, 4)
    clock = f"{rnd.randint(0, 24):02}:{rnd.randint(0, 60):02}:{rnd.randint(0, 60):02}"
    fraction = rnd.choice(("", "", ".", ".5", ".123456789", ".1234567890"))
    zone = rnd.choice(("Z", "z", "", "+00:00", "-23:59", "+24:00", "+01:60", "+1:00", "Z\n"))
    text = f"{year:04}-{month:02}-{day:02}T{clock}{fraction}{zone}"
    if rnd.random() < 0.3:
        at = rnd.randrange(len(text))
        text = text[:at] + rnd.choice(("", "é", "٣", " ", "-", "0")) + text[at + 1 :]
    return text


@compiled
def test_times_fit_if_and_only_if_they_are_real() -> None:
    fits, rnd, seen = compiled_shape(["time"]), Random(SEED), set()
    for _ in range(run_size(200_000, 20_000)):
        text = spelled(rnd)
        real = parse_time(text) is not None
        assert fits(text) is real, text
        seen.add(real)
    assert seen == {True, False}


@compiled
def test_uuids_fit_if_and_only_if_they_are_some() -> None:
    fits, rnd = compiled_shape(["uuid"]), Random(SEED)
    text = "7f3C9b1e-0d52-4a8e-9c51-3b6f0f8a2d10"
    assert fits(text)
    for _ in range(2000):
        at = rnd.randrange(len(text) + 1)
        other = text[:at] + rnd.choice(("", "g", "-", "0", "é", "٣")) + text[at + 1 :]
        assert fits(other) is is_uuid(other), other


@compiled
@given(JSON)
def test_the_check_of_numbers_is_that_of_python(value: Any) -> None:
    check = choose_number_check(has_rfc8785_numbers)
    assert check(value) is has_rfc8785_numbers(value)


@compiled
@pytest.mark.parametrize("value", [*NUMBERS, True, None, "1", (), b"a", 1j])
def test_each_number_is_checked_as_in_python(value: Any) -> None:
    check = choose_number_check(has_rfc8785_numbers)
    for each in (value, [value], {"a": {"b": value}}):
        assert check(each) is has_rfc8785_numbers(each)


def test_nothing_plainly_fits_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_NATIVE", "off")
    packet = next(iter(VALID.values()))
    assert not compile_shape(rule_of(MODELS[packet["packet_type"]], FORMATS))(packet)
    assert choose_number_check(has_rfc8785_numbers) is has_rfc8785_numbers


def _other(text: str) -> str:
    return text


@pytest.mark.parametrize(
    "member",
    [
        Annotated[str, AfterValidator(_other)],
        Annotated[str, Field(pattern="a")],
        Annotated[float, Field(gt=0)],
        Literal[1],
        dict[Id, Text],
        int | str,
        TolerantModel,
        bytes,
        set[str],
    ],
)
def test_a_model_with_a_part_that_has_no_rule_has_none(member: Any) -> None:
    class One(ClosedModel):
        part: member

    with pytest.raises(Unsupported):
        rule_of(One, FORMATS)


def test_the_rule_of_a_small_model() -> None:
    class One(ClosedModel):
        id: Id
        more: OpenObject | None = None
        pass_: Annotated[Share, Field(alias="pass")]

    assert rule_of(One, FORMATS) == [
        "object",
        {
            "id": [True, ["text", 1, 256]],
            "more": [False, ["nullable", ["map", ["any"]]]],
            "pass": [True, ["number", 0, 1]],
        },
    ]
