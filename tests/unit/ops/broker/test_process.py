from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from streams.ops.broker.home import Home, Started
from streams.ops.broker.process import Child, Process

SLEEP = [sys.executable, "-c", "print('up', flush=True); import time; time.sleep(60)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "print('up', flush=True); time.sleep(60)",
]
PARENT = """
import sys, time
from pathlib import Path
from streams.ops.broker.process import Child
child = Child(sys.argv[2:], Path(sys.argv[1]), bound=True)
print(child.process.pid, flush=True)
time.sleep(60)
"""


def until_up(log: Path) -> None:
    deadline = time.monotonic() + 20
    while not (log.exists() and log.read_text().startswith("up")):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_child_ends_on_request(tmp_path: Path) -> None:
    child = Child(SLEEP, tmp_path / "log", bound=True)
    until_up(tmp_path / "log")
    assert child.process.alive()
    child.process.end(10)
    assert not child.process.alive()
    assert child.exit_code.result(60) == -signal.SIGTERM


def test_a_child_that_ignores_the_request_is_killed(tmp_path: Path) -> None:
    child = Child(STUBBORN, tmp_path / "log", bound=False)
    until_up(tmp_path / "log")
    child.process.end(0.2)
    assert child.exit_code.result(60) == -signal.SIGKILL


def test_a_bound_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(log), *SLEEP],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[4],
    ) as parent:
        assert parent.stdout is not None
        child = Process.of(int(parent.stdout.readline()))
        assert child is not None
        until_up(log)
        parent.kill()
    deadline = time.monotonic() + 10
    while child.alive():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_reused_process_id_is_not_taken_for_the_process() -> None:
    mine = Process.of(os.getpid())
    assert mine is not None
    assert mine.alive()
    other = Process(mine.pid, mine.ticks - 1)
    assert not other.alive()
    other.end(0.1)  # and is not ended: this process goes on


def test_what_was_started_last_is_remembered(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert home.last() is None
    home.make()
    started = Started(Process(2**22 + 1, 1), 19640, "cluster")
    home.save(started)
    assert home.last() == started
    assert home.running() is None
    assert started.bootstrap == "127.0.0.1:19640"


def test_a_spoiled_record_counts_as_none(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.make()
    for text in ("", "{}", "[1]", '{"pid": "x"}', '{"pid": null}'):
        (home.path / "broker.json").write_text(text)
        assert home.last() is None
