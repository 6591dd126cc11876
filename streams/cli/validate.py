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
@click.option("--all", "shows_all", is_flag=True, help="Show every problem, not the first ones.")
@text.options
@click.pass_context
def command(ctx: click.Context, kind: str, file: BinaryIO, shows_all: bool) -> None:
    whole = check_all(kind, file.read(), Settings.load())
    answer = whole if shows_all else _first(kind, whole)
    text.show(answer, _show)
    left = len(whole["errors"]) - len(answer["errors"])
    if left:
        common.echo(f"{left} more with --all", err=True)
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
    """Return whether an envelope is valid, and the problems that the edges report."""
    return _first(kind, check_all(kind, body, settings))


def _first(kind: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer with no more problems than the edges report of that kind."""
    from streams.ingress.kinds import kind_of

    return {**answer, "errors": answer["errors"][: kind_of(kind).max_problems]}


def check_all(kind: str, body: bytes, settings: Settings) -> dict[str, Any]:
    """Return whether an envelope is valid, and all its problems, the deciding one first."""
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
        _, problems = ingress.check_all(envelope_type, value, common.now_ms(), settings)
    return {"valid": not problems, "errors": [problem._asdict() for problem in problems]}
