"""`headrace broker`."""

from __future__ import annotations

import signal

import click

from streams.cli import common
from streams.settings import Settings


@click.group("broker")
def command() -> None:
    """Run a local single-node Apache Kafka with its data in the state directory.

    \b
    Example:
      headrace broker status
    """


@command.command("run")
@click.option(
    "--detach", is_flag=True, help="Return when the broker is ready, and leave it running."
)
def run_broker(detach: bool) -> None:
    """Run the broker until Ctrl-C, SIGTERM or `headrace broker stop`.

    \b
    Example:
      headrace broker run --detach
    """
    from streams.ops import broker

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    status = broker.run(Settings.load(), foreground=not detach, progress=_print_status)
    if status.running:
        common.echo(status.bootstrap)


@command.command("stop")
@click.pass_context
def stop_broker(ctx: click.Context) -> None:
    """Stop the broker of this state directory; its data is kept.

    \b
    Example:
      headrace broker stop
    """
    from streams.ops import broker

    if not broker.stop(Settings.load(), progress=_print_status):
        _print_status("no broker runs here")
        ctx.exit(1)


@command.command("status")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def show_status(ctx: click.Context, as_json: bool) -> None:
    """Show the broker that commands use.  Exits with 1 when it does not run.

    \b
    Example:
      headrace broker status --json
    """
    from streams.ops import broker

    status = broker.status(Settings.load())
    members = {
        "running": status.running,
        "bootstrap": status.bootstrap,
        "pid": status.pid,
        "data": None if status.data is None else str(status.data),
        "log": None if status.log is None else str(status.log),
    }
    if as_json:
        common.show_json(members)
    else:
        common.show_table(
            ("what", "value"), [(k, "-" if v is None else v) for k, v in members.items()]
        )
    if not status.running:
        ctx.exit(1)


def _print_status(text: str) -> None:
    common.echo(text, err=True)
