"""The pages for those who change headrace name modules, folders and files that are there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from streams.processing.command_side import CommandSide
from streams.protocols.commands import COMMANDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()
PAGES = (
    "docs/architecture.md",
    "docs/extending.md",
    "streams/README.md",
    "streams/engine/README.md",
    "streams/protocols/README.md",
)
NAMED = "".join((ROOT / page).read_text() for page in PAGES)
MODULES = sorted(set(re.findall(r"`((?:streams|topology|schemas)(?:\.\w+)+)`", NAMED)))
FILES = sorted(set(re.findall(r"`((?:streams|topology|schemas|tests|docs)/[\w./]+)`", NAMED)))
EXTENDING = (ROOT / "docs/extending.md").read_text()
FOLDERS = sorted(set(re.findall(r"`(streams/\w+)[/`]", PAGE)))


@pytest.mark.parametrize("name", MODULES)
def test_a_module_of_the_page_is_there(name: str) -> None:
    assert importlib.util.find_spec(name) is not None


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_the_page_is_there(name: str) -> None:
    assert (ROOT / name).exists()


@pytest.mark.parametrize("checklist", re.split(r"^## ", EXTENDING, flags=re.MULTILINE)[1:])
def test_each_checklist_names_the_test_that_follows_it(checklist: str) -> None:
    assert re.search(r"^[^|]*[Tt]ested\s+by\s+`tests/", checklist, re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("streams/")])
def test_a_readme_of_a_folder_is_short(page: str) -> None:
    assert len((ROOT / page).read_text().splitlines()) <= 14


def test_the_page_names_every_folder_of_streams() -> None:
    rooms = {f"streams/{path.parent.name}" for path in (ROOT / "streams").glob("*/__init__.py")}
    assert rooms == set(FOLDERS)


@pytest.mark.parametrize("side", COMMANDS, ids=lambda side: side.name)
@pytest.mark.parametrize("name", ["ingress.py", "fold.py", "as_of.py", "checks.py", "routes.py"])
def test_each_protocol_has_the_files_of_the_page(side: CommandSide, name: str) -> None:
    assert f"`{name}`" in PAGE
    is_needed = bool(side.folds) or name not in ("fold.py", "as_of.py")
    assert (ROOT / "streams/protocols" / side.name / name).exists() == is_needed
