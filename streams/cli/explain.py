"""`headrace explain`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import click

from streams.cli import common, text
from streams.cli.proof_text import show_proof
from streams.cli.thing_text import show_verdict
from streams.errors import NotFound
from streams.settings import Settings

Json = Mapping[str, Any]


@click.command("explain")
@click.argument("node")
@click.option(
    "--session", "session_id", metavar="ID", help="Of this session, where several use the id."
)
@text.options
@common.read_options
def command(node: str, **params: Any) -> None:
    """Show why the newest verdict on a thing is so, and prove it.

    NODE is its name in the lineage graph; docs/reference/lineage.md lists the forms.  The verdict
    is derived again from its record, and the checkpoint over its fact is checked.  Exits with 1 if
    a proof fails.

    \b
    Example:
      headrace explain apc:packet:7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730
    """
    settings = Settings.load()
    path = f"/v1/things/{quote(node, safe='')}"
    thing = common.ask(path, common.query_of(params), settings)
    if not thing["verdicts"]:
        raise NotFound(f"there is no verdict on {node}", "not_found")
    verdict = thing["verdicts"][0]
    proof = None
    if verdict["fact"] is not None:
        proof = common.ask(f"/v1/records/{verdict['fact']}/proof", "", settings)
    text.show({"node": thing["node"], "verdict": verdict, "proof": proof}, _render, pipe=None)
    if proof is not None and fails(proof):
        raise SystemExit(1)


def fails(proof: Json) -> bool:
    """Return whether a proof fails; what cannot be derived or is not sealed does not fail."""
    sealed = proof["sealed"]
    return (
        not proof["recorded"]
        or proof["rederived"]["outcome"] == "differs"
        or (sealed is not None and sealed["signature"] == "invalid")
    )


def _render(answer: Json, page: text.Page) -> None:
    page.line(page.plain(answer["node"], "bold"))
    show_verdict(answer["verdict"], page)
    if answer["proof"] is not None:
        show_proof(answer["proof"], page)
