"""`python -m streams.agents`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from schemas.sap.constants import is_agent_id
from streams.agents import EchoAgent, serve
from streams.agents.cursor_file import place_of
from streams.agents.stopping import until_stopped
from streams.errors import HeadraceError
from streams.settings import Settings


def _checked(ctx: click.Context, parameter: click.Parameter, agent_id: str) -> str:
    if not is_agent_id(agent_id):
        raise click.BadParameter(
            "1 to 256 characters, no control characters, no blank at either end"
        )
    return agent_id


@click.command("streams.agents")
@click.option("--agent-id", required=True, metavar="ID", callback=_checked, help="Who answers.")
@click.option(
    "--capability",
    "capabilities",
    multiple=True,
    metavar="NAME",
    help="Takes tasks for this capability that name no agent; repeatable.",
)
@click.option("--bootstrap", metavar="HOST:PORT", help="Instead of HEADRACE_BOOTSTRAP.")
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Instead of HEADRACE_STATE_DIR.",
)
def main(agent_id: str, capabilities: tuple[str, ...], **options: Any) -> None:
    """Answer tasks until Ctrl-C or SIGTERM; HEADRACE_… settings say where Kafka is.

    \b
    Example:
      python -m streams.agents --agent-id A-ml-001 --capability consult.align
    """
    settings = Settings.load(
        **{name: value for name, value in options.items() if value is not None}
    )
    cursor_file = place_of(agent_id, settings.state_dir)
    clerk = EchoAgent(agent_id, capabilities)
    try:
        serving = serve(clerk, settings, cursor_file, on_ready=_ready(clerk), on_answer=_answered)
        asyncio.run(until_stopped(serving))
    except HeadraceError as exc:
        click.echo(f"agent: {exc}", err=True)
        sys.exit(exc.exit_code)


def _ready(clerk: EchoAgent) -> Callable[[], None]:
    return lambda: click.echo(f"agent {clerk.agent_id}")


def _answered(task_id: str) -> None:
    click.echo(f"answered {task_id}")


if __name__ == "__main__":
    main()
