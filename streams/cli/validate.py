"""`headrace validate`."""

from __future__ import annotations

from typing import Any, BinaryIO

import click

from streams.cli import common, completing, text
from streams.cli.commands import KINDS, join_or
from streams.settings import Settings

_HELP = f"""Check one envelope, offline, by the rules that the edges apply.

KIND is {join_or(KINDS)}.  FILE defaults to standard input.  Exits with 1
when the envelope is not valid.

\b
Example:
  headrace validate apc.packet packet.json
"""


@click.command("validate", help=_HELP)
@click.argument("kind", shell_complete=completing.kind)
@click.argument("file", type=click.File("rb"), default="-")
@text.options
@click.pass_context
def command(ctx: click.Context, kind: str, file: BinaryIO) -> None:
    answer = check(kind, file.read(), Settings.load())
    text.show(answer, _show)
    if not answer["valid"]:
        ctx.exit(1)


def _show(answer: dict[str, Any], page: text.Page) -> None:
    if answer["valid"]:
        page.line(page.joined(page.check(True), "valid", style="green"))
        return
    rows = [
        (page.plain(each["rule"], "red"), page.plain(each["path"]), page.message(each["message"]))
        for each in answer["errors"]
    ]
    page.table(("rule", "path", "message"), rows)


def check(kind: str, body: bytes, settings: Settings) -> dict[str, Any]:
    from schemas import ShapeError
    from streams.ingress.kinds import kind_of
    from streams.processing import ingress
    from streams.processing.lines import Unparsed, read_value

    envelope_type, value = kind_of(kind), read_value(body)
    problems = [] if not isinstance(value, Unparsed) else [envelope_type.unread(value)]
    if problems and envelope_type.other_text is not None and not value.is_json:
        try:
            value, problems = envelope_type.other_text(body), []
        except ShapeError as exc:
            problems = [exc.problem]
    if not problems:
        _, problems = ingress.check(envelope_type, value, common.now_ms(), settings)
    return {"valid": not problems, "errors": [problem._asdict() for problem in problems]}
