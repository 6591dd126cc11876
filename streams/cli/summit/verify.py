"""`headrace summit verify`."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click

from streams.cli import common, text
from streams.cli.summit.common import REJECTED, SummitCommand
from streams.settings import Settings

_TITLES = ("check", "result", "expected", "found", "source")


@click.command("verify", cls=SummitCommand)
@click.argument("run")
@text.options
@common.read_options
@click.pass_context
def command(ctx: click.Context, /, run: str, after: str | None) -> None:
    """Read the records in a run's evidence again, and recompute its hashes.

    Exits with 1 when a hash differs, or its record is no longer on the log.

    \b
    Example:
      headrace summit verify run-7f2
    """
    path = f"/v1/summit/runs/{quote(run, safe='')}/evidence"
    answer = common.ask(path, common.query_of({"after": after}), Settings.load())
    text.show(answer, _render, _pipe)
    if any(check["result"] != "ok" for check in answer["checks"]):
        ctx.exit(REJECTED)


def _render(answer: Any, page: text.Page) -> None:
    rows = [
        (
            page.check(check["result"] == "ok"),
            page.plain(check["check"]),
            page.plain(check["result"]),
            page.id(check["expected"]),
            page.id(check["found"]),
            page.plain(check["source"]),
        )
        for check in answer["checks"]
    ]
    page.table(("", *_TITLES), rows)
    matching = sum(check["result"] == "ok" for check in answer["checks"])
    total = text.plural(len(rows), "hash").replace("hashs", "hashes")
    page.line(page.check(matching == len(rows)), f"{matching:,} of {total} computed again match")


def _pipe(answer: Any) -> None:
    rows = [tuple(check[title] or "-" for title in _TITLES) for check in answer["checks"]]
    common.show_table(_TITLES, rows)
