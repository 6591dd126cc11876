"""`headrace validate`."""

from __future__ import annotations

from typing import Any, BinaryIO

import click

from streams.cli import common
from streams.settings import Settings


@click.command("validate")
@click.argument("kind")
@click.argument("file", type=click.File("rb"), default="-")
@click.pass_context
def command(ctx: click.Context, kind: str, file: BinaryIO) -> None:
    """Check one envelope, offline, by the rules that the edges apply.

    KIND is apc.packet, saop.turn, saop.rewind, rtes.event, rtes.payload, sap.task, sap.result,
    sap.signal, asap.envelope or asap.manifest.  FILE defaults to standard input.  Exits with 1
    when the envelope is not valid.

    \b
    Example:
      headrace validate apc.packet packet.json
    """
    answer = check(kind, file.read(), Settings.load())
    common.show_json(answer)
    if not answer["valid"]:
        ctx.exit(1)


def check(kind: str, text: bytes, settings: Settings) -> dict[str, Any]:
    from schemas import ShapeError, parse_ijson
    from streams import edges

    of = edges.kind_of(kind)
    try:
        _, problems = edges.check(of, parse_ijson(text, surrogates=True), common.now_ms(), settings)
    except ShapeError as exc:
        problems = [exc.problem._replace(rule=of.not_json)]
    return {"valid": not problems, "errors": [problem._asdict() for problem in problems]}
