"""`headrace up`."""

from __future__ import annotations

import signal
import time

import click

from streams.cli import common
from streams.settings import Settings

_CHECK_S = 0.2


@click.command("up")
def command() -> None:
    """Run everything on this machine: broker, topics, a worker and a gateway.

    Uses the broker that HEADRACE_BOOTSTRAP names, or else starts a local one.  Prints the addresses
    when everything is ready.  Ctrl-C stops everything cleanly; state is kept in the state
    directory, and the next `up` continues from it.

    \b
    Example:
      headrace up
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    settings = Settings.load()
    started_s = time.monotonic()
    from streams.ops.system import running_system

    try:
        with running_system(settings, _print_status) as system:
            _print_status(f"ready after {time.monotonic() - started_s:.1f} s")
            common.echo(f"kafka    {system.settings.bootstrap}")
            common.echo(f"gateway  {system.url}")
            common.echo(f"state    {settings.state_dir.absolute()}")
            for part in (system.worker, system.gateway):
                common.echo(f"{part.name:<8} process {part.pid}, log {part.log}")
            common.echo("Send packets with `headrace send apc.packets FILE`; Ctrl-C stops all.")
            while True:
                system.check()
                time.sleep(_CHECK_S)
    except KeyboardInterrupt:
        _print_status("stopped; state is kept")


def _print_status(text: str) -> None:
    common.echo(text, err=True)
