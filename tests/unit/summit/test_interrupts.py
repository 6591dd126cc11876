"""Test that Ctrl-C ends a program that serves an agent, without a traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.processes import ROOT, environ_of

CODE = """
import asyncio, os, signal, sys
from streams.summit.serving.interrupts import end_at_interrupt

# A shell starts what runs in its background with Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

async def serve():
    with end_at_interrupt():
        asyncio.get_running_loop().call_soon({cause})
        await asyncio.Event().wait()

async def main():
    task = asyncio.current_task()
    {call}

asyncio.run(main())
print("the end", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""
INTERRUPT = "os.kill, os.getpid(), signal.SIGINT"


@pytest.mark.parametrize(
    ("cause", "call", "code", "output"),
    [
        (INTERRUPT, "await serve()", 0, "the end True\n"),
        (INTERRUPT, "await asyncio.create_task(serve())", 0, "the end True\n"),
        ("asyncio.current_task().cancel", "await serve()", 1, ""),
    ],
    ids=["main task", "another task", "cancelled by its program"],
)
def test_ctrl_c_ends_the_program_normally(cause: str, call: str, code: int, output: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", CODE.format(cause=cause, call=call)],
        cwd=ROOT,
        env=environ_of({}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (code, output), ran.stderr
    assert ("Traceback" in ran.stderr) == bool(code)
