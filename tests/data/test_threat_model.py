"""The threat model names tests and settings that exist, and a test for every bound."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from streams.settings import Settings
from tests.processes import PREFIX, ROOT

TEXT = (ROOT / "docs/threat-model.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.split("## Attacks and bounds")[1].split("\n## ")[0].splitlines()
    if line.startswith("|") and not line.startswith(("| attack |", "| event |", "|---"))
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_each_bound_names_its_tests(row: list[str]) -> None:
    paths = re.findall(r"`(tests/[\w/.]+)`", row[2])
    assert paths
    assert [path for path in paths if not (ROOT / path).is_file()] == []


def test_it_names_settings_that_exist() -> None:
    names = {f"{PREFIX}{field.name.upper()}" for field in fields(Settings)}
    names |= {f"{name}_FILE" for name in names}
    assert set(re.findall(rf"`({PREFIX}\w+)`", TEXT)) <= names
