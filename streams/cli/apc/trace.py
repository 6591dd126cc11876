"""`headrace apc trace`."""

from __future__ import annotations

from typing import Any

import click

from streams.cli import common, lists, text
from streams.cli.apc import rendering
from streams.settings import Settings


@click.command("trace")
@click.option("--session-id", metavar="ID", help="Packets of this session.")
@click.option("--run-id", metavar="ID", help="Packets of this run.")
@click.option("--task-id", metavar="ID", help="Packets of this task.")
@click.option("--packet-id", metavar="UUID", help="This packet.")
@click.option("--packet-type", metavar="TYPE", help="Packets of this type, such as IDEA.")
@click.option("--run-phase", metavar="PHASE", help="Packets of this phase, such as DISCOVERY.")
@click.option("--trace-id", metavar="ID", help="Packets of this trace.")
@click.option("--state", metavar="STATE", help="Packets in this state, such as ROUTED.")
@click.option("--sender", metavar="ID", help="Packets of this agent.")
@click.option("--verdict", type=click.Choice(["accepted", "rejected"]), help="With this verdict.")
@lists.window_options("Sent")
@click.option("--limit", type=click.IntRange(1), default=200, show_default=True)
@click.option("--cursor", metavar="CURSOR", help="Cursor of the page, from the previous one.")
@click.option("--include-events/--no-events", default=True, help="Show histories.  [default: yes]")
@text.options
@common.read_options
def command(include_events: bool, **filters: Any) -> None:
    """Show the newest matching packets, and their whole history.

    \b
    Examples:
      headrace apc trace --session-id sess-01
      headrace apc trace --run-id run-01 --packet-type IDEA --no-events
      headrace apc trace --verdict rejected --sender builder-1
    """
    if text.form() is text.Form.TEXT:  # it shows verdicts instead of histories
        params = {**filters, "include_events": False, "verdicts": True}
    else:
        params = {**filters, "include_events": include_events}
    answer = common.ask("/v1/apc/packets", common.query_of(params), Settings.load())
    text.show(answer, rendering.render_trace)
