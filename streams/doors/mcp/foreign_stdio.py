"""Runs a command, and passes so much of its standard output on and no more.

It is a process of its own between an MCP server and the SDK, which reads a line of any length:

    python -I -S foreign_stdio.py all|line MOST_BYTES COMMAND [ARGUMENT...]

Standard input and standard error are the command's own.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import BinaryIO, cast

_PART_BYTES = 1 << 16
_ALL, _LINE = "all", "line"


def command_of(most_bytes: int, command: Sequence[str], each_line: bool = False) -> list[str]:
    """Return the command line that runs a command with a bound on its output.

    each_line: the bound holds for each line, to within 64 KiB, instead of all of them.
    """
    scope = _LINE if each_line else _ALL
    return [sys.executable, "-I", "-S", __file__, scope, str(most_bytes), *command]


def run(scope: str, most_bytes: int, command: Sequence[str], output: BinaryIO) -> int | str:
    """Run the command; return its exit code, or what is wrong with it."""
    left = most_bytes
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as process:
        source = cast(BinaryIO, process.stdout)
        while part := source.read(_PART_BYTES):
            if scope == _LINE and (end := part.rfind(b"\n")) >= 0:
                left = most_bytes + end + 1
            left -= len(part)
            if left < 0:
                process.kill()
                return f"the server sends more than {most_bytes} bytes"
            output.write(part)
            output.flush()
    return process.returncode


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], int(sys.argv[2]), sys.argv[3:], sys.stdout.buffer))
