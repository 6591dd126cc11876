"""Watch the overview, refusals and the live tail in a terminal: `headrace watch`.

The answers of a gateway become lines in pure functions (`figures`, `listings`, `details`,
`live_tail`); `app` and `widgets` draw them with Textual, and `answers` and `following` ask.
"""

from __future__ import annotations

import sys

import click

from streams.cli import gateway_client
from streams.cli.overview_figures import window_option
from streams.errors import UsageError
from streams.settings import Settings


@click.command("watch")
@click.option("--session", metavar="ID", help="In the live pane, only events of this session.")
@window_option
@click.option(
    "--interval",
    metavar="S",
    type=click.FloatRange(0.2, 3600),
    default=2.0,
    show_default=True,
    help="Seconds between two questions to the gateway.",
)
@gateway_client.url_option
def command(session: str | None, window: str, interval: float) -> None:
    """Watch what is decided, refused, open and recorded, live in a terminal.

    Asks a running gateway, and looks for it again when it is lost.  Keys: 1 overview, 2 live,
    3 refusals, 4 work, 5 dead letters, / filter, space pause, enter open, e why, c copy, q quit.
    Needs the extra `watch`.

    \b
    Example:
      headrace watch --session sess-01 --window 1h
    """
    if not has_terminal():
        raise UsageError("watch needs a terminal; use headrace overview --json", advice="")
    from streams.cli.watch.app import WatchApp
    from streams.cli.watch.gateway import WatchedGateway

    gateway = WatchedGateway(Settings.load())
    gateway.get("/v1/service")
    app = WatchApp(gateway, window, interval, session)
    app.run()
    raise SystemExit(app.return_code or 0)


def has_terminal() -> bool:
    """Return whether keys can be read, and a screen drawn, which Textual does on stderr."""
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
