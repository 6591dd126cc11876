"""Work that Ctrl-C and SIGTERM end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

import click


async def until_stopped(work: Coroutine[Any, Any, None]) -> None:
    """Run the work until it ends or a signal stops it.  Raises what the work raises.

    SIGINT and SIGTERM cancel the work; then `stopped` is printed.
    """
    working = asyncio.create_task(work)
    stopped = asyncio.Event()

    def stop() -> None:
        stopped.set()
        working.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    try:
        await working
    except asyncio.CancelledError:
        stopped.set()
    if stopped.is_set():
        click.echo("stopped", err=True)
