"""The page on architecture names modules, folders and files that are there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from streams.protocols.commands import COMMANDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()
MODULES = sorted(set(re.findall(r"`((?:streams|topology|schemas)(?:\.\w+)+)`", PAGE)))
FOLDERS = sorted(set(re.findall(r"`(streams/\w+)[/`]", PAGE)))


@pytest.mark.parametrize("name", MODULES)
def test_a_module_of_the_page_is_there(name: str) -> None:
    assert importlib.util.find_spec(name) is not None


def test_the_page_names_every_folder_of_streams() -> None:
    rooms = {f"streams/{path.parent.name}" for path in (ROOT / "streams").glob("*/__init__.py")}
    assert rooms == set(FOLDERS)


@pytest.mark.parametrize("protocol", [side.name for side in COMMANDS])
@pytest.mark.parametrize("name", ["ingress.py", "fold.py", "as_of.py", "checks.py", "routes.py"])
def test_each_protocol_has_the_files_of_the_page(protocol: str, name: str) -> None:
    assert f"`{name}`" in PAGE
    assert (ROOT / "streams/protocols" / protocol / name).exists()
