"""`headrace demo`."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from streams.errors import StateLocked
from streams.settings import Settings


@click.command("demo")
def command() -> None:
    """Watch real packets go through Kafka and a worker, and see what comes of them.

    Uses the system that `headrace up` runs, or the broker that HEADRACE_BOOTSTRAP names with the
    workers there; else a temporary one of its own.  Exits with 0 only if every step gave what it
    should.

    \b
    Example:
      headrace demo
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    begun = time.monotonic()
    with _system(Settings.load()) as settings:
        _tell(settings)
    click.echo(f"Done after {time.monotonic() - begun:.1f} s in all.")


@contextmanager
def _system(settings: Settings) -> Iterator[Settings]:
    """Settings with the address of a broker that a worker reads from."""
    from streams import broker
    from streams.system import temporary_system

    found = broker.status(settings)
    if settings.bootstrap or (found.running and _has_worker(settings)):
        from streams.cli.common import bootstrap_of

        yield replace(settings, bootstrap=bootstrap_of(settings))
        return
    with temporary_system(settings, lambda text: click.echo(text, err=True)) as system:
        yield system.settings


def _has_worker(settings: Settings) -> bool:
    from streams.engine.store import DirectoryLock
    from streams.engine.worker import worker_directory

    try:
        DirectoryLock(worker_directory(settings)).release()
    except StateLocked:
        return True
    return False


def _tell(settings: Settings) -> None:
    from streams.cli import common
    from streams.demo import Stage, tell
    from streams.views import View

    with (
        tempfile.TemporaryDirectory(prefix="headrace-demo-") as folder,
        common.connect(settings) as log,
        View(log, Path(folder), settings.prefix) as view,
    ):
        stage = Stage(log, view, settings, click.echo)
        click.echo(f"Session {stage.session} on {settings.bootstrap}")
        tell(stage)
