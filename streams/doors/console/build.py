"""`BUILD.json`: the hashes of what the console's files were built from, and of the files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

NAME = "BUILD.json"
FOLDER = Path(__file__).parent / "assets"
"""The built files that the wheel contains."""


class BuildInvalid(Exception):
    """The built files are missing, or not those of `BUILD.json`."""


class Build(NamedTuple):
    """The content of `BUILD.json`.  All hashes are SHA-256, in hex.

    sources: by path from the root of the repository.  document: of the OpenAPI document.
    built: by path from the folder of the built files.
    """

    sources: Mapping[str, str]
    document: str
    built: Mapping[str, str]


def read_build(folder: Path) -> Build:
    """Read the file of a folder.  Raises BuildInvalid."""
    path = folder / NAME
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as exc:
        raise BuildInvalid(f"{path}: {exc}") from exc
    match value:
        case {"sources": sources, "document": str(document), "built": built} if _is_hashes(
            sources
        ) and _is_hashes(built):
            return Build(sources, document, built)
    raise BuildInvalid(f"{path} has not the members {', '.join(Build._fields)}")


def _is_hashes(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def read_built(folder: Path) -> dict[str, bytes]:
    """Read the built files of a folder, by path.  Raises BuildInvalid if one is another."""
    build = read_build(folder)
    try:
        files = {name: (folder / name).read_bytes() for name in build.built}
    except OSError as exc:
        raise BuildInvalid(f"{folder}: {exc}") from exc
    if stale := sorted(find_stale(build.built, hash_files(files))):
        raise BuildInvalid(f"{folder}: not as in {NAME}: {', '.join(stale)}")
    return files


def hash_files(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: sha256(content).hexdigest() for name, content in files.items()}


def find_stale(recorded: Mapping[str, str], current: Mapping[str, str]) -> Iterator[str]:
    """Yield each name whose hash differs, and each that only one of both has."""
    for name in recorded.keys() | current.keys():
        if recorded.get(name) != current.get(name):
            yield name
