"""`headrace query`."""

from __future__ import annotations

from urllib.parse import urlencode

import click

from streams.cli import common
from streams.settings import Settings


@click.command("query")
@click.argument("path")
@common.after_option
def command(path: str, after: str | None) -> None:
    """Ask any read route.

    The answer comes from a view under the state directory, caught up to the ends of all topics.
    Ids in PATH are percent-encoded.

    \b
    Examples:
      headrace query /v1/apc/sessions/sess-01/packets/7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730
      headrace query '/v1/rtes/events?session_id=sess-01' --after rtes.raw/0/3
    """
    route, _, query = path.partition("?")
    if after is not None:
        query = "&".join(filter(None, (query, urlencode({"after": after}))))
    common.show_json(common.ask(route, query, Settings.load()))
