"""The failure table of the operations guide names every error that an operator can meet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from streams import errors
from streams.engine import mac_errors

PAGE = Path(__file__).resolve().parents[3] / "docs" / "operations.md"
ROW = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)


def below(kind: type[errors.HeadraceError]) -> Iterator[type[errors.HeadraceError]]:
    for each in kind.__subclasses__():
        yield each
        yield from below(each)


def test_every_error_of_the_infrastructure_has_a_row() -> None:
    codes = {
        each("").code
        for each in below(errors.InfrastructureError)
        if each.__module__ in {errors.__name__, mac_errors.__name__}
    }
    _, _, table = PAGE.read_text().partition("## Errors")
    rows = ROW.findall(table)
    assert set(rows) == codes
    assert len(rows) == len(codes)
