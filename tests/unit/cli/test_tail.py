"""The lines of `tail`: time, place, joined thoughts; its JSON is as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streams.cli.tail import JsonPrinter
from streams.cli.tail_lines import LinePrinter
from streams.cli.text import Page
from streams.engine.records import LogRecord
from streams.log.tail import Observation
from topology.apc import APC_DECISIONS
from topology.saop import RTES_EVENTS


def event(sequence: int, **payload: Any) -> Observation:
    value = {"session_id": "sess-9", "sequence": sequence, "payload": payload, "task_id": None}
    record = LogRecord("rtes.events", 0, sequence, 45_271_118 + sequence, b"sess-9", b"v")
    return Observation(record, value | {"flags": [], "masked_arguments": 0})


def chunk(sequence: int, text: str, turn: int = 3) -> Observation:
    thought = {"type": "THOUGHT_STREAM", "agent_id": "architect", "turn_index": turn}
    return event(sequence, **thought, chunk=text, is_final=False)


def pulse(sequence: int) -> Observation:
    return event(sequence, type="SANDBOX_PULSE", line="12 passed", masked=False)


def test_chunks_that_follow_each_other_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    printer = LinePrinter(RTES_EVENTS, Page())
    for observation in (chunk(1, "I should "), chunk(2, "read."), pulse(3), chunk(4, "Yes.")):
        printer.add(observation)
    assert capsys.readouterr().out.splitlines() == [
        "12:34:31.119  sess-9 #1–2  architect, turn 3  ┃ I should read.",
        "12:34:31.121  sess-9 #3  sandbox  │ 12 passed",
    ]
    printer.flush()
    printer.flush()
    assert capsys.readouterr().out == "12:34:31.122  sess-9 #4  architect, turn 3  ┃ Yes.\n"


def test_chunks_of_two_turns_are_two_lines(capsys: pytest.CaptureFixture[str]) -> None:
    printer = LinePrinter(RTES_EVENTS, Page())
    printer.add(chunk(1, "One."))
    printer.add(chunk(2, "Two.", turn=4))
    assert "turn 3  ┃ One." in capsys.readouterr().out
    printer.flush()
    assert "turn 4  ┃ Two." in capsys.readouterr().out


def test_a_thought_without_end_is_printed_in_pieces(capsys: pytest.CaptureFixture[str]) -> None:
    printer = LinePrinter(RTES_EVENTS, Page())
    for sequence in range(1, 600):
        printer.add(chunk(sequence, "x"))
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_other_records_have_their_position(capsys: pytest.CaptureFixture[str]) -> None:
    decay = {"blocked": False, "reasons": [], "effectiveness_score": 0.5, "transfer_count": 16}
    value = {"protocol_id": "px", "decay": decay}
    record = LogRecord("acme.apc.decisions", 1, 4, 20, b"px", b"v")
    LinePrinter(APC_DECISIONS, Page()).add(Observation(record, value))
    assert capsys.readouterr().out == (
        "00:00:00.020  acme.apc.decisions/1/4  px       recovered    effectiveness 0.5;"
        " 16 transfers\n"
    )


def test_json_is_the_record_of_the_stream(capsys: pytest.CaptureFixture[str]) -> None:
    printer = JsonPrinter(RTES_EVENTS)
    printer.add(pulse(3))
    printer.flush()
    assert json.loads(capsys.readouterr().out) == pulse(3).value


def test_json_lines_are_printed_at_the_end_of_their_batch(
    capsys: pytest.CaptureFixture[str],
) -> None:
    printer = JsonPrinter(RTES_EVENTS)
    printer.add(pulse(1))
    printer.add(pulse(2))
    assert capsys.readouterr().out == ""
    printer.end_batch()
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == [pulse(1).value, pulse(2).value]
    printer.end_batch()
    assert capsys.readouterr().out == ""


def test_json_lines_of_a_long_batch_do_not_all_wait(capsys: pytest.CaptureFixture[str]) -> None:
    printer = JsonPrinter(RTES_EVENTS)
    for sequence in range(1201):
        printer.add(pulse(sequence))
    assert len(capsys.readouterr().out.splitlines()) == 1000
    printer.flush()
    assert len(capsys.readouterr().out.splitlines()) == 201


def test_json_has_what_the_reader_decoded(capsys: pytest.CaptureFixture[str]) -> None:
    record = LogRecord("apc.decisions", 1, 4, 20, b"px", b"\xffno Avro")
    printer = JsonPrinter(APC_DECISIONS)
    printer.add(Observation(record, {"protocol_id": "px\u202e", "decay": None, "small": 1e-07}))
    printer.flush()
    line = capsys.readouterr().out
    assert json.loads(line)["value"] == {"protocol_id": "px\u202e", "decay": None, "small": 1e-07}
    assert "\\u202e" in line
    assert "0.0000001" in line


def test_lines_that_could_not_be_written_are_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(text: str, *, err: bool = False) -> None:
        raise BrokenPipeError

    printer = JsonPrinter(RTES_EVENTS)
    printer.add(pulse(1))
    with monkeypatch.context() as patched:
        patched.setattr("click.echo", refuse)
        with pytest.raises(BrokenPipeError):
            printer.end_batch()
    printer.flush()
    assert capsys.readouterr().out == ""


def test_a_thought_is_joined_over_batches(capsys: pytest.CaptureFixture[str]) -> None:
    printer = LinePrinter(RTES_EVENTS, Page())
    for sequence, text in ((1, "I should "), (2, "read.")):
        printer.add(chunk(sequence, text))
        printer.end_batch()
    printer.flush()
    assert "┃ I should read." in capsys.readouterr().out
