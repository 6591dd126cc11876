"""Coroutines for callers without a loop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from streams.asap.blocking import run_blocking, run_without_loop


async def thread_name() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


async def seven() -> int:
    return 7


def test_without_a_loop_it_runs_here() -> None:
    assert run_blocking(thread_name()) == threading.current_thread().name


def test_beside_a_loop_it_runs_in_a_thread() -> None:
    async def story() -> str:
        return run_blocking(thread_name())

    assert asyncio.run(story()) != threading.current_thread().name


def test_what_never_waits_needs_no_loop() -> None:
    async def story() -> int:
        return await seven() + await seven()

    assert run_without_loop(story()) == 14
    with pytest.raises(RuntimeError, match="waits"):
        run_without_loop(thread_name())


def test_what_it_raises_comes_through() -> None:
    async def failing() -> None:
        raise LookupError("gone")

    for run in (run_blocking, run_without_loop):
        with pytest.raises(LookupError, match="gone"):
            run(failing())
