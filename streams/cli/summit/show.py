"""`headrace summit show`."""

from __future__ import annotations

from typing import Any

import click

from streams.cli import common, lists, text
from streams.cli.asked_things import ask_thing
from streams.cli.summit.common import PENDING, REJECTED, SummitCommand
from streams.cli.summit.rpc import show_query
from streams.cli.summit.states import ENDED_OTHERWISE
from streams.cli.thing_text import show_thing
from streams.settings import Settings

_COMPLETED = "completed"
_PARTS = ("budget", "metrics", "verification", "error", "inputs", "output")


@click.command("show", cls=SummitCommand)
@click.argument("run")
@text.options
@common.read_options
@click.pass_context
def command(ctx: click.Context, /, run: str, after: str | None) -> None:
    """Show the state of a run and its steps, in a pipe as JSON, as `agent.status` does.

    Exits with 0 when the run is completed, 1 when it ended otherwise or does not exist, 3 while it
    has not ended.

    \b
    Example:
      headrace summit show run-7f2
    """
    if text.form() is text.Form.TEXT:
        thing = ask_thing("summit:run", run, Settings.load(), after=after)
        text.show(thing, _render)
        status = thing["details"]["status"]
    else:
        status = show_query(ctx, "agent.status", after, runId=run)["status"]
    if status != _COMPLETED:
        ctx.exit(REJECTED if status in ENDED_OTHERWISE else PENDING)


def _render(thing: Any, page: text.Page) -> None:
    show_thing(thing, page)
    details = thing["details"]
    for part in _PARTS:
        value = details[part]
        if value is not None:
            page.line()
            page.line(page.plain(part, "bold"))
            lists.show_value(page, value, indent=2)
