"""`headrace demo`."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import click

from streams.cli import common
from streams.errors import StateLocked, UsageError
from streams.settings import Settings
from streams.settings.addresses import answers, running_url


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
    started_s = time.monotonic()
    settings = Settings.load()
    if settings.tokens is not None:
        raise UsageError(
            "the demo speaks for many agents, and a token for one", advice="Unset HEADRACE_TOKENS."
        )
    running = running_url(settings)
    with _demo_system(settings) as (system_settings, url):
        has_console = answers(url, "/console/")
        _run_demo(system_settings, url, has_console)
    common.echo(f"Done after {time.monotonic() - started_s:.1f} s in all.")
    if has_console:
        common.echo(console_advice(url if url == running else None, settings.gateway))


def console_advice(running: str | None, gateway: str) -> str:
    """Return how to look at what was sent.

    running: URL of a gateway that goes on; None if it ended with the demo.  gateway: the address of
    one that `headrace up` starts.
    """
    if running is not None:
        return f"Open the console: {running}/console/"
    return (
        f"The console ended with this system. `headrace up --open` starts one that stays, at"
        f" http://{gateway}/console/; `headrace demo` in another terminal tells this story there."
    )


@contextmanager
def _demo_system(settings: Settings) -> Iterator[tuple[Settings, str]]:
    """Yield settings with the address of a broker that a worker reads from, and a gateway's URL."""
    from streams.ops import broker
    from streams.ops.system import running_gateway, temporary_system

    status = broker.status(settings)
    if settings.bootstrap or (status.running and _has_worker(settings)):
        from streams.log.connecting import bootstrap_of

        system_settings = replace(settings, bootstrap=bootstrap_of(settings))
        with running_gateway(system_settings, _print_status) as url:
            yield system_settings, url
        return
    with temporary_system(settings, _print_status) as system:
        yield system.settings, system.url


def _has_worker(settings: Settings) -> bool:
    from streams.engine.store import DirectoryLock
    from streams.engine.worker import worker_directory

    try:
        DirectoryLock(worker_directory(settings)).release()
    except StateLocked:
        return True
    return False


def _run_demo(settings: Settings, url: str, has_console: bool) -> None:
    from streams.demo import DemoContext, HttpSystemClient, tell

    with common.connect(settings) as log, closing(HttpSystemClient(url)) as client:
        ctx = DemoContext(client, log, settings, common.echo_block)
        common.echo(f"Session {ctx.session} on {settings.bootstrap}, over {url}")
        if has_console:
            common.echo(f"Watch it at {url}/console/")
        if settings.mcp:
            common.echo(f"Agents that speak MCP ask about it at {url}/mcp")
        tell(ctx)


def _print_status(text: str) -> None:
    common.echo(text, err=True)
