"""The pinned requirements: whole, hashed, and free of index addresses."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = (
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-build.txt",
    "requirements-audit.txt",
)
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]


def pins(name: str) -> dict[str, str]:
    """Return what a file pins, by normalised name: version, marker and hashes."""
    text = (ROOT / name).read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    return {re.split(r"[=\[]", line)[0]: line for line in lines}


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!~; ]", requirement)[0].lower() for requirement in requirements}


OPTIONAL: dict[str, list[str]] = PROJECT["optional-dependencies"]
EXTRAS = {extra: names(entries) for extra, entries in OPTIONAL.items() if extra != "dev"}
"""What each extra for users of the service installs."""


@pytest.mark.parametrize("name", FILES)
def test_every_requirement_is_pinned_with_hashes(name: str) -> None:
    for line in pins(name).values():
        assert re.match(r"[a-z0-9-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", line), line


@pytest.mark.parametrize("name", FILES)
def test_no_index_is_named(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert not re.search(r"^\s*--(?!hash)|^-[a-z]", text, re.MULTILINE)


def test_what_the_project_declares_is_pinned() -> None:
    runtime, dev = set(pins(FILES[0])), set(pins(FILES[1]))
    assert names(PROJECT["dependencies"]) <= runtime
    assert names([*PROJECT["dependencies"], *chain(*OPTIONAL.values())]) <= dev


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_the_base_installs_no_extra(extra: str) -> None:
    assert not EXTRAS[extra] & set(pins(FILES[0]))


def test_what_builds_the_wheel_is_pinned() -> None:
    assert names(PYPROJECT["build-system"]["requires"]) <= set(pins("requirements-build.txt"))


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-build.txt"])
def test_the_development_pins_the_same_versions(name: str) -> None:
    development = {line.split()[0] for line in pins("requirements-dev.txt").values()}
    assert {line.split()[0] for line in pins(name).values()} <= development
