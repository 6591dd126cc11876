"""Runs a command, and passes so much of its standard output on and no more.

It is a process of its own between an MCP server and the SDK, which reads a line of any length:

    python -I -S foreign_stdio.py MOST_BYTES COMMAND [ARGUMENT...]

Standard input and standard error are the command's own.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import BinaryIO, cast

_PART_BYTES = 1 << 16


def command_of(most_bytes: int, command: Sequence[str]) -> list[str]:
    """Return the command line that runs a command with a bound on its output."""
    return [sys.executable, "-I", "-S", __file__, str(most_bytes), *command]


def run(most_bytes: int, command: Sequence[str], output: BinaryIO) -> int | str:
    """Run the command; return its exit code, or what is wrong with it."""
    left = most_bytes
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as process:
        source = cast(BinaryIO, process.stdout)
        while part := source.read(_PART_BYTES):
            left -= len(part)
            if left < 0:
                process.kill()
                return f"the server sends more than {most_bytes} bytes"
            output.write(part)
            output.flush()
    return process.returncode


if __name__ == "__main__":
    sys.exit(run(int(sys.argv[1]), sys.argv[2:], sys.stdout.buffer))
