"""`headrace apc explain`."""

from __future__ import annotations

from urllib.parse import quote, urlencode

import click

from streams.cli import common, text
from streams.cli.apc import rendering
from streams.errors import UsageError
from streams.settings import Settings


@click.command("explain")
@click.option("--session-id", metavar="ID", required=True, help="The packet's session.")
@click.option("--packet-id", metavar="UUID", required=True, help="The packet.")
@click.option(
    "--what-if",
    "what_ifs",
    metavar="NAME=VALUE",
    multiple=True,
    help="Evaluate a TRANSFER with another value; repeatable.",
)
@click.option(
    "--standing",
    type=click.Choice(["recorded", "now"]),
    default="recorded",
    show_default=True,
    help="Receivers and decay of a what-if: those at the verdict, or those of now.",
)
@text.options
@common.read_options
def command(
    session_id: str, packet_id: str, what_ifs: tuple[str, ...], standing: str, after: str | None
) -> None:
    """Explain the verdict on a packet, with all its evidence.

    --what-if also shows the verdict that a changed TRANSFER would have got.  Names: sender_score,
    receiver_score, top_k, generation, run_phase, mode, cross_use_case, min_generation,
    threshold_multiplier, to_swarm.

    \b
    Examples:
      headrace apc explain --session-id sess-01 --packet-id 7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730
      headrace apc explain --session-id sess-01 --packet-id $PACKET --what-if sender_score=0.9
    """
    query = [("standing", standing), *map(_what_if, what_ifs)]
    if after is not None:
        query.append(("after", after))
    path = f"/v1/apc/sessions/{quote(session_id, safe='')}/packets/{quote(packet_id, safe='')}"
    answer = common.ask(f"{path}/explain", urlencode(query), Settings.load())
    text.show(answer, rendering.render_explanation)


def _what_if(assignment: str) -> tuple[str, str]:
    name, equals, value = assignment.partition("=")
    if not equals:
        raise UsageError(f"--what-if {assignment} is not NAME=VALUE")
    if name in ("standing", "after"):
        raise UsageError(f"--what-if {assignment}: {name} is an option of its own")
    return name, value
