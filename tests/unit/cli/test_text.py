"""Check the form of output, and that text fits the width and cannot control the terminal."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from streams.cli import common, text
from streams.cli.cells import Row
from streams.errors import UsageError
from tests.unit.cli.test_printable import HOSTILE, controls

UUID = "7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730"
ANSWER = {
    "items": [
        {"at": "2026-11-22T12:00:29.511Z", "id": UUID, "verdict": "rejected", "why": "no " * 60},
        {"at": "2026-11-22T12:00:28Z", "id": "sess-01", "verdict": "accepted", "why": "fine"},
    ],
    "next": "c2",
}
NOW = 1_795_348_800_000
"""2026-11-22, at noon."""


def _render(answer: Any, page: text.Page) -> None:
    rows = [
        (page.time(i["at"]), page.id(i["id"]), page.verdict(i["verdict"]), page.message(i["why"]))
        for i in answer["items"]
    ]
    page.table(("at", "id", "verdict", "why"), rows)
    page.more(len(rows), answer["next"], 4966)


@click.command()
@text.options
def command() -> None:
    text.show(ANSWER, _render)


def run(*args: str, columns: int = 80) -> Result:
    return CliRunner().invoke(command, args, env={"COLUMNS": str(columns)})


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "now_ms", lambda: NOW)


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Callable[[], list[str]]:
    return lambda: capsys.readouterr().out.splitlines()


def test_a_pipe_gets_json_and_text_only_when_it_asks() -> None:
    assert json.loads(run().stdout) == ANSWER
    assert json.loads(run("--json").stdout) == ANSWER
    assert run("--text").stdout.startswith("at  ")
    assert isinstance(run("--json", "--text").exception, UsageError)


@pytest.mark.parametrize("columns", [80, 120])
def test_a_table_fits_the_width_and_cuts_messages_at_their_end(columns: int) -> None:
    result = run("--text", columns=columns)
    title, first, second = result.stdout.splitlines()
    assert title.split() == ["at", "id", "verdict", "why"]
    assert first.startswith("12:00:29.511  7f0c2f5d  ✖ refused   no no")
    assert first.endswith("…")
    assert len(first) in (columns - 1, columns)
    assert second == "12:00:28.000  sess-01   ✔ accepted  fine"
    assert result.stderr == "2 of 4,966; more with --cursor c2\n"


def test_wide_cuts_nothing() -> None:
    first = run("--text", "--wide").stdout.splitlines()[1]
    assert UUID in first
    assert first.endswith("no no")
    assert first.count("no") == 60


def test_signs_are_ascii_where_the_encoding_is(lines: Any) -> None:
    page = text.Page(40, ascii=True)
    page.line(page.verdict("duplicate"), page.verdict("accepted"), page.check(False), page.arrow)
    page.line(page.message("Zażółć " * 20))
    first, second = lines()
    assert first == "= duplicate  + accepted  x  ->"
    assert second.isascii()
    assert len(second) <= 40
    assert second.endswith("...")


@pytest.mark.parametrize("make", ["plain", "message", "id", "time", "verdict"])
def test_texts_of_others_are_escaped_and_never_markup(make: str, lines: Any) -> None:
    page = text.Page(200)
    cell = getattr(page, make)(f"[red]x[/red]{HOSTILE}\nforged")
    page.line(cell, cell)
    page.table(("a", "b"), [Row((cell, cell), cell)])
    page.members({f"m{HOSTILE}": HOSTILE, "list": [HOSTILE], "object": {HOSTILE: HOSTILE}})
    printed = lines()
    assert controls("".join(printed)) == []
    assert "[red]x[/red]" in printed[0]
    assert not any(line.startswith("forged") for line in printed)


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False), ({"NO_COLOR": "1"}, False)],
)
def test_colour_is_for_terminals_that_take_it(
    variables: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", **variables}.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    page = text.new_page()
    page.line(page.verdict("rejected"), page.message("[bold]because[/bold]"))
    printed = terminal.getvalue()
    assert ("\x1b[31m" in printed) is coloured
    assert "[bold]because[/bold]\n" in printed


def test_times_name_the_day_unless_it_is_today_and_may_be_local() -> None:
    page = text.Page()
    assert page.time("2026-11-22T13:00:29.511+01:00").text == "12:00:29.511"
    assert page.time("2026-11-21T12:00:29Z").text == "2026-11-21 12:00:29.000"
    assert page.time("soon").text == "soon"
    assert page.time(None).text == "-"


def test_numbers_are_aligned_to_the_right(lines: Any) -> None:
    page = text.Page()
    page.table(("name", "count"), [("a", 4966), ("b", 7)])
    assert lines() == ["name  count", "a     4,966", "b         7"]


@pytest.mark.parametrize(
    ("number", "digits"),
    [(6e-05, "0.00006"), (0.1 + 0.2, "0.3"), (1.5e12, "1,500,000,000,000"), (1234.5, "1,234.5")],
)
def test_numbers_have_no_exponent(number: float, digits: str) -> None:
    assert text.Page().number(number).text == digits


def test_json_has_no_exponents_below_one_and_texts_stay() -> None:
    value = {"a": 6e-05, "b": [-1.5e-07, 0.5], 'say "1e-5"': "2e-05"}
    line = common.json_line(value)
    assert line == '{"a":0.00006,"b":[-0.00000015,0.5],"say \\"1e-5\\"":"2e-05"}'
    assert json.loads(line) == value


@pytest.mark.parametrize("value", [5e-324, [1.5e-07], {"a": -2e-05}])
def test_a_number_below_one_is_found_wherever_it_ends(value: Any) -> None:
    for line in (common.json_line(value), common.json_text(value)):
        assert "e-" not in line
        assert json.loads(line) == value
