"""`headrace show`."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click

from streams.cli import common, text
from streams.cli.thing_text import show_thing
from streams.settings import Settings


@click.command("show")
@click.argument("node")
@click.option(
    "--session", "session_id", metavar="ID", help="Of this session, where several use the id."
)
@click.option(
    "--cursor", metavar="CURSOR", help="Cursor of the page of steps, from the one before."
)
@common.as_of_option
@text.options
@common.read_options
def command(node: str, **params: Any) -> None:
    """Show one thing of any protocol: its state, its steps, why, and what it is linked to.

    NODE is its name in the lineage graph; docs/reference/lineage.md lists the forms.

    \b
    Examples:
      headrace show apc:packet:7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730
      headrace show apc:packet:7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730 --as-of apc.events/0/31
    """
    path = f"/v1/things/{quote(node, safe='')}"
    answer = common.ask(path, common.query_of(params), Settings.load())
    text.show(answer, show_thing, pipe=None)
