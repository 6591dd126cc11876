"""`headrace lineage`."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import click

from streams.cli import common
from streams.cli.lineage_drawing import DRAWINGS
from streams.settings import Settings
from streams.view_store.graph.queries import BOTH, DEPTH, WAYS


@click.command("lineage")
@click.argument("node")
@click.option(
    "--direction",
    type=click.Choice(list(WAYS)),
    default=BOTH,
    show_default=True,
    help="Ancestors, descendants, or the nodes that a retraction affects.",
)
@click.option(
    "--depth",
    type=click.IntRange(1),
    default=DEPTH,
    show_default=True,
    help="Maximum number of edges between a node and NODE.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", *DRAWINGS]),
    default="json",
    show_default=True,
    help="Format of the output.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=1000,
    show_default=True,
    help="Maximum number of edges of a page.",
)
@click.option("--cursor", metavar="CURSOR", help="Cursor of the page, from the previous one.")
@common.read_options
def command(form: str, **params: Any) -> None:
    """Show the ancestors and descendants of a node of the lineage graph, over all protocols.

    docs/reference/lineage.md lists the forms of node names.  With blast_radius, NODE is a
    retraction, or a node that is or might be retracted.

    \b
    Examples:
      headrace lineage sap:task:5b0f6a52-6a0a-4a38-8c47-3a1d2f1c9c11
      headrace lineage trace:sess-01 --direction descendants --format dot
      headrace lineage apc:packet:7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730 --direction blast_radius
    """
    query = urlencode({name: value for name, value in params.items() if value is not None})
    page = common.ask("/v1/lineage/graph", query, Settings.load())
    if form == "json":
        common.show_json(page)
        return
    common.echo_block(DRAWINGS[form](page))
    if page["next"] is not None:
        common.echo(f"more with --cursor {page['next']}", err=True)
    elif page["cut"] is not None:
        common.echo(f"cut by {page['cut']['by']} at {page['cut']['bound']}", err=True)
