"""A manifest: a committed file with the SHA-256 of each text, in the format of `sha256sum`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

Texts = Mapping[str, str]
"""Texts by name.  A name is a path: the first part says what it is about."""
HERE = Path(__file__).parent


class Difference(NamedTuple):
    """A line of a manifest that does not hold.  kind: changed, new or missing."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind:<7}  {self.name}"


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def path_of(manifest: str) -> Path:
    return HERE / f"{manifest}.txt"


def read(manifest: str) -> dict[str, str]:
    """Digests by name."""
    lines = path_of(manifest).read_text(encoding="utf-8").splitlines()
    pairs = (line.split("  ", 1) for line in lines)
    return {name: figure for figure, name in pairs}


def write(manifest: str, texts: Texts) -> None:
    lines = (f"{digest(text)}  {name}\n" for name, text in sorted(texts.items()))
    path_of(manifest).write_text("".join(lines), encoding="utf-8")


def compare(digests: Mapping[str, str], texts: Texts) -> Iterator[Difference]:
    """Name the texts that do not have these digests, in order."""
    for name in sorted(digests.keys() | texts.keys()):
        if name not in texts:
            yield Difference("missing", name)
        elif name not in digests:
            yield Difference("new", name)
        elif digest(texts[name]) != digests[name]:
            yield Difference("changed", name)


def save(texts: Texts, folder: Path) -> None:
    """Write each text to the file of its name below a folder."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
