"""`headrace explain`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import click

from streams.cli import common, text
from streams.cli.proof_text import show_proof
from streams.cli.record_text import (
    ask_effects,
    ask_proof,
    ask_record,
    is_position,
    show_judgements,
)
from streams.cli.thing_text import show_verdict
from streams.errors import NotFound, UsageError
from streams.settings import Settings

Json = Mapping[str, Any]


@click.command("explain")
@click.argument("node", metavar="NODE|POSITION")
@click.option(
    "--session", "session_id", metavar="ID", help="Of this session, where several use the id."
)
@text.options
@common.read_options
def command(node: str, **params: Any) -> None:
    """Show why the newest verdict on a thing is so, and prove it.

    NODE is its name in the lineage graph; docs/reference/lineage.md lists the forms.  The verdict
    is derived again from its record, and the checkpoint over its fact is checked.  Exits with 1 if
    a proof fails.  With the POSITION of a record (TOPIC/PARTITION/OFFSET), shows the verdicts on
    it and the proof of each; with that of a fact, its own.

    \b
    Examples:
      headrace explain apc:packet:7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730
      headrace explain apc.packets/0/2
    """
    settings = Settings.load()
    path = f"/v1/things/{quote(node, safe='')}"
    if is_position(node):
        _explain_position(node, params, settings)
        return
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


def _explain_position(position: str, params: dict[str, Any], settings: Settings) -> None:
    if params.pop("session_id") is not None:
        raise UsageError("--session goes with a NODE")
    answer = ask_record(position, common.query_of(params), settings)
    if answer["proof"] is not None:
        cause = _cause_of(answer["record"])
        effects = ask_effects(cause, settings) if cause else {"verdicts": []}
        verdicts = [each for each in effects["verdicts"] if each["fact"] == position]
        proofs = [answer["proof"]]
    else:
        verdicts = answer["effects"]["verdicts"]
        proofs = [ask_proof(each["fact"], settings) for each in verdicts]
        if not verdicts:
            raise NotFound(f"there is no verdict on {position}", "not_found")
    body = {"position": position, "verdicts": verdicts, "proofs": proofs}
    text.show(body, _render_position, pipe=None)
    if any(map(fails, proofs)):
        raise SystemExit(1)


def _cause_of(record: Json) -> str | None:
    cause: str | None = record["headers"].get("headrace-cause")
    return cause if cause is not None and is_position(cause) else None


def _render_position(answer: Json, page: text.Page) -> None:
    page.line(page.plain(answer["position"], "bold"))
    show_judgements(answer["verdicts"], page)
    for proof in answer["proofs"]:
        page.line(page.joined("proof of", page.plain(proof["position"])))
        show_proof(proof, page)


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
