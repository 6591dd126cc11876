"""Processes under test: started, killed, stopped, and read by their logs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATIENCE_S = 60.0
PREFIX = "HEADRACE_"
REGISTRY_URL = "SCHEMA_REGISTRY_URL"
"""The one variable without it."""
_LAUNCH = ROOT / "streams/ops/broker/launch.py"
_STARTER = ThreadPoolExecutor(1)
"""The kernel binds a process to the thread that started it: to one that lasts, here."""


def wait_for(
    condition: Callable[[], object], what: str, patience_s: float = PATIENCE_S, look_s: float = 0.02
) -> None:
    """Until condition() holds; fails when that takes longer than patience_s."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, f"after {patience_s:.0f} s still not: {what}"
        time.sleep(look_s)


def named(settings: Mapping[str, str]) -> dict[str, str]:
    """With HEADRACE_ before each name."""
    return {(n if n == REGISTRY_URL else f"{PREFIX}{n}"): t for n, t in settings.items()}


def environ_of(settings: Mapping[str, str]) -> dict[str, str]:
    """This process's environment, with these settings (named with HEADRACE_) instead of its own."""
    own_prefixes = (PREFIX, REGISTRY_URL)
    inherited = {
        name: text for name, text in os.environ.items() if not name.startswith(own_prefixes)
    }
    return {**inherited, **settings}


class Process:
    """One module of this project as a process.  settings: named with HEADRACE_.

    A log that is there already is written on.  before: a command that runs the one after it, under
    its own process id.  python: the interpreter that has the module.  The process gets SIGTERM when
    this one ends, however that ends.
    """

    def __init__(
        self,
        name: str,
        log: Path,
        settings: Mapping[str, str],
        module: str,
        *arguments: str,
        before: Sequence[str] = (),
        python: str = sys.executable,
    ) -> None:
        self.name = name
        self._log = log
        launch = [sys.executable, "-I", "-S", str(_LAUNCH), str(os.getpid())]
        command = [*before, *launch, python, "-m", module, *arguments]
        self._process = _STARTER.submit(_start, command, log, settings).result()

    def text(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def wait_text(self, text: str, patience_s: float = PATIENCE_S) -> None:
        """Until it has said that; fails when it ends before."""

        def has_text() -> bool:
            running, is_there = self.running, text in self.text()
            assert is_there or running, f"{self.name} has ended:\n{self.text()[-3000:]}"
            return is_there

        wait_for(has_text, f"{self.name} says {text!r}", patience_s, 0.002)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def exit_code(self, patience_s: float = PATIENCE_S) -> int:
        """Wait for its end."""
        try:
            return self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} does not end:\n{self.text()[-3000:]}") from None


def _start(
    command: Sequence[str], log: Path, settings: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=environ_of(settings),
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def loaded_by(statement: str, modules: Collection[str]) -> list[str]:
    """Those of these top-level modules that a new Python has loaded after the statement."""
    names = f"sorted({{one.partition('.')[0] for one in sys.modules}} & set({list(modules)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", f"import json, sys\n{statement}\nprint(json.dumps({names}))"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    module_names: list[str] = json.loads(done.stdout)
    return module_names
