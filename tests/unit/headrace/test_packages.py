"""Importing headrace says when other packages have the names of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.packages import PACKAGES, PackageShadowed, require_own_packages
from tests.processes import ROOT

OWN = '__distribution__ = "headrace"\n'


def site(folder: Path) -> Path:
    """Lay out an installation whose packages are empty but for their mark."""
    shutil.copytree(ROOT / "headrace", folder / "headrace")
    for name in PACKAGES:
        package(folder, name, OWN)
    return folder


def package(folder: Path, name: str, text: str) -> None:
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "__init__.py").write_text(text)


def imported(*path: Path, statement: str = "import headrace") -> str:
    """Return the last line of what Python says when it imports headrace from this path."""
    ran = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            f"import sys; sys.path[:0] = {[*map(str, path)]}\n{statement}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return ran.stderr.strip().rpartition("\n")[2]


def test_this_checkout_is_its_own() -> None:
    require_own_packages()
    assert issubclass(PackageShadowed, ImportError)


def test_an_installation_of_its_own_packages_says_nothing(tmp_path: Path) -> None:
    assert imported(site(tmp_path)) == ""


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_in_front_is_named_with_its_path(tmp_path: Path, name: str) -> None:
    package(tmp_path / "mine", name, "")
    message = imported(tmp_path / "mine", site(tmp_path / "site"))
    assert message.startswith("headrace.packages.PackageShadowed: This Python imports another")
    assert f"`{name}`, {tmp_path}/mine/{name}/__init__.py" in message
    assert "Rename that folder, or start Python elsewhere." in message


def test_the_distribution_that_has_overwritten_a_package_is_named(tmp_path: Path) -> None:
    package(site(tmp_path), "streams", "VERSION = '3'\n")
    metadata = tmp_path / "data_streams-3.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: data-streams\nVersion: 3.0\n")
    (metadata / "top_level.txt").write_text("streams\n")
    message = imported(tmp_path)
    assert "has overwritten headrace's package `streams`" in message
    assert "`streams` also belongs to data-streams" in message


def test_a_package_that_is_missing_is_named(tmp_path: Path) -> None:
    shutil.rmtree(site(tmp_path) / "topology")
    assert "has no package `topology`" in imported(tmp_path)


def test_the_command_says_it_too(tmp_path: Path) -> None:
    package(tmp_path / "mine", "streams", "")
    statement = "import headrace.__main__"
    assert "PackageShadowed" in imported(
        tmp_path / "mine", site(tmp_path / "s"), statement=statement
    )
