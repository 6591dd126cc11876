"""Nothing that a run of tests starts outlives it, however it is interrupted.

Each run here is of real tests, with a broker, workers and gateways; it is recognized by a variable
in the environment of all its processes.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.interruption import processes_with
from tests.processes import ROOT, environ_of, wait_for

pytestmark = pytest.mark.slow

START_LIMIT_S = 150.0
END_LIMIT_S = 60.0
"""The testers have 20 seconds by xdist, then the broker has 20, then what is left has 10."""
INTERRUPTED = 2
PYTEST = (sys.executable, "-m", "pytest")
DISTRIBUTED = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
TUTORIAL = "tests/integration/test_tutorial.py"
COMMANDS = "tests/integration/test_cli.py"
"""Whose tests use `headrace up`."""
DETACHED = """
import os, signal, subprocess

def test_it():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # which a child inherits
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    os.kill(os.getpid(), signal.SIGSTOP)
"""


class Run:
    """Runs tests in a process group of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._log = folder / "log"
        self._variable = f"INTERRUPTED_RUN_{uuid.uuid4().hex}"

    def start(self, *command: str) -> None:
        outer = environ_of({self._variable: "1"})
        environ = {n: text for n, text in outer.items() if not n.startswith("PYTEST_XDIST")}
        with self._log.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environ,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def options(self, *tests: str) -> list[str]:
        return ["-p", "no:cacheprovider", f"--basetemp={self._folder / 'temp'}", *tests]

    def commands(self) -> dict[int, str]:
        """Return the command lines of its live processes, by id."""
        texts = {pid: _text(pid, "cmdline") for pid in processes_with(self._variable)}
        return {pid: text.replace("\0", " ") for pid, text in texts.items()}

    def count(self, words: str) -> int:
        return sum(words in command for command in self.commands().values())

    def wait_started(self, *parts: str, brokers: int = 1) -> None:
        """Until these commands of headrace run, and brokers."""

        def started() -> bool:
            commands = all(self.count(f"streams.cli {part}") for part in parts)
            return commands and self.count("kafka.Kafka") >= brokers

        self.wait_until(started, "the run has started its processes")

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        def holds() -> object:
            assert self.process.poll() is None, self.text()
            return condition()

        wait_for(holds, what, START_LIMIT_S, 0.1)

    def wait_gone(self) -> None:
        wait_for(lambda: not self.commands(), "the run is gone", END_LIMIT_S, 0.1)

    def text(self) -> str:
        return self._log.read_text(errors="replace")

    def kill(self) -> None:
        for pid in self.commands():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


def _text(pid: int, name: str) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    return ""


def parent_of(pid: int) -> int:
    line = re.search(r"^PPid:\s(\d+)$", _text(pid, "status"), re.M)
    return int(line[1]) if line else 0


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    run = Run(tmp_path)
    outer = signal.signal(signal.SIGINT, signal.default_int_handler)  # a run inherits SIG_IGN
    yield run
    signal.signal(signal.SIGINT, outer)
    print(run.text()[-5000:])  # shown when the test fails
    run.kill()


def start_testers(run: Run, *files: str) -> None:
    run.start(*PYTEST, *DISTRIBUTED, *run.options(*files))


def workers_of_testers(run: Run) -> list[int]:
    """Return those that a tester started itself."""
    testers = {pid for pid in run.commands() if parent_of(pid) == run.process.pid}
    workers = [pid for pid, text in run.commands().items() if "streams.cli worker" in text]
    return [pid for pid in workers if parent_of(pid) in testers]


def interrupt_group(run: Run) -> None:
    os.killpg(run.process.pid, signal.SIGINT)


def terminate_group(run: Run) -> None:
    os.killpg(run.process.pid, signal.SIGTERM)


def terminate(run: Run) -> None:
    run.process.terminate()


@pytest.mark.parametrize("interrupt", [interrupt_group, terminate_group, terminate])
def test_nothing_outlives_a_run_that_is_interrupted(
    run: Run, interrupt: Callable[[Run], None]
) -> None:
    start_testers(run, TUTORIAL)
    run.wait_started("worker", "gateway")
    interrupt(run)
    assert run.process.wait(END_LIMIT_S) == INTERRUPTED
    assert run.commands() == {}
    assert "KeyboardInterrupt" in run.text()


def test_what_a_killed_tester_started_ends_with_it_and_the_rest_with_the_run(run: Run) -> None:
    start_testers(run, TUTORIAL, COMMANDS)
    run.wait_until(lambda: workers_of_testers(run), "a tester has started a worker")
    worker = workers_of_testers(run)[0]
    os.kill(parent_of(worker), signal.SIGKILL)
    wait_for(lambda: worker not in run.commands(), "its worker has ended", END_LIMIT_S)
    run.process.terminate()
    assert run.process.wait(END_LIMIT_S) == INTERRUPTED
    assert run.commands() == {}


def test_nothing_outlives_a_run_that_is_killed(run: Run) -> None:
    start_testers(run, COMMANDS)
    run.wait_started("up", "worker", "gateway")
    run.process.kill()
    run.wait_gone()


def test_nothing_outlives_make(run: Run, tmp_path: Path) -> None:
    """The recipe is the project's, with the files to test at its end."""
    bin_directory = f"BIN={Path(sys.executable).parent}"
    dry_run = ["make", "--dry-run", "--no-print-directory", bin_directory, "test-all"]
    lines = subprocess.run(dry_run, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    recipe = lines.splitlines()[-1]
    assert "pytest" in recipe
    makefile = tmp_path / "Makefile"
    makefile.write_text(f"test:\n\t@{recipe} {' '.join(run.options(TUTORIAL))}\n")
    run.start("make", "-f", str(makefile), "test")
    run.wait_started("worker", "gateway")
    run.process.terminate()
    run.process.wait(END_LIMIT_S)
    assert run.commands() == {}


def test_a_broker_that_is_detached_on_purpose_ends_with_the_run(run: Run) -> None:
    test = "test_two_brokers_that_start_in_one_moment_find_ports_of_their_own"
    run.start(*PYTEST, *run.options(f"tests/integration/test_broker.py::{test}"))
    run.wait_started(brokers=2)
    run.process.kill()
    run.wait_gone()


def test_a_detached_process_that_ignores_the_request_ends_with_the_run(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "test_detached.py"
    file.write_text(DETACHED)
    run.start(*PYTEST, "-p", "tests.interruption", *run.options(str(file)))
    run.wait_until(lambda: run.count("sleep 600"), "it is there")
    run.process.kill()
    run.wait_gone()
