"""`headrace sap result`."""

from __future__ import annotations

from urllib.parse import quote

import click

from streams.cli import common
from streams.errors import NotFound
from streams.settings import Settings


@click.command("result")
@click.argument("task_id", metavar="TASKID")
@click.option(
    "--seq", type=click.IntRange(1), metavar="N", help="Show this outcome instead of the last."
)
@click.option("--json", "as_json", is_flag=True, help="No effect: the output is always JSON.")
@common.read_options
def command(task_id: str, seq: int | None, as_json: bool, after: str | None) -> None:
    """Show an outcome of a task.

    \b
    Examples:
      headrace sap result 7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a
      headrace sap result 7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a --seq 1
    """
    path = f"/v1/sap/tasks/{quote(task_id, safe='')}"
    outcomes = common.ask(path, common.query_of({"after": after}), Settings.load())["outcomes"]
    if not outcomes:
        raise NotFound(f"task {task_id} has no outcome")
    if seq is not None and seq > len(outcomes):
        raise NotFound(f"task {task_id} has no outcome {seq}; the last is {len(outcomes)}")
    common.show_json(outcomes[-1 if seq is None else seq - 1])
