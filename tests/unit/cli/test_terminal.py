"""Check what a command prints on a real pseudo-terminal, asked through a gateway."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.processes import ROOT, environ_of, named
from tests.unit.cli.stub_gateway import StubGateway

PACKET = {
    "packet_id": "7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730",
    "packet_type": "IDEA",
    "run_phase": "EXECUTION",
    "lifecycle_state": "REJECTED_POLICY",
    "created_at": "2026-01-01T12:00:29.511Z",
    "session_id": "sess-01",
    "sender": "builder-1",
    "recipients": ["sentinel-1"],
    "verdict": "rejected",
    "rule": "phase_type",
    "message": "IDEA is not allowed in EXECUTION, \x1b[2J[bold]nor elsewhere[/bold]. " * 5,
    "position": "apc.packets/0/2",
}
NARROW = """\
time                     packet    type  from → to     state         verdict
2026-01-01 12:00:29.511  7f0c2f5d  IDEA  builder-1 →…  REJECTED_PO…  ✖ refused
                         phase_type: IDEA is not allowed in EXECUTION, \\x1b[2…
1 packet, 1 refused.
Why: headrace apc explain --session-id sess-01 --packet-id 7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730
"""
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def run(words: str, columns: int, environ: dict[str, str]) -> str:
    """Run a command on a terminal of that width, and return all that it prints."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-m", "streams.cli", *words.split()],
        cwd=ROOT,
        env=environ,
        stdin=follower,
        stdout=follower,
        stderr=follower,
    ) as process:
        os.close(follower)
        printed = b""
        while chunk := _read(leader):
            printed += chunk
    os.close(leader)
    assert process.returncode == 0, printed
    return printed.decode().replace("\r\n", "\n")


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 1 << 16)
    except OSError:  # Linux says so when the other end is closed
        return b""


@pytest.fixture
def environ(gateway: StubGateway, tmp_path: Path) -> dict[str, str]:
    gateway.body = {"packets": [PACKET], "events": []}
    settings = {"STATE_DIR": str(tmp_path), "URL": f"http://{gateway.address}"}
    variables = environ_of(named(settings))
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        variables.pop(name, None)
    return {**variables, "TERM": "xterm", "PYTHONUTF8": "1"}


def test_a_table_fits_the_terminal_in_colours(environ: dict[str, str]) -> None:
    printed = run("apc trace --session-id sess-01", 78, environ)
    assert "\x1b[31m✖ refused" in printed
    assert ANSI.sub("", printed) == NARROW
    wide = ANSI.sub("", run("apc trace --session-id sess-01", 200, environ)).splitlines()
    assert wide[1].split() == [
        *("2026-01-01", "12:00:29.511", "7f0c2f5d", "IDEA", "EXECUTION"),
        *("builder-1", "→", "sentinel-1", "REJECTED_POLICY", "✖", "refused", "phase_type"),
    ]
    assert max(map(len, wide)) <= 200


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_text_without_colours(variable: dict[str, str], environ: dict[str, str]) -> None:
    assert run("apc trace --session-id sess-01", 78, {**environ, **variable}) == NARROW


def test_an_old_name_hints_at_the_new_one(
    environ: dict[str, str],
    gateway: StubGateway,
) -> None:
    gateway.body = {"items": [], "next": None}
    printed = run("sap-learning consult.align", 80, environ)
    assert printed.splitlines()[0] == "sap-learning is now: headrace sap learning"
