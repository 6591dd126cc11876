"""`headrace lineage`."""

from __future__ import annotations

from typing import Any

import click

from streams.cli import common, text
from streams.cli.lineage_tree import show_tree
from streams.errors import UsageError
from streams.settings import Settings

WAYS = ("ancestors", "descendants", "both", "blast_radius")
DEPTH = 10
"""The directions and the default depth of the route, which may not be imported here."""
FORMATS = ("tree", "json", "dot", "mermaid")


@click.command("lineage")
@click.argument("node")
@click.option(
    "--direction",
    type=click.Choice(WAYS),
    default="both",
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
    type=click.Choice(FORMATS),
    help="Format of the output.  [default: tree on a terminal, json in a pipe]",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=1000,
    show_default=True,
    help="Maximum number of edges of a page.",
)
@click.option("--cursor", metavar="CURSOR", help="Cursor of the page, from the previous one.")
@text.options
@common.read_options
@common.as_of_option
def command(form: str | None, **params: Any) -> None:
    """Show the ancestors and descendants of a node of the lineage graph, over all protocols.

    docs/reference/lineage.md lists the forms of node names.  With blast_radius, NODE is a
    retraction, or a node that is or might be retracted.  --as-of leaves out later edges.

    \b
    Examples:
      headrace lineage sap:task:5b0f6a52-6a0a-4a38-8c47-3a1d2f1c9c11
      headrace lineage trace:sess-01 --direction descendants --format dot
      headrace lineage apc:packet:7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730 --direction blast_radius
    """
    chosen = form or _default_format()
    if form is not None and form != "json" and text.form() is text.Form.JSON:
        raise UsageError(f"--json and --format {form} exclude each other")
    answer = common.ask("/v1/lineage/graph", common.query_of(params), Settings.load())
    if chosen == "json":
        common.show_json(answer)
        return
    if chosen == "tree":
        show_tree(answer, text.new_page())
    else:
        from streams.cli.lineage_drawing import DRAWINGS

        common.echo_block(DRAWINGS[chosen](answer))
    if answer["next"] is not None:
        common.echo(f"more with --cursor {answer['next']}", err=True)
    elif answer["cut"] is not None:
        common.echo(f"cut by {answer['cut']['by']} at {answer['cut']['bound']}", err=True)


def _default_format() -> str:
    return "tree" if text.form() is text.Form.TEXT else "json"
