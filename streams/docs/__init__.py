"""The reference in docs/reference, made from the declarations: pages, and the AsyncAPI document.

`python -m streams.docs` writes them; with `--check` it writes nothing, and exits 1 naming the
pages that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from streams.api.asyncapi import document
from streams.docs.analytics import analytics_page
from streams.docs.flow import processors_page, tables_page, topics_page
from streams.docs.headers import headers_page
from streams.docs.http import metrics_page
from streams.docs.lineage import lineage_page
from streams.docs.lines import lines
from streams.docs.machines import machines_page
from streams.docs.masking import masking_page
from streams.docs.mcp import mcp_page
from streams.docs.routes import routes_page
from streams.docs.use import cli_page, rules_page, settings_page
from streams.settings import Settings

DIRECTORY = Path(__file__).resolve().parents[2] / "docs" / "reference"
NOTICE = "<!-- Written by `python -m streams.docs`; edit the declarations, not this page. -->"

PAGES: Mapping[str, Callable[[], str]] = {
    "topics": topics_page,
    "tables": tables_page,
    "headers": headers_page,
    "processors": processors_page,
    "lineage": lineage_page,
    "analytics": analytics_page,
    "machines": machines_page,
    "rules": rules_page,
    "masking": masking_page,
    "settings": settings_page,
    "metrics": metrics_page,
    "http": routes_page,
    "mcp": mcp_page,
    "cli": cli_page,
}


def render() -> dict[str, str]:
    """Return the text of every generated file by its name."""
    pages = {f"{name}.md": f"{NOTICE}\n\n{page()}" for name, page in PAGES.items()}
    return {**pages, "asyncapi.json": f"{lines(document(Settings()))}\n"}


def drift(directory: Path = DIRECTORY) -> list[str]:
    """Return the names of the files that differ from what the declarations generate."""
    pages = render()
    there = {path.name: path.read_text(encoding="utf-8") for path in directory.iterdir()}
    names = sorted(pages.keys() | there.keys())
    return [name for name in names if pages.get(name) != there.get(name)]


def write(directory: Path = DIRECTORY) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in render().items():
        (directory / name).write_text(text, encoding="utf-8")
