"""A terminal session as input: what a program prints is followed live, without its secrets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.system import live
from tests.processes import ROOT, environ_of, named, wait_for

pytestmark = pytest.mark.slow

SECRET = "hunter2Hunter2hunter2"
PROGRAM = f"""
import subprocess, sys, time
print("login with password={SECRET}", flush=True)
sys.stdout.buffer.write(b"caf\\xe9\\n")
sys.stdout.flush()
time.sleep(0.5)
command = [sys.executable, "-m", "pytest", "-v", "tests/unit/topology/test_keys.py"]
sys.exit(subprocess.run(command, stderr=subprocess.STDOUT).returncode)
"""


def test_the_output_of_a_program_is_followed_live(broker: str, tmp_path: Path) -> None:
    with live(broker, tmp_path) as system:
        environ = environ_of(named(system.environ))
        headrace = [sys.executable, "-m", "streams.cli"]
        seen = tmp_path / "seen"
        with seen.open("wb") as output:
            command = [*headrace, "tail", "rtes", "--session", "s", "--from", "earliest", "--json"]
            tail = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=output)
        try:
            program = subprocess.Popen(
                [sys.executable, "-c", PROGRAM], cwd=ROOT, stdout=subprocess.PIPE
            )
            sender = subprocess.Popen(
                [*headrace, "send", "rtes.raw", "--pulses", "s"],
                cwd=ROOT,
                env=environ,
                stdin=program.stdout,
                stdout=subprocess.PIPE,
                text=True,
            )
            assert program.stdout is not None
            program.stdout.close()
            positions = (sender.communicate(timeout=60)[0]).splitlines()
            assert (program.wait(), sender.returncode) == (0, 0)
            wait_for(lambda: len(seen.read_text().splitlines()) == len(positions), "all lines")
        finally:
            tail.kill()
            tail.wait()
        lines = [json.loads(text)["payload"]["line"] for text in seen.read_text().splitlines()]
        assert lines[:2] == ["login with password=[REDACTED:assignment]", "caf\\xe9"]
        assert " passed in " in lines[-1]
        assert any("test_keys.py" in line and "PASSED" in line for line in lines)
