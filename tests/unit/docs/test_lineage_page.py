"""The drawings in docs/lineage.md are those that its scenarios give."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streams.cli.lineage_drawing import mermaid
from streams.play.scenario import play
from streams.settings import Settings

ROOT = Path(__file__).resolve().parents[3]
DRAWN = re.findall(
    r"^```mermaid\n(.*?)\n```$", (ROOT / "docs/lineage.md").read_text(), re.MULTILINE | re.DOTALL
)
SHOWN = (("five-protocols", "direction=descendants"), ("lineage-graph", "direction=blast_radius"))


@pytest.mark.parametrize("number", range(len(SHOWN)))
def test_a_drawing_is_what_its_scenario_gives(number: int) -> None:
    name, query = SHOWN[number]
    lines = (ROOT / f"scenarios/{name}.jsonl").read_text().splitlines()
    answers = (each for each in play(lines, Settings(partitions=1)) if "query" in each)
    page = next(each["body"] for each in answers if query in each["query"])
    assert mermaid(page) == DRAWN[number]


def test_every_drawing_is_held() -> None:
    assert len(DRAWN) == len(SHOWN)
