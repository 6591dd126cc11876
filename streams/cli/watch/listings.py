"""The lists of `watch`: refusals, open work and dead letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.cli.cells import Cell, Row, lay_out
from streams.cli.overview_figures import attention, bar, is_behind
from streams.cli.text import Page
from streams.cli.watch.lines import Listing, ListRow

Json = Mapping[str, Any]
_BAR_WIDTH = 12


def refusals(verdicts: Sequence[Json], width: int) -> Listing:
    """Return refused records, the newest first, with the rule and the reason."""
    page = Page(width)
    rows = [
        [
            page.time(each["at"], "dim"),
            page.plain(each["protocol"]),
            page.plain(each["rule"], "red"),
            page.id(each["title"]),
            page.message(each["message"]),
        ]
        for each in verdicts
    ]
    about = [
        ListRow(each["fact"], (), each["node"], each["cause"], each["fact"]) for each in verdicts
    ]
    titles = ("refused", "", "rule", "record", "reason")
    return _listing(titles, rows, about, page, "nothing was refused")


def work(overview: Json, width: int) -> Listing:
    """Return what needs attention, what is open, and how far each processor is behind."""
    page = Page(width)
    counts = overview["open"]
    greatest = max((each["count"] for each in counts), default=0)
    urgent = [
        ([page.plain("attention", "bold yellow"), page.message(sentence), *[Cell("")] * 3], None)
        for sentence in attention({**overview, "decayed": []})
    ]
    decayed = [
        (
            [
                page.plain("apc", "bold yellow"),
                page.message(f"protocol {name}"),
                page.plain("decayed"),
                Cell(""),
                Cell(""),
            ],
            f"apc:protocol:{name}",
        )
        for name in overview["decayed"]
    ]
    open_work = [
        (
            [
                page.plain(each["protocol"]),
                page.message(each["kind"]),
                page.plain(each["state"]),
                page.number(each["count"]),
                Cell(bar(each["count"], greatest, _BAR_WIDTH), "cyan"),
            ],
            None,
        )
        for each in counts
    ]
    lag = [
        (
            [
                page.plain("processor"),
                page.message(each["name"]),
                Cell("behind" if each["records"] else "up to date"),
                page.number(each["records"], "red" if is_behind(each) else ""),
                page.plain(f"oldest {each['oldest_s']:.0f} s" if each["oldest_s"] else " "),
            ],
            None,
        )
        for each in overview["lag"]["processors"]
    ]
    rows = [*urgent, *decayed, *open_work, *lag]
    about = [ListRow(str(number), (), node) for number, (_, node) in enumerate(rows)]
    titles = ("", "kind", "state", "count", "")
    return _listing(titles, [cells for cells, _ in rows], about, page, "nothing is open")


def dead_letters(letters: Sequence[Json], width: int) -> Listing:
    """Return dead letters, the newest first, with their state."""
    page = Page(width)
    rows = [
        [
            page.time(each["at"], "dim"),
            page.plain(each["topic"]),
            page.plain(each["code"], "red"),
            page.plain(each["state"]),
            page.message(each["message"]),
        ]
        for each in letters
    ]
    about = [ListRow(each["position"], (), None, each["position"]) for each in letters]
    titles = ("failed", "topic", "code", "state", "message")
    return _listing(titles, rows, about, page, "no dead letters")


def _listing(
    titles: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    about: Sequence[ListRow],
    page: Page,
    empty: str,
) -> Listing:
    """Return a list whose columns are aligned."""
    table = [Row(cells) for cells in rows]
    heading, *lines = lay_out(titles, table, page.width, page.ellipsis)
    made = [row._replace(line=line) for row, line in zip(about, lines, strict=True)]
    return Listing(heading, made, empty)
