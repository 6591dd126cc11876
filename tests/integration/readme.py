"""The README's fenced blocks, and how their commands are run and compared with what is printed."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
GATEWAY = "http://127.0.0.1:8640"
MORE = "…"
"""As the last line of an output: there is more."""

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r'"(applied|lag)":\d+'), r'"\1":<number>'),
    (re.compile(r"demo-[0-9a-f]{8}"), "<session>"),
    (re.compile(r'"ageSec":\d+'), '"ageSec":<number>'),
)


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
        return " send " not in self.command and "--json" not in self.command


def blocks(info: str) -> list[Block]:
    return [Block(*found) for found in _FENCE.findall(README.read_text()) if found[0] == info]


def output_of(block: Block) -> list[str]:
    """The lines of the text block that follows at once."""
    _, _, after = README.read_text().partition(block.text + "```\n")
    found = _FENCE.match(after.lstrip("\n"))
    assert found is not None
    assert found[1] == "text", "a program is followed by what it prints"
    return found[2].splitlines()


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
