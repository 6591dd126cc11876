"""Test what `watch` shows, as functions of answers and events."""

from __future__ import annotations

from typing import Any

from streams.cli.cells import Cell
from streams.cli.saop.live_tail import LiveTail
from streams.cli.watch.answers import Answers
from streams.cli.watch.figures import condensed, overview_lines
from streams.cli.watch.lines import Listing, ListRow, beside, filtered, fitted, text_of, width_of
from streams.cli.watch.listings import work
from streams.cli.watch.status import keys_line, live_heading, status_line
from tests.unit.cli.watch.stub import completed, event, invoked, thought

EMPTY: dict[str, Any] = {
    "commands": 0,
    "accepted": 0,
    "duplicate": 0,
    "rejected": 0,
    "events": {"recorded": 0, "duplicate": 0, "rejected": 0},
    "series": [],
    "rules": [],
    "open": [],
    "cache": {"lookups": 0, "hits": 0, "stored": 0, "refused_writes": 0, "hit_rate": None},
    "dead_letters": [],
    "decayed": [],
    "escalations": 0,
    "lag": {"view": 0, "processors": []},
}


def texts(tail: LiveTail) -> list[str]:
    return [text_of(row.line[2:]) for row in tail.rows]


def test_chunks_of_a_thought_are_one_row_also_between_others() -> None:
    tail = LiveTail()
    for each in (thought(1, "I read "), thought(2, "Other.", turn=4), thought(3, "the test.")):
        tail.add(each)
    assert [text.partition("┃ ")[2] for text in texts(tail)] == ["I read the test.", "Other."]


def test_the_completion_of_a_call_is_in_the_row_of_its_invocation() -> None:
    tail = LiveTail()
    for each in (invoked(1, "call-7"), thought(2, "Hm."), completed(3, "call-7")):
        tail.add(each)
    tail.add(completed(4, "call-8", "success"))
    assert [text.split("  ")[-1].strip() for text in texts(tail)][::2] == [
        "failure, 2.4 s",
        "✔ shell success, 2.4 s",
    ]
    assert "✖ shell" in texts(tail)[0]
    assert [row.node for row in tail.rows] == ["saop:task:task-7"] * 3


def test_the_newest_rows_stay_and_those_let_go_are_counted() -> None:
    tail = LiveTail(max_rows=3)
    tail.add(invoked(1, "call-1"))
    for number in range(2, 6):
        tail.add(thought(number, "x", turn=number))
    tail.add(completed(6, "call-1"))
    assert (tail.received, tail.let_go, len(tail.rows)) == (6, 3, 3)
    tail.note("some events are not shown")
    assert texts(tail)[-1] == ""
    assert text_of(live_heading(tail, "live", "s-9")).endswith("6 received, 4 rows let go")
    assert len(tail.rows) == 3


def test_a_transition_without_a_task_is_about_its_session() -> None:
    tail = LiveTail()
    tail.add(event(1, {"type": "OTHER", "x": 1}, task_id=None))
    assert tail.rows[0].node == "saop:session:s-9"


def test_an_empty_system_says_how_to_send_a_first_packet() -> None:
    lines = [text_of(line) for line in overview_lines(EMPTY, 80)]
    assert "Nothing was decided in this window, and nothing is open." in lines
    assert any("headrace send apc.packets" in line for line in lines)


def test_what_needs_attention_is_cut_to_the_room_and_whole_in_the_pane_of_work() -> None:
    names = [f"p-{number}" for number in range(6)]
    busy = {
        **EMPTY,
        "commands": 1,
        "decayed": names,
        "open": [{"protocol": "sap", "kind": "task", "state": "RUNNING", "count": 3}],
        "lag": {"view": 0, "processors": [{"name": "apc", "records": 2000, "oldest_s": 61.0}]},
    }
    lines = [text_of(line) for line in overview_lines(busy, 80)]
    assert lines[-1].strip() == "and 4 more: key 4"
    assert max(width_of(line) for line in overview_lines(busy, 80)) <= 80
    listing = work(busy, 80)
    assert [row.node for row in listing.rows[1:7]] == [f"apc:protocol:{name}" for name in names]
    assert "apc is 2,000 records behind" in text_of(listing.rows[0].line)
    assert "sap" in text_of(listing.rows[7].line)
    assert "oldest 61 s" in text_of(listing.rows[8].line)


def test_a_long_window_has_as_many_bars_as_fit() -> None:
    assert condensed([1] * 168, 15) == [12] * 14
    assert condensed([1, 2], 15) == [1, 2]
    assert condensed([], 15) == []


def test_great_counts_leave_a_whole_sparkline() -> None:
    series = [{"verdict": "accepted", "counts": [0] * 59 + [4_000_000]}]
    busy = {**EMPTY, "commands": 4_000_000, "accepted": 4_000_000, "series": series}
    for width in (79, 119):
        first = text_of(overview_lines(busy, width)[0])
        assert "█" in first
        assert "…" not in first


def test_lines_side_by_side_do_not_touch() -> None:
    lines = beside([[Cell("abcdef")]], [[Cell("x")], [Cell("y")]], 6)
    assert [text_of(line) for line in lines] == ["abc…  x", "      y"]
    assert text_of(fitted([Cell("ab"), Cell("cdef")], 4)) == "abc…"


def test_a_filter_ignores_case_and_is_text() -> None:
    rows = [ListRow(str(n), [Cell(text)]) for n, text in enumerate(("One [x]", "two"))]
    listing = Listing([], rows, "none")
    assert filtered(listing, "") is listing
    assert [row.key for row in filtered(listing, "one [X").rows] == ["0"]
    assert filtered(listing, "three").rows == []


def test_the_first_line_says_what_is_wrong() -> None:
    answers = Answers()
    assert "no answer so far" in text_of(status_line("http://g", "1h", answers, False, ""))
    answers.problem = "no gateway answers\x1b[2J"
    line = text_of(status_line("http://g", "1h", answers, False, ""))
    assert line.endswith("asking again: no gateway answers\\x1b[2J")
    assert "paused" in text_of(status_line("http://g", "1h", answers, True, "x"))


def test_the_keys_fit_80_columns() -> None:
    assert width_of(keys_line("overview", 80)) <= 80
    assert width_of(keys_line("overview", 120)) <= 120
