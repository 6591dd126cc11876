"""`headrace show`."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click

from streams.cli import common, text
from streams.cli.record_text import ask_record, is_position, show_record
from streams.cli.thing_text import show_thing
from streams.errors import UsageError
from streams.settings import Settings


@click.command("show")
@click.argument("node", metavar="NODE|POSITION")
@click.option(
    "--session", "session_id", metavar="ID", help="Of this session, where several use the id."
)
@click.option(
    "--cursor", metavar="CURSOR", help="Cursor of the page of steps, from the one before."
)
@click.option("--raw", is_flag=True, help="With a POSITION: add the bytes of the value, in Base64.")
@common.as_of_option
@text.options
@common.read_options
def command(node: str, raw: bool, **params: Any) -> None:
    """Show one thing of any protocol, or one record as it lies on the log.

    NODE is its name in the lineage graph; docs/reference/lineage.md lists the forms.  It has a
    state, steps, a reason, and links.  POSITION is TOPIC/PARTITION/OFFSET.  A record has a key,
    headers and a value; text adds what came of it or, for a fact, its proof.

    \b
    Examples:
      headrace show apc:packet:7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730
      headrace show apc:packet:7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730 --as-of apc.events/0/31
      headrace show apc.packets/0/2 --raw
    """
    settings = Settings.load()
    if is_position(node):
        _show_record(node, raw, params, settings)
        return
    if raw:
        raise UsageError("--raw goes with a POSITION")
    path = f"/v1/things/{quote(node, safe='')}"
    answer = common.ask(path, common.query_of(params), settings)
    text.show(answer, show_thing, pipe=None)


def _show_record(position: str, raw: bool, params: dict[str, Any], settings: Settings) -> None:
    for name in ("session_id", "cursor", "as_of"):
        if params.pop(name) is not None:
            option = "session" if name == "session_id" else name.replace("_", "-")
            raise UsageError(f"--{option} goes with a NODE")
    query = common.query_of({**params, "bytes": "true" if raw else None})
    if text.form() is text.Form.JSON:
        common.show_json(common.ask(f"/v1/records/{position}", query, settings))
    else:
        text.show(ask_record(position, query, settings), show_record, pipe=None)
