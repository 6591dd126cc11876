"""`python -m streams.agents`."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from schemas.sap.texts import is_agent_id
from streams.agents import Clerk, serve
from streams.errors import HeadraceError
from streams.settings import Settings

_NAME_BYTES = 200


def _checked(ctx: click.Context, parameter: click.Parameter, agent_id: str) -> str:
    if not is_agent_id(agent_id):
        raise click.BadParameter(
            "1 to 256 characters, no control characters, no blank at either end"
        )
    return agent_id


def place_of(agent_id: str, state_dir: Path) -> Path:
    """The file of an agent's cursor; of a name too long for a file, its hash stands for it."""
    name = quote(agent_id, safe="")
    if len(name) > _NAME_BYTES:
        name = sha256(agent_id.encode()).hexdigest()
    return state_dir / "agents" / f"{name}.cursor"


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
def main(agent_id: str, capabilities: tuple[str, ...], **given: Any) -> None:
    """Answer tasks until Ctrl-C or SIGTERM; HEADRACE_… settings say where Kafka is.

    \b
    Example:
      python -m streams.agents --agent-id A-ml-001 --capability consult.align
    """
    settings = Settings.load(**{name: value for name, value in given.items() if value is not None})
    place = place_of(agent_id, settings.state_dir)
    clerk = Clerk(agent_id, capabilities)
    try:
        asyncio.run(_until_stopped(clerk, settings, place))
    except HeadraceError as exc:
        click.echo(f"agent: {exc}", err=True)
        sys.exit(exc.exit_code)


async def _until_stopped(clerk: Clerk, settings: Settings, place: Path) -> None:
    serving = asyncio.create_task(
        serve(clerk, settings, place, on_ready=_ready(clerk), on_answer=_answered)
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    try:
        await serving
    except asyncio.CancelledError:
        click.echo("stopped", err=True)


def _ready(clerk: Clerk) -> Callable[[], None]:
    return lambda: click.echo(f"agent {clerk.agent_id}")


def _answered(task_id: str) -> None:
    click.echo(f"answered {task_id}")


if __name__ == "__main__":
    main()
