"""`headrace query`."""

from __future__ import annotations

from urllib.parse import urlencode

import click

from streams.cli import common, text
from streams.settings import Settings


@click.command("query")
@click.argument("path")
@common.read_options
@common.as_of_option
def command(path: str, after: str | None, as_of: str | None) -> None:
    """Run a query of the HTTP API.

    Asks a running gateway, or else a view in the state directory, which first reads all topics to
    their ends.  Ids in PATH are percent-encoded.  --as-of shows one packet, task, run or cache key
    at an earlier point, folded from its facts.

    \b
    Examples:
      headrace query /v1/apc/sessions/sess-01/packets/7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730
      headrace query '/v1/rtes/events?session_id=sess-01' --after rtes.raw/0/3
      headrace query /v1/summit/runs/run-7f2 --as-of 2026-11-22T12:00:00Z
    """
    route, _, query = path.partition("?")
    params = {"after": after, "as_of": as_of}
    more = urlencode({name: value for name, value in params.items() if value is not None})
    query = "&".join(filter(None, (query, more)))
    text.show_coloured_json(common.ask(route, query, Settings.load()))
