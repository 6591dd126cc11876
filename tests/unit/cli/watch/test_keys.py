"""Every key and every pane of `headrace watch`, over the real routes."""

from __future__ import annotations

import pytest

from tests.unit.cli.watch.stub import WatchedStub, completed, invoked, thought
from tests.unit.cli.watch.watching import Watching, watching

pytestmark = pytest.mark.asyncio
NODE = "apc:packet:00000000-0000-4000-8000-000000000012"


async def test_the_overview_has_figures_rules_refusals_and_what_needs_attention(
    stub: WatchedStub,
) -> None:
    async with watching(stub) as watched:
        stub.send(thought(1, "I should read "), thought(2, "the failing test."))
        await watched.until_text("2 received")
        text = watched.text
        assert len(watched.lines) == 24
        assert max(map(len, watched.lines)) <= 80
        assert "commands   11" in text
        assert "refused     8   72.7%" in text or "refused     8  72.7%" in text
        assert "key_mismatch        apc  2  ██████" in text
        assert "2 dead letters of apc.packets.dlq" in text
        assert "nobody is not" in text
        assert "┃ … read the failing test." in text
        assert "q quit" in watched.lines[-1]


async def test_a_larger_terminal_shows_more_rules_and_all_keys(stub: WatchedStub) -> None:
    async with watching(stub, width=120, height=40) as watched:
        assert "packet_conflict" in "\n".join(watched.lines[6:16])
        assert "c copy  q quit" in watched.lines[-1]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("2", "no events so far"),
        ("3", "packet_conflict"),
        ("4", "sap-learning"),
        ("5", "schema_unknown"),
    ],
)
async def test_a_digit_shows_its_pane_and_1_the_overview_again(
    stub: WatchedStub, key: str, text: str
) -> None:
    async with watching(stub) as watched:
        await watched.press(key)
        await watched.until_text(text)
        await watched.until_gone("refused by rule")
        await watched.press("1")
        await watched.until_text("refused by rule")


async def test_the_cursor_moves_and_stays_on_its_row(stub: WatchedStub) -> None:
    async with watching(stub) as watched:
        await watched.press("3", "down", "down", "up")
        rows = watched.app._focused_list().rows
        assert rows.cursor == 1
        row = rows.selected
        before = len(stub.requests)
        await watched.until(lambda: len(stub.requests) > before + 4, "asked again")
        assert rows.selected == row
        await watched.press("end")
        assert rows.cursor == len(rows.listing.rows) - 1
        await watched.press("home")
        assert rows.cursor == 0


async def test_the_filter_hides_lines_and_escape_clears_it(stub: WatchedStub) -> None:
    async with watching(stub) as watched:
        await watched.press("3", "slash")
        await watched.write("PHASE")
        await watched.press("enter")
        await watched.until_text("/ PHASE")
        await watched.until_gone("key_mismatch")
        assert "phase_type" in watched.text
        await watched.press("slash", *["backspace"] * len("PHASE"))
        await watched.write("q1")
        await watched.until_text("nothing here contains q1")
        await watched.press("escape")
        await watched.until_text("key_mismatch")
        assert watched.app.pattern == ""


async def test_enter_opens_the_thing_and_escape_goes_back(stub: WatchedStub) -> None:
    async with watching(stub) as watched:
        await watched.press("3")
        await watched.open("enter")
        await watched.until_text(f"node {NODE}")
        assert "ack_not_recipient" in watched.text
        await watched.press("enter", "escape")
        await watched.until_text("packet_conflict")
        assert len(watched.app.screen_stack) == 1


async def test_e_explains_and_proves_the_verdict_of_the_row(stub: WatchedStub) -> None:
    async with watching(stub) as watched:
        await watched.press("3", "end")
        await watched.open("e")
        await watched.until_text("packet_conflict  fault: sender")
        assert "derived again" in watched.text
        assert any(path.endswith("/proof") for path in stub.paths())
        await watched.open("e")
        assert len(watched.app.screen_stack) == 2
        await watched.press("5")
        await watched.until_text("schema_unknown")


async def test_a_dead_letter_opens_by_its_position(stub: WatchedStub) -> None:
    async with watching(stub) as watched:
        await watched.press("5")
        await watched.until_text("null_value")
        await watched.press("enter")
        await watched.until_text("apc.packets.dlq/0/2")
        assert "The record has no value." in watched.text


async def test_what_names_no_thing_cannot_be_opened_or_copied(stub: WatchedStub) -> None:
    async with watching(stub) as watched:
        await watched.press("4", "end", "enter")
        await watched.until(lambda: _toasts(watched) == ["this line names no thing"], "a toast")
        await watched.press("c")
        await watched.until(lambda: len(_toasts(watched)) == 2, "another toast")
        assert watched.app.clipboard == ""


async def test_c_copies_the_node(stub: WatchedStub) -> None:
    async with watching(stub) as watched:
        await watched.press("c")
        assert watched.app.clipboard == NODE
        assert _toasts(watched) == [f"copied {NODE}"]


async def test_space_pauses_questions_and_stream_and_loses_no_event(stub: WatchedStub) -> None:
    async with watching(stub) as watched:
        stub.send(invoked(1, "call-7"))
        await watched.until_text("1 received")
        await watched.press("space")
        await watched.until_text("paused, ")
        await watched.until(lambda: stub.streams == 0, "the stream is closed")
        await watched.until_questions_end()
        before = len(stub.requests)
        stub.send(completed(2, "call-7"), thought(3, "Next."))
        await watched.until_questions_end()
        assert len(stub.requests) == before
        await watched.press("space")
        await watched.until_text("3 received")
        assert len(watched.app.tail.rows) == 2
        assert "● current" in watched.text


async def test_q_quits(stub: WatchedStub) -> None:
    async with watching(stub) as watched:
        await watched.press("3")
        await watched.open("enter")
        await watched.press("q")
        await watched.until(lambda: not watched.app.is_running, "the end")
        assert not watched.app.return_code


def _toasts(watched: Watching) -> list[str]:
    return [notification.message for notification in watched.app._notifications]
