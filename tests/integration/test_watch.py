"""`headrace watch` on a pseudo-terminal, beside a real worker and a gateway that comes and goes."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.system import Live, live
from tests.processes import ROOT, environ_of, named, wait_for
from tests.unit.envelopes import idea, transition

ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[^\[])")
LEAVE_SCREEN = "\x1b[?1049l"


class Terminal:
    """A terminal of 80 columns, 24 lines and 16 colours, in which a command runs."""

    def __init__(self, *words: str, **settings: str) -> None:
        self._leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environ = environ_of(named(settings))
        for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "COLORTERM"):
            environ.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "streams.cli", *words],
            cwd=ROOT,
            env={**environ, "TERM": "xterm", "PYTHONUTF8": "1"},
            stdin=follower,
            stdout=follower,
            stderr=follower,
        )
        os.close(follower)
        self._written = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(self._leader, 1 << 16)
            except OSError:  # Linux says so when the other end is closed
                return
            self._written += chunk

    @property
    def written(self) -> str:
        return self._written.decode(errors="replace")

    def press(self, *keys: str) -> None:
        for key in keys:
            os.write(self._leader, key.encode())

    def wait_text(self, text: str, after: int = 0) -> int:
        """Wait until a text was drawn, and return how much had been written then."""

        def is_drawn() -> bool:
            drawn = text in ANSI.sub("", self.written[after:])
            assert drawn or self.process.poll() is None, self.written[-3000:]
            return drawn

        wait_for(is_drawn, f"watch draws {text!r}")
        return len(self.written)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(10)
        os.close(self._leader)


@contextmanager
def watching(*words: str, **settings: str) -> Iterator[Terminal]:
    terminal = Terminal("watch", "--interval", "0.2", *words, **settings)
    try:
        yield terminal
    finally:
        terminal.close()


def send_refused(system: Live) -> str:
    """Send a packet that is refused, and return the first characters of its id."""
    packet_id = str(uuid.uuid4())
    packet = idea(packet_id=packet_id, run_phase="EXECUTION", trace__root_packet_id=packet_id)
    with system.client as client:
        sent = client.post("/v1/apc/packets", json=packet)
        assert sent.status_code == 202, sent.text
    return packet_id[:8]


def send_event(system: Live, session: str) -> None:
    event = {
        **transition(),
        "event_id": str(uuid.uuid4()),
        "session_id": session,
        "payload": {
            "type": "THOUGHT_STREAM",
            "agent_id": "architect",
            "turn_index": 0,
            "chunk": "[bold]Is[/bold] this text?",
            "is_final": True,
        },
    }
    with system.client as client:
        sent = client.post("/v1/rtes/events", json=event)
        assert sent.status_code == 202, sent.text


def test_what_is_decided_and_recorded_is_seen_at_once(system: Live, tmp_path: Path) -> None:
    session = f"w-{uuid.uuid4().hex[:6]}"
    with watching("--session", session, URL=system.url, STATE_DIR=str(tmp_path)) as terminal:
        terminal.wait_text("no events so far")
        refused = send_refused(system)
        terminal.press("3")
        terminal.wait_text(refused)
        before = len(terminal.written)
        terminal.press("e")
        terminal.wait_text("derived again", before)
        terminal.press("2")
        send_event(system, session)
        terminal.wait_text("[bold]Is[/bold] this text?")
        terminal.press("q")
        assert terminal.process.wait(30) == 0
        wait_for(lambda: LEAVE_SCREEN in terminal.written, "the terminal is as before")


@pytest.mark.slow
def test_a_gateway_that_returns_elsewhere_is_watched_again(broker: str, tmp_path: Path) -> None:
    with live(broker, tmp_path) as system:
        settings = {**system.environ, "STATE_DIR": str(system.settings.state_dir)}
        with watching(**settings) as terminal:
            first = send_refused(system)
            terminal.press("3")
            terminal.wait_text(first)
            before = len(terminal.written)
            system.gateway.kill()
            terminal.wait_text("no gateway", before)
            system.start_gateway()
            second = send_refused(system)
            terminal.wait_text(second, before)
            terminal.press("q")
            assert terminal.process.wait(30) == 0
