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
@click.option("--from", "from_", metavar="TIME", help="Accepted not earlier, ISO 8601.")
@click.option("--to", metavar="TIME", help="Accepted earlier than this, ISO 8601.")
@lists.options
def command(from_: str | None, **params: Any) -> None:
    """Show accepted tasks, the newest first.

    \b
    Example:
      headrace sap tasks --state RUNNING
    """
    params["from"] = from_
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
