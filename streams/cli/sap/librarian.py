"""`headrace sap librarian` and `headrace sap punch-card`."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click

from streams.cli import common, lists, text
from streams.settings import Settings

_COLUMNS = lists.columns(
    *("capability", "territory", "fingerprint", "version", "active", "samples", "meanRating"),
    *("approvals", "bestTaskId"),
)


def _row(item: Any, page: text.Page) -> tuple[Any, ...]:
    card = item["punchCard"]
    return (
        page.plain(item["capability"]),
        page.plain(item["territory"]),
        page.id(item["fingerprint"]),
        page.number(item["version"]),
        page.check(item["active"]),
        page.number(item["samples"]),
        page.number(item["meanRating"]),
        page.number(None if card is None else len(card["steps"])),
    )


_TABLE = lists.TextTable(
    ("capability", "territory", "fingerprint", "version", "active", "tasks", "rating", "steps"),
    _row,
)


@click.command("librarian")
@click.argument("capability", required=False)
@click.option("--territory", metavar="T", help="Only this territory; '' for tasks without one.")
@click.option("--fingerprint", metavar="F", help="Only tasks with this essence of the payload.")
@lists.options
def command(**params: Any) -> None:
    """Show the playbooks of kinds of tasks; with `--json`, their punch-cards too.

    \b
    Example:
      headrace sap librarian consult.align --territory EUFM
    """
    lists.show("/v1/sap/librarian", "playbooks", _COLUMNS, text_table=_TABLE, **params)


@click.command("punch-card")
@click.argument("capability")
@click.argument("fingerprint")
@click.option("--territory", metavar="T", help="Of tasks of this territory.")
@text.options
@common.read_options
def punch_card(capability: str, fingerprint: str, **params: Any) -> None:
    """Show the punch-card of a playbook as JSON: its steps can be sent on as next actions.

    \b
    Example:
      headrace sap punch-card consult.align e0.72f9f7ba4b2a4ed4db4ca8a31a8b2a4d1d4e6a2e7a5b7c1f
    """
    place = "/".join(quote(part, safe="") for part in (capability, fingerprint))
    path = f"/v1/sap/librarian/{place}"
    answer = common.ask(path, common.query_of(params), Settings.load())
    common.show_json(answer["punchCard"])
