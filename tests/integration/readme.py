"""Fenced blocks of a page, and how their commands are run and compared with what is printed."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.integration.system import Live
from tests.processes import PATIENCE_S, environ_of, named

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TOUR = ROOT / "docs" / "tour.md"
GATEWAY = "http://127.0.0.1:8640"
MORE = "…"
"""As the last line of an output: there is more."""

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\b\d\d:\d\d:\d\d\.\d{3}\b"), "<clock>"),
    (re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r'"(applied|lag)":\d+'), r'"\1":<number>'),
    (re.compile(r"demo-[0-9a-f]{8}"), "<session>"),
    (re.compile(r'"ageSec":\d+'), '"ageSec":<number>'),
    (re.compile(r"key_id +[0-9a-f]{16}"), "key_id <id>"),
)
_FIGURES = re.compile(r"[0-9A-Z]{26}|[0-9a-f-]{8,}|\d[\d.]*")


class Block(NamedTuple):
    """A fenced block.  info: the word behind the fence."""

    info: str
    text: str


class Example(NamedTuple):
    """A command line, and what it prints."""

    command: str
    output: list[str]

    @property
    def cut(self) -> bool:
        """Whether only the beginning of the output is shown."""
        return self.output[-1:] == [MORE]

    @property
    def reads(self) -> bool:
        """Whether it can be run again without a further effect."""
        writes = (" send ", "--json @", " audit key", " audit write", ">")
        return not any(each in self.command for each in writes)


def blocks(info: str, page: Path = README) -> list[Block]:
    return [Block(*parts) for parts in _FENCE.findall(page.read_text()) if parts[0] == info]


def commands(page: Path, not_here: tuple[str, ...]) -> list[Example]:
    """Of all console blocks, but for those that begin so."""
    every_example = [example for block in blocks("console", page) for example in examples(block)]
    return [example for example in every_example if not example.command.startswith(not_here)]


def output_of(block: Block) -> list[str]:
    """The lines of the text block that follows at once."""
    _, _, after = README.read_text().partition(block.text + "```\n")
    match = _FENCE.match(after.lstrip("\n"))
    assert match is not None
    assert match[1] == "text", "a program is followed by what it prints"
    return match[2].splitlines()


def told_of_demo() -> list[str]:
    """What `make demo` prints, as the README quotes it."""
    block = next(each for each in blocks("text") if "checks hold" in each.text)
    return [line for line in block.text.splitlines() if line != MORE]


def quoted(lines: Iterable[str], output: Iterable[str]) -> str | None:
    """The first line that is not in the output behind the one before, whatever its figures are."""
    masked_lines = (_FIGURES.sub("#", line) for line in output)
    return next((line for line in lines if _FIGURES.sub("#", line) not in masked_lines), None)


def examples(block: Block) -> Iterator[Example]:
    """The commands of a console block."""
    for part in re.split(r"^\$ ", block.text.replace("\\\n", ""), flags=re.M)[1:]:
        command, *output = part.splitlines()
        yield Example(command, output)


def plain(lines: list[str], prefix: str) -> list[str]:
    """Without what differs from run to run.  prefix: of topic names."""
    text = "\n".join(lines).replace(prefix, "")
    for pattern, stands in _VARIES:
        text = pattern.sub(stands, text)
    return text.splitlines()


def run_example(
    example: Example, system: Live, environ: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """What a command prints on this system, and what its page says, both without what differs.

    One that only reads is asked again until it has it, if the page shows any.
    """
    lines = example.output[:-1] if example.cut else example.output
    command, count = here(example.command, system), len(lines) if example.cut else None
    expected = plain(lines, "")
    deadline = time.monotonic() + PATIENCE_S
    once = not (example.reads and example.output)
    while True:
        printed = plain(run(command, count, environ), system.prefix)
        if printed == expected or once or time.monotonic() > deadline:
            return printed, expected


def here(command: str, system: Live) -> str:
    """A command for this system, which has another address and a prefix."""
    command = command.replace(GATEWAY, system.url)
    command = command.replace("after=", f"after={system.prefix}")
    command = re.sub(r"(--(after|as-of) )(?=[a-z])", rf"\1{system.prefix}", command)
    return command.replace(".venv/bin/headrace", f"{sys.executable} -m streams.cli")


def environ_for(system: Live, folder: Path) -> dict[str, str]:
    """What the commands see: the settings of the system, a curl, and a home.

    folder: for these and for state.
    """
    if shutil.which("curl") is None:
        curl = folder / "curl"
        curl.write_text(f'#!/bin/sh\nexec {sys.executable} -m tests.integration.curl "$@"\n')
        curl.chmod(0o755)
    settings = {**system.environ, "STATE_DIR": str(folder / "state")}
    path = f"{folder}:{os.environ['PATH']}"
    return {**environ_of(named(settings)), "PATH": path, "HOME": str(folder)}


def run(command: str, count: int | None, environ: Mapping[str, str]) -> list[str]:
    """What a command of the shell prints; with a count only so many lines of it."""
    process = subprocess.Popen(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=ROOT,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with process:
        if count is None:
            return process.communicate(timeout=60)[0].decode().splitlines()
        try:
            return _first_lines(process, count)
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def _first_lines(process: subprocess.Popen[bytes], count: int) -> list[str]:
    assert process.stdout is not None
    text, deadline = b"", time.monotonic() + 20
    while text.count(b"\n") < count and time.monotonic() < deadline:
        if select.select([process.stdout], [], [], 1)[0]:
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            if not chunk:
                break
            text += chunk
    return text.decode().splitlines()[:count]
