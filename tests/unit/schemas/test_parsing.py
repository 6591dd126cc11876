"""`parse` and `safe_parse` of turns and events (SAOP guide, 6.9)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.rtes import Event, TaskTransition
from schemas.saop import ParseError, Turn
from tests.unit.envelopes import transition

TURN = json.loads((Path(__file__).parents[3] / "schemas/examples/saop/turn.json").read_text())


@pytest.mark.parametrize(
    "form", [lambda value: value, json.dumps, lambda v: json.dumps(v).encode()]
)
def test_valid_input_becomes_a_model(form: Any) -> None:
    turn = Turn.parse(form({**TURN, "mood": "good"}))
    assert turn.json_form() == TURN
    event = transition(1)
    assert Event.parse(form(event)).json_form() == event
    outcome = Event.safe_parse(form(event))
    assert outcome.success
    assert outcome.data is not None
    assert isinstance(outcome.data.payload, TaskTransition)


@pytest.mark.parametrize(
    ("value", "rules"),
    [("{", {"json_invalid"}), ([], set()), ({**TURN, "turn_index": -1}, set())],
)
def test_invalid_input_raises_or_is_returned(value: Any, rules: set[str]) -> None:
    with pytest.raises(ParseError) as raised:
        Turn.parse(value)
    outcome = Turn.safe_parse(value)
    assert not outcome.success
    assert outcome.data is None
    assert outcome.error is not None
    assert outcome.error.problems == raised.value.problems
    if isinstance(value, str):
        assert {problem.rule for problem in outcome.error.problems} == rules
    assert outcome.error.problems[0].message


def test_an_unknown_type_of_event_is_a_problem() -> None:
    event = transition(1)
    event["payload"]["type"] = "NOTHING"
    assert not Event.safe_parse(event).success
