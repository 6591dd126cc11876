"""Tests of the file that remembers which calls a bridge has begun."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from streams.agents.mcp import journal
from streams.agents.mcp.journal import KEEP_S, CallJournal, journal_path
from streams.errors import StateLocked, StoreFailed


def test_a_call_is_remembered_by_the_next_process(tmp_path: Path) -> None:
    path = journal_path("payments", tmp_path)
    first = CallJournal(path)
    asyncio.run(first.begin("run-1"))
    asyncio.run(first.begin("run-2"))
    first.finish("run-2")
    first.finish("run-3")
    first.close()
    second = CallJournal(path)
    states = [(second.is_begun(key), second.is_answered(key)) for key in ("run-1", "run-2")]
    assert states == [(True, False), (True, True)]
    assert not second.is_begun("run-3")
    second.close()


def test_a_line_that_a_crash_has_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    first = CallJournal(path)
    asyncio.run(first.begin("run-1"))
    first.close()
    with path.open("a") as file:
        file.write('{"key": "run-2", "at": 1')
    second = CallJournal(path)
    assert (second.is_begun("run-1"), second.is_begun("run-2")) == (True, False)
    asyncio.run(second.begin("run-3"))
    second.close()
    third = CallJournal(path)
    assert third.is_begun("run-3")
    third.close()


def test_calls_older_than_seven_days_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "REWRITE_EVERY", 3)
    path, now_s = tmp_path / "calls.jsonl", 1000.0
    calls = CallJournal(path, lambda: now_s)
    asyncio.run(calls.begin("run-1"))
    now_s += KEEP_S + 1
    asyncio.run(calls.begin("run-2"))
    assert calls.is_begun("run-1")
    asyncio.run(calls.begin("run-3"))
    assert [calls.is_begun(f"run-{number}") for number in (1, 2, 3)] == [False, True, True]
    assert len(path.read_text().splitlines()) == 2
    calls.close()


def test_a_journal_belongs_to_one_process(tmp_path: Path) -> None:
    first = CallJournal(tmp_path / "calls.jsonl")
    with pytest.raises(StateLocked, match="another process"):
        CallJournal(tmp_path / "calls.jsonl")
    first.close()
    CallJournal(tmp_path / "calls.jsonl").close()


@pytest.mark.parametrize("line", ["{}", "[1]", "no JSON", '{"key": "a", "at": null}'])
def test_a_file_that_is_no_journal_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(StoreFailed, match="no journal"):
        CallJournal(path)
    assert path.read_text() == line + "\n"
