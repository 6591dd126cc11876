"""`headrace demo`."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import click

from streams.errors import StateLocked, UsageError
from streams.settings import Settings


@click.command("demo")
def command() -> None:
    """Send real packets through the gateway, Kafka and a worker, and show the results.

    Uses the system that `headrace up` runs, or the broker that HEADRACE_BOOTSTRAP names with its
    workers, or else a temporary system.  Exits with 0 only if every step gave the expected result.

    \b
    Example:
      headrace demo
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    begun = time.monotonic()
    settings = Settings.load()
    if settings.tokens is not None:
        raise UsageError(
            "the demo speaks for many agents, and a token for one", advice="Unset HEADRACE_TOKENS."
        )
    with _system(settings) as (used, url):
        _tell(used, url)
    click.echo(f"Done after {time.monotonic() - begun:.1f} s in all.")


@contextmanager
def _system(settings: Settings) -> Iterator[tuple[Settings, str]]:
    """Settings with the address of a broker that a worker reads from, and that of a gateway."""
    from streams.ops import broker
    from streams.ops.system import running_gateway, temporary_system

    found = broker.status(settings)
    if settings.bootstrap or (found.running and _has_worker(settings)):
        from streams.log.connecting import bootstrap_of

        used = replace(settings, bootstrap=bootstrap_of(settings))
        with running_gateway(used, _say) as url:
            yield used, url
        return
    with temporary_system(settings, _say) as system:
        yield system.settings, system.url


def _has_worker(settings: Settings) -> bool:
    from streams.engine.store import DirectoryLock
    from streams.engine.worker import worker_directory

    try:
        DirectoryLock(worker_directory(settings)).release()
    except StateLocked:
        return True
    return False


def _tell(settings: Settings, url: str) -> None:
    from streams.cli import common
    from streams.demo import DemoContext, HttpSystemClient, tell

    with common.connect(settings) as log, closing(HttpSystemClient(url)) as door:
        stage = DemoContext(door, log, settings, click.echo)
        click.echo(f"Session {stage.session} on {settings.bootstrap}, over {url}")
        tell(stage)


def _say(text: str) -> None:
    click.echo(text, err=True)
