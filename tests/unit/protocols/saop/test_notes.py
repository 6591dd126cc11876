"""What edges say at once about turns and events (SAOP guide, 6.8)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from streams.cli import common, main
from streams.protocols.saop.notes import notes_on_event, notes_on_turn
from streams.settings import Settings
from tests.unit.envelopes import transition
from tests.unit.views.bench import Bench

TURN = json.loads((Path(__file__).parents[4] / "schemas/examples/saop/turn.json").read_text())


def note_of(value: Any, **settings: Any) -> Any:
    notes = notes_on_event(value, Settings(**settings))
    return notes[0] if notes else None


def test_an_unknown_state_is_said_with_the_known_ones_and_the_setting() -> None:
    note = note_of(transition(1, task_id="ci-7", to_state="DONE"))
    assert (note.rule, note.path) == ("unknown_state", "/payload/to_state")
    for words in ("DONE", "devs", "rejected", "COMPLETED", "HEADRACE_RTES_PROFILES=ci-=open"):
        assert words in note.message


@pytest.mark.parametrize(
    ("changes", "settings"),
    [
        ({}, {}),
        ({"to_state": "in_progress"}, {}),
        ({"from_state": "NEW", "to_state": "DONE"}, {}),
        ({"to_state": "DONE"}, {"rtes_profile": "open"}),
        ({"to_state": "DONE"}, {"rtes_profiles": "t=open"}),
    ],
)
def test_what_may_be_recorded_has_no_note(changes: Any, settings: Any) -> None:
    assert note_of(transition(1, **changes), **settings) is None


def test_unknown_members_are_named() -> None:
    turn = {**TURN, "mood": "good", "content": {**TURN["content"], "a/b": 1}}
    paths = {note.path for note in notes_on_turn(turn, Settings())}
    assert paths == {"/mood", "/content/a~1b"}
    assert notes_on_turn(TURN, Settings()) == []


def test_posts_have_notes_beside_the_positions(bench: Bench) -> None:
    values = [transition(1), transition(2, to_state="DONE")]
    answer = bench.routes.handle("POST", "/v1/rtes/events", body=values)
    assert answer.status == 202
    assert len(answer.body["positions"]) == 2
    (note,) = answer.body["notes"]
    assert (note["index"], note["rule"]) == (1, "unknown_state")
    answer = bench.routes.handle("POST", "/v1/saop/turns", body=[TURN])
    assert set(answer.body) == {"positions"}


def test_send_says_notes_on_stderr(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    class Connected:
        def __enter__(self) -> Any:
            return bench.log

        def __exit__(self, *_: Any) -> None:
            return None

    monkeypatch.setattr(common, "connect", lambda _: Connected())
    event = {**transition(1, to_state="DONE"), "mood": "good"}
    result = CliRunner().invoke(main, ["send", "rtes.raw"], input=json.dumps(event))
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("rtes.raw/")
    assert "/mood: member_dropped" in result.stderr
    assert "/payload/to_state: unknown_state" in result.stderr
