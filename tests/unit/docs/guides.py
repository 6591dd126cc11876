"""The guides of protocols, and the commands in them with what they print."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from streams.docs.guides import guides

ROOT = Path(__file__).resolve().parents[3]
GUIDES = guides()
MORE = "…"
_FENCE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROGRAM = re.compile(
    r"^```python\n((?:(?!```).*\n)*)```\n\n```text\n((?:(?!```).*\n)*)```$", re.MULTILINE
)


class Command(NamedTuple):
    """A command of a guide, the variables set for it, and the lines that it prints."""

    guide: str
    environ: dict[str, str]
    arguments: list[str]
    printed: list[str]

    def __str__(self) -> str:
        return f"{self.guide}: {shlex.join(self.arguments)}"


class Program(NamedTuple):
    """A program of a guide, and what it prints."""

    guide: str
    source: str
    printed: str

    def __str__(self) -> str:
        return f"{self.guide}: {self.source.strip().splitlines()[-1]}"


def programs(guide: Path) -> Iterator[Program]:
    """Yield the programs of a guide that are followed by what they print."""
    for source, printed in _PROGRAM.findall(guide.read_text(encoding="utf-8")):
        yield Program(guide.stem, source, printed)


def excerpts(guide: Path) -> Iterator[str]:
    """Yield all programs and parts of programs in a guide."""
    yield from _PYTHON.findall(guide.read_text(encoding="utf-8"))


def commands(guide: Path) -> Iterator[Command]:
    """Yield the commands of `headrace` in the console blocks of a guide."""
    for block in _FENCE.findall(guide.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
            line, *printed = part.splitlines()
            words = shlex.split(line)
            start = words.index("headrace")
            environ = dict(word.split("=", 1) for word in words[:start])
            yield Command(guide.stem, environ, words[start + 1 :], printed)


def missing_line(expected: Sequence[str], output: str) -> str | None:
    """Return the first expected line that is not in the output behind the one before.

    A JSON object stands for one that has its members; `…` stands for any lines.
    """
    printed = iter([*_documents(output), *output.splitlines()])
    for line in expected:
        if line == MORE or not line.strip():
            continue
        part = _parsed(line)
        if not any(_is_part(part, each) for each in printed):
            return line
    return None


def _documents(output: str) -> list[Any]:
    """Return the JSON values of an output: the whole text, or one in each line."""
    whole = _parsed(output)
    if not isinstance(whole, str):
        return [whole]
    return [value for line in output.splitlines() if not isinstance(value := _parsed(line), str)]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.rstrip()


def _is_part(part: Any, whole: Any) -> bool:
    """Return whether a value has all members of another; lists have the same length."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(name in whole and _is_part(value, whole[name]) for name, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) == len(whole) and all(map(_is_part, part, whole))
    return bool(part == whole)
