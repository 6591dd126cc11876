"""Rows of the live tail: joined chunks, long thoughts, and what `e` shows of them."""

from __future__ import annotations

import pytest

from streams.cli import INTERRUPTED
from streams.cli.cells import Cell
from streams.cli.saop.live_tail import LiveTail
from streams.cli.watch.lines import ending, text_of, width_of
from tests.unit.cli.watch.stub import WatchedStub, thought
from tests.unit.cli.watch.watching import watching

WORDS = "The grammar has two rules for the same token, so one of them has to go. "


def test_the_chunks_of_a_thought_are_one_row_with_the_first_and_the_last_number() -> None:
    tail = LiveTail()
    for sequence in (20, 21, 23):
        tail.add(thought(sequence, f"chunk {sequence} "))
    (row,) = tail.rows
    assert "s-9 #20–23" in text_of(row.line)
    assert "chunk 20 chunk 21 chunk 23" in text_of(row.line)
    assert row.keeps_end


@pytest.mark.parametrize("width", [24, 25, 40])
def test_a_long_thought_shows_its_newest_words(width: int) -> None:
    line = [Cell("12:04  "), Cell("┃ " + WORDS + "漢字")]
    text = text_of(ending(line, width))
    assert text.startswith("12:04  ┃ …")
    assert text.endswith("字")
    assert width - 1 <= width_of(ending(line, width)) <= width


def test_a_thought_that_fits_is_whole() -> None:
    line = [Cell("12:04  "), Cell("┃ short")]
    assert ending(line, 14) == line


@pytest.mark.asyncio
async def test_e_shows_the_whole_text_of_an_event(stub: WatchedStub) -> None:
    async with watching(stub) as watched:
        stub.send(*(thought(sequence, WORDS) for sequence in range(1, 4)))
        await watched.until_text("3 received")
        await watched.press("2", "e")
        await watched.until_text("there is no verdict on it")
        assert " ".join(watched.text.split()).count("two rules for the same") == 3


@pytest.mark.asyncio
async def test_ctrl_c_ends_it_as_interrupted(stub: WatchedStub) -> None:
    async with watching(stub) as watched:
        await watched.press("ctrl+c")
        await watched.until(lambda: not watched.app.is_running, "the end")
        assert watched.app.return_code == INTERRUPTED
