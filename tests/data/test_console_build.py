"""The built files of the console are those of its sources: `make console` builds them anew."""

from __future__ import annotations

import json
import re
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from streams.doors.console.build import (
    FOLDER,
    NAME,
    BuildInvalid,
    find_stale,
    hash_files,
    read_build,
)
from streams.gateway.openapi.__main__ import render
from tests.unit.doors.console.site import write_site

ROOT = Path(__file__).parents[2]
FORBIDDEN = re.compile(
    r"\b(outerHTML|insertAdjacentHTML|document\.write|srcdoc|new Function)\b|\beval\("
)


def list_sources() -> dict[str, bytes]:
    """Read what Git has, or would add, below `web/`."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "web"]
    names = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return {name: (ROOT / name).read_bytes() for name in names if (ROOT / name).is_file()}


def list_built(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != NAME)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_the_sources_are_those_that_were_built() -> None:
    stale = sorted(find_stale(read_build(FOLDER).sources, hash_files(list_sources())))
    assert not stale, f"run `make console`; changed since the build: {stale}"


def test_the_types_are_of_the_present_document() -> None:
    current = sha256(render().encode()).hexdigest()
    message = "run `make console`; `python -m streams.gateway.openapi` prints another document"
    assert read_build(FOLDER).document == current, message


def test_the_built_files_are_those_of_the_build() -> None:
    stale = sorted(find_stale(read_build(FOLDER).built, hash_files(list_built(FOLDER))))
    assert not stale, f"run `make console`; not as built: {stale}"


def test_the_built_scripts_put_no_text_into_markup() -> None:
    for name, content in list_built(FOLDER).items():
        if name.endswith(".js"):
            assert FORBIDDEN.findall(content.decode()) == [], name


def test_what_is_stale_is_named(tmp_path: Path) -> None:
    folder = write_site(tmp_path)
    build = read_build(folder)
    assert not list(find_stale(build.built, hash_files(list_built(folder))))
    (folder / "icon.svg").unlink()
    (folder / "index.html").write_bytes(b"x")
    (folder / "extra.js").write_bytes(b"y")
    stale = set(find_stale(build.built, hash_files(list_built(folder))))
    assert stale == {"icon.svg", "index.html", "extra.js"}
    (folder / NAME).write_text('{"sources": {}}')
    with pytest.raises(BuildInvalid, match="has not the members"):
        read_build(folder)


def test_the_document_is_the_same_each_time() -> None:
    assert render() == render()
    assert {"/v1/session", "/v1/views", "/v1/rtes/stream"} <= json.loads(render())["paths"].keys()


def test_a_hash_is_sha_256() -> None:
    assert hash_files({"a": b"x"}) == {"a": sha256(b"x").hexdigest()}
