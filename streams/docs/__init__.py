"""The reference pages in docs/reference, made from the declarations.

`python -m streams.docs` writes them; with `--check` it writes nothing, and exits 1 naming the
pages that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from streams.docs.flow import processors_page, tables_page, topics_page
from streams.docs.http import metrics_page
from streams.docs.lineage import lineage_page
from streams.docs.machines import machines_page
from streams.docs.masking import masking_page
from streams.docs.use import cli_page, rules_page, settings_page

DIRECTORY = Path(__file__).resolve().parents[2] / "docs" / "reference"
NOTICE = "<!-- Written by `python -m streams.docs`; edit the declarations, not this page. -->"

PAGES: Mapping[str, Callable[[], str]] = {
    "topics": topics_page,
    "tables": tables_page,
    "processors": processors_page,
    "lineage": lineage_page,
    "machines": machines_page,
    "rules": rules_page,
    "masking": masking_page,
    "settings": settings_page,
    "metrics": metrics_page,
    "cli": cli_page,
}


def render() -> dict[str, str]:
    """Every page by file name."""
    return {f"{name}.md": f"{NOTICE}\n\n{page()}" for name, page in PAGES.items()}


def drift(directory: Path = DIRECTORY) -> list[str]:
    """The files that are not what the declarations say, or have no page, by name."""
    pages = render()
    there = {path.name: path.read_text(encoding="utf-8") for path in directory.glob("*.md")}
    names = sorted(pages.keys() | there.keys())
    return [name for name in names if pages.get(name) != there.get(name)]


def write(directory: Path = DIRECTORY) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in render().items():
        (directory / name).write_text(text, encoding="utf-8")
