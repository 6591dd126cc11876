"""The committed page is what the run comes to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import evolution_report
from bench.evolution_plot import plot
from streams.demo.fleet_simulation import PROTOCOLS, Run

pytestmark = pytest.mark.slow


def test_the_committed_page_is_what_the_run_says(done: Run) -> None:
    again = "run `python -m bench.evolution_report` and commit what it wrote"
    assert evolution_report.PAGE.read_text(encoding="utf-8") == evolution_report.page(done), again


def test_the_picture_is_there_and_light(done: Run, tmp_path: Path) -> None:
    made = tmp_path / "evolution.png"
    plot(done, made)
    for path in (evolution_report.PICTURE, made):
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG")
        assert len(data) < 150 * 1024


def test_the_diagram_names_only_what_it_declares(done: Run) -> None:
    (diagram,) = re.findall(r"```mermaid\n(.*?)```", evolution_report.page(done), re.DOTALL)
    declared = set(re.findall(r"^  (\w+)[(\[]", diagram, re.MULTILINE))
    arrows = re.findall(r"^  (\w+) (?:-->|==>|-\.->)\|\d+\| (\w+)$", diagram, re.MULTILINE)
    assert len(declared) == len(PROTOCOLS) + 10
    assert {end for arrow in arrows for end in arrow} <= declared
    classes = set(re.findall(r":::(\w+)", diagram))
    assert (
        classes == set(re.findall(r"classDef (\w+)", diagram)) == {"sound", "recovered", "decayed"}
    )


def test_the_check_says_whether_the_page_differs(
    done: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def played() -> Iterator[Run]:
        yield done

    page = tmp_path / "evolution.md"
    monkeypatch.setattr(evolution_report, "PAGE", page)
    monkeypatch.setattr(evolution_report, "played", played)
    assert evolution_report.main(["--check"]) == 1
    page.write_text(evolution_report.page(done), encoding="utf-8")
    assert evolution_report.main(["--check"]) == 0
