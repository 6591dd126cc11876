"""`headrace subscriptions`."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from streams.cli import common, text
from streams.cli.cells import Row
from streams.settings import Settings

_TITLES = ("id", "door", "principal", "events", "host", "state", "lag", "refresh by")


@click.command("subscriptions")
@text.options
def command() -> None:
    """Show the webhooks of MCP and the push notifications of A2A.

    It reads Kafka.  Secrets are not shown, and of addresses only the host.  lag: records that are
    yet to be looked at; for A2A there is none.  With --json, one JSON object a line.

    \b
    Example:
      headrace subscriptions --json
    """
    settings = Settings.load()
    from streams.doors.push.listing import list_subscriptions

    with common.connect(settings) as log:
        rows = list_subscriptions(log, settings.prefix, time.time_ns() // 1_000_000)
    match text.form():
        case text.Form.JSON:
            for each in rows:
                common.echo(common.json_line(each))
        case text.Form.TEXT:
            _render(rows, text.new_page())
        case text.Form.PIPE:
            common.show_table(
                (*_TITLES, "arguments", "last error"), [_plain(each) for each in rows]
            )


def _render(rows: list[dict[str, Any]], page: text.Page) -> None:
    page.table(_TITLES, [_row(each, page) for each in rows], what="subscriptions")


def _row(each: dict[str, Any], page: text.Page) -> Row:
    details = [json.dumps(each["arguments"], ensure_ascii=False)]
    if each["last_error"] is not None:
        details.append(f"{each['last_error']}, {each['attempts']} failed attempts")
    cells = [
        page.id(each["id"]),
        page.plain(each["door"]),
        page.plain(each["principal"]),
        page.plain(each["name"]),
        page.plain(each["host"]),
        page.plain(each["state"]),
        page.number(each["lag"]),
        page.time(each["refresh_before"]),
    ]
    return Row(cells, page.note(page.plain("; ".join(details))))


def _plain(each: dict[str, Any]) -> tuple[Any, ...]:
    names = ("id", "door", "principal", "name", "host", "state", "lag", "refresh_before")
    cells = ("-" if each[name] is None else each[name] for name in names)
    return (*cells, json.dumps(each["arguments"]), each["last_error"] or "-")
