"""The command `headrace audit status`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from streams.cli import common, gateway_client, text
from streams.cli.text import Page
from streams.settings import Settings

_COLUMNS = ("", "place", "covered to", "end", "not covered")


@click.command("status")
@text.options
@gateway_client.options
@click.pass_context
def status(ctx: click.Context) -> None:
    """Show how far the transparency log is published, and which records it covers.

    Exits with 1 if a signed checkpoint has a root that the log does not have.

    \b
    Example:
      headrace audit status
    """
    body = common.ask("/v1/audit/log", "", Settings.load())
    text.show(body, _render, pipe=None)
    if body["conflict"]:
        ctx.exit(1)


def _render(body: Mapping[str, Any], page: Page) -> None:
    page.line(page.plain(body["origin"], "bold"))
    if body["root"] is None:
        page.line(page.check(None), page.plain("no checkpoint is published"))
    else:
        names = ", ".join(each["name"] for each in body["cosigners"]) or "by nobody"
        page.line(
            page.check(True),
            page.joined("size", page.number(body["size"])),
            page.joined("published", page.time(body["published_at"])),
            page.joined("cosigned", page.plain(names)),
        )
        page.line("root", page.plain(body["root"]), indent=3)
    if waiting := body["sequenced"] - body["size"]:
        page.line(page.check(None), page.joined(page.number(waiting), "entries not published"))
    if body["conflict"]:
        page.line(page.check(False), page.plain("a signed checkpoint is none of this log", "red"))
    if body["refused"]:
        page.line(page.check(None), page.joined(page.number(body["refused"]), "records refused"))
    rows = [
        (
            page.check(True if not each["uncovered"] else None),
            page.plain(f"{each['topic']}/{each['partition']}"),
            page.number(each["covered_to"]),
            page.number(each["end"]),
            page.number(each["uncovered"]),
        )
        for each in body["partitions"]
        if each["end"]
    ]
    page.table(_COLUMNS, rows)
