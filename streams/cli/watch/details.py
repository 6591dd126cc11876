"""Show the thing of a row (`enter`), or why its verdict is so (`e`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from streams.cli.cells import Cell
from streams.cli.proof_text import show_proof
from streams.cli.record_text import show_record
from streams.cli.thing_text import show_thing, show_verdict
from streams.cli.watch.lines import DetailPage, Line, ListRow
from streams.errors import NotFound

Json = Mapping[str, Any]
Get = Callable[..., Any]
"""Takes a path and parameters, and returns the body of the response."""


def open_thing(get: Get, row: ListRow, width: int) -> list[Line]:
    """Return the lines of the thing of a row, or of its record.  Raises NotFound."""
    page = DetailPage(width)
    if row.node is not None:
        try:
            show_thing(_thing(get, row), page)
        except NotFound:  # what was refused may have made no thing
            if row.position is None:
                raise
            _show_record(get, row, page)
    elif row.position is not None and row.fact is None:
        _show_letter(get(f"/v1/dead-letters/{row.position}"), page)
    elif row.position is not None:
        _show_record(get, row, page)
    else:
        raise NotFound("this line names no thing", advice="")
    return page.lines


def _show_record(get: Get, row: ListRow, page: DetailPage) -> None:
    record = get(f"/v1/records/{row.position}")
    effects = get(f"/v1/records/{row.position}/effects")
    show_record({"record": record, "effects": effects, "proof": None}, page)


def explain(get: Get, row: ListRow, width: int) -> list[Line]:
    """Return why the verdict of a row is so, and its proof; of an event, first its whole text.

    Raises NotFound.
    """
    page = DetailPage(width)
    if row.node is None:
        return open_thing(get, row, width)
    if row.fact is None:
        page.lines += [row.line, []]
    page.line(page.plain(row.node, "bold"))
    verdicts = _verdicts(get, row)
    if not verdicts and row.fact is not None:
        _show_record(get, row, page)
        show_proof(get(f"/v1/records/{row.fact}/proof"), page)
        return page.lines
    if not verdicts:
        page.line(Cell("there is no verdict on it", "dim"))
        return page.lines
    verdict = next((each for each in verdicts if each["fact"] == row.fact), verdicts[0])
    show_verdict(verdict, page)
    if verdict["fact"] is not None:
        show_proof(get(f"/v1/records/{verdict['fact']}/proof"), page)
    return page.lines


def _verdicts(get: Get, row: ListRow) -> Any:
    """Return the verdicts on a row's thing; none where the row speaks of one that is unknown."""
    try:
        return _thing(get, row)["verdicts"]
    except NotFound:
        return []


def _thing(get: Get, row: ListRow) -> Any:
    assert row.node is not None
    return get(f"/v1/things/{quote(row.node, safe='')}", session_id=row.session_id)


def _show_letter(letter: Json, page: DetailPage) -> None:
    page.line(page.plain(letter["position"], "bold"), page.plain(letter["state"]))
    page.members({name: value for name, value in letter.items() if name != "position"})
