"""What the service is made of may be used and passed on: the licences of all that it requires."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.data.test_requirements import EXTRAS, FILES, ROOT, pins

ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "PSF-2.0",
    "Unlicense",
    "Zlib",
}
"""Permissive ones, and MPL 2.0, which asks for changes to its own files only."""
CLASSIFIED = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "Repoze Public License": "BSD-3-Clause",  # of the same terms, and a clause on trademarks
}


def licences(name: str) -> set[str]:
    """By SPDX, or as the package says it; all that its expression names."""
    fields = metadata(name)
    if "License-Expression" in fields:
        return set(re.split(r"[()\s]+", fields["License-Expression"])) - {"", "AND", "OR"}
    marks = [c.rpartition(" :: ")[2] for c in fields.get_all("Classifier") or [] if "License" in c]
    named = {CLASSIFIED.get(mark, mark) for mark in marks if mark != "DFSG approved"}
    text = fields["License"].strip() if "License" in fields else "none"
    return named or {CLASSIFIED.get(text, text)}


def closure(name: str) -> Iterator[str]:
    """Yield a package that an extra installs, and what that package needs in turn."""
    yield name
    for needed in map(Requirement, requires(name) or ()):
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            yield from closure(canonicalize_name(needed.name))


OF_EXTRAS = {each for entries in EXTRAS.values() for name in entries for each in closure(name)}
PINNED = pins(FILES[1])


def test_there_are_requirements() -> None:
    assert len(pins(FILES[0])) > 20
    assert {"docker", "urllib3"} <= OF_EXTRAS


@pytest.mark.parametrize("name", sorted({*pins(FILES[0]), *OF_EXTRAS}))
def test_every_requirement_may_be_used(name: str) -> None:
    line = PINNED[name].partition("--hash")[0]
    marker = Requirement(line).marker
    try:
        names = licences(name)
    except PackageNotFoundError:
        assert marker is not None, f"{name} is not installed"
        assert not marker.evaluate(), f"{name} is not installed"
        return
    assert names <= ALLOWED, f"{name}: {names}"


NATIVE = ROOT / "native"
OF_CRATES = ALLOWED | {"Apache-2.0 WITH LLVM-exception", "Unicode-3.0"}


def test_every_crate_of_the_codec_may_be_used() -> None:
    """Of each licence that an expression requires, one alternative is allowed."""
    if shutil.which("cargo") is None or not (NATIVE / "Cargo.lock").exists():
        pytest.skip("the codec is not built here: cargo knows no licences")
    host = re.search(r"host: (\S+)", _run("rustc", "-vV").stdout)
    assert host
    options = ("--format-version=1", "--locked", "--offline", f"--filter-platform={host[1]}")
    ran = _run("cargo", "metadata", *options)
    if ran.returncode != 0:
        pytest.skip("the crates are not on this machine")
    crates = {each["name"]: each["license"] for each in json.loads(ran.stdout)["packages"]}
    assert {"pyo3", "serde_json"} <= crates.keys()
    for name, expression in crates.items():
        for required in expression.split(" AND "):
            assert OF_CRATES & set(re.split(" OR |/", required.strip("()"))), name


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=NATIVE, capture_output=True, text=True, timeout=60, check=False
    )
