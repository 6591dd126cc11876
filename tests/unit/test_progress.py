"""Bars while a terminal is watched; else nothing."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from contextlib import suppress

from tests.processes import ROOT

WORK = """
import sys
from streams.telemetry import progress
progress.AFTER_S = 0
for item in progress.count_items(range(3), "redrive", 3):
    print("item", item)
with progress.reading("restore", {"a": 5}, {"a": 9}) as told:
    told(lambda place: 8)
with progress.progress("quick", 7) as bar:
    pass
print("last", file=sys.stderr)
"""


def watched(work: str, stdout: int = subprocess.PIPE) -> tuple[str, str]:
    """stdout, and what a terminal on stderr shows."""
    ours, theirs = pty.openpty()
    blocks: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # so a terminal ends
            while block := os.read(ours, 65536):
                blocks.append(block)

    reader = threading.Thread(target=read)
    reader.start()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    command = [sys.executable, "-c", work]
    process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=stdout, stderr=theirs)
    os.close(theirs)
    out, _ = process.communicate(timeout=120)
    reader.join(120)
    os.close(ours)
    assert process.returncode == 0
    return (out or b"").decode(), b"".join(blocks).decode()


def test_a_terminal_shows_how_far_it_is() -> None:
    out, screen = watched(WORK)
    assert out == "item 0\nitem 1\nitem 2\n"
    assert "redrive" in screen
    assert "3/3" in screen
    assert "restore" in screen
    assert "3/4" in screen
    assert "quick" not in screen, "what makes no step shows no bar"
    assert "last" in screen
    assert screen.count("\x1b[?25h") >= screen.count("\x1b[?25l") > 0, "the cursor comes back"


def test_without_a_terminal_nothing_is_said() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WORK], cwd=ROOT, capture_output=True, timeout=120, check=True
    )
    assert done.stdout == b"item 0\nitem 1\nitem 2\n"
    assert done.stderr == b"last\n"


def test_without_a_terminal_nothing_is_loaded() -> None:
    check = f"{WORK}\nassert 'rich' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], cwd=ROOT, capture_output=True, check=True)


def test_an_interrupted_work_leaves_the_terminal_as_it_was() -> None:
    work = WORK.replace('print("item", item)', "break")
    _, screen = watched(work)
    assert screen.count("\x1b[?25h") >= screen.count("\x1b[?25l")
