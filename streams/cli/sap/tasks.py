"""`headrace sap tasks`."""

from __future__ import annotations

from typing import Any

import click

from streams.cli import lists, text

_COLUMNS = lists.columns(
    *("acceptedAt", "taskId", "state", "target.capability", "issuer.agentId", "closedAt")
)
_STYLES = {"SUCCEEDED": "green", "FAILED": "red", "CANCELLED": "red", "EXPIRED": "red"}


@click.command("tasks")
@click.option("--state", metavar="S", help="Tasks in this state, such as RUNNING.")
@click.option("--capability", metavar="C", help="Tasks that ask for this capability.")
@click.option("--issuer", metavar="ID", help="Tasks of this issuer.")
@lists.window_options("Accepted")
@lists.options
def command(**params: Any) -> None:
    """Show accepted tasks, the newest first.

    \b
    Example:
      headrace sap tasks --state RUNNING
    """
    lists.show("/v1/sap/tasks", "tasks", _COLUMNS, text_table=_TABLE, **params)


def _row(item: Any, page: text.Page) -> tuple[Any, ...]:
    return (
        page.time(item["acceptedAt"]),
        page.id(item["taskId"]),
        page.plain(item["state"], _STYLES.get(item["state"], "")),
        page.message(item["target"]["capability"]),
        page.id(item["issuer"]["agentId"]),
        page.time(item["closedAt"]),
    )


_TABLE = lists.TextTable(("accepted", "task", "state", "capability", "issuer", "closed"), _row)
