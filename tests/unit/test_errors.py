from __future__ import annotations

import inspect

import pytest

from schemas import Problem
from streams import errors

TREE = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.HeadraceError)
]


@pytest.mark.parametrize("kind", TREE)
def test_the_tree_on_top_of_the_file_is_the_real_one(kind: type[errors.HeadraceError]) -> None:
    drawn = inspect.getdoc(errors) or ""
    line = next(line for line in drawn.splitlines() if kind.__name__ in line.split())
    depth = line.index(kind.__name__) // 4
    assert depth == len(kind.__mro__) - len(errors.HeadraceError.__mro__)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.UsageError, 2),
        (errors.SettingsError, 2),
        (errors.NotFound, 1),
        (errors.InvalidInput, 1),
        (errors.OutputTooLarge, 1),
        (errors.BrokerUnavailable, 3),
        (errors.Fenced, 3),
        (errors.StateLocked, 3),
    ],
)
def test_exit_codes_tell_whose_turn_it_is(kind: type[errors.HeadraceError], code: int) -> None:
    assert kind.exit_code == code


@pytest.mark.parametrize("kind", [kind for kind in TREE if not kind.__subclasses__()])
def test_every_error_that_is_raised_says_what_to_do_next(kind: type[errors.HeadraceError]) -> None:
    assert kind.default_advice.endswith(".")


def test_the_text_is_what_happened_and_then_the_advice() -> None:
    assert str(errors.UsageError("no such thing")) == "no such thing. See `headrace --help`."
    assert str(errors.UsageError("no such thing.", advice="Look.")) == "no such thing. Look."
    assert str(errors.HeadraceError("no advice")) == "no advice"


def test_a_missing_broker_names_the_command_that_starts_one() -> None:
    assert "headrace up" in str(errors.BrokerUnavailable("no broker answers"))


def test_invalid_input_lists_each_problem() -> None:
    problems = [Problem("id_invalid", "/id", "not a uuid"), Problem("json_invalid", "", "no JSON")]
    error = errors.InvalidInput(problems)
    assert error.problems == tuple(problems)
    assert error.message == "id_invalid at /id: not a uuid; json_invalid at the top: no JSON"


def test_an_error_has_a_code_that_is_its_name() -> None:
    assert errors.PositionsLost("x").code == "positions_lost"
    assert errors.TooManyDeadLetters("x").code == "too_many_dead_letters"
