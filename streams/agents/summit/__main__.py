"""`python -m streams.agents.summit`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from schemas.summit import SummitManifest, load_manifest
from streams.agents.stopping import until_stopped
from streams.agents.summit import research, words
from streams.errors import HeadraceError
from streams.settings import Settings
from streams.summit.serving.serve import serve_agent

HERE = Path(__file__).parent


class Example(NamedTuple):
    """The handlers of an agent, for runs and for each tool."""

    handler: Callable[[Any, Any], Any]
    tools: Mapping[str, Callable[[Any, Any], Any]] = {}


EXAMPLES: Mapping[str, Example] = {
    "word-stats": Example(words.count, {"slugify": words.slugify}),
    "desk-router": Example(research.route),
    "deep-researcher": Example(research.research),
    "fact-checker": Example(research.check),
}


@click.command("streams.agents.summit")
@click.argument("agent", type=click.Choice(sorted(EXAMPLES)))
@click.option("--pace", type=click.FloatRange(0), default=0.0, help="Seconds before each answer.")
@click.option("--bootstrap", metavar="HOST:PORT", help="Instead of HEADRACE_BOOTSTRAP.")
@click.option("--state-dir", type=click.Path(path_type=Path), help="Instead of HEADRACE_STATE_DIR.")
def main(agent: str, pace: float, **options: Any) -> None:
    """Register an example agent and answer its runs until Ctrl-C or SIGTERM.

    \b
    Example:
      python -m streams.agents.summit word-stats
    """
    settings = Settings.load(
        **{name: value for name, value in options.items() if value is not None}
    )
    example = EXAMPLES[agent]
    try:
        serving = serve_agent(
            manifest_of(agent),
            _announced(example.handler, pace),
            tools={name: _announced(tool, pace) for name, tool in example.tools.items()},
            settings=settings,
            on_ready=lambda: click.echo(f"agent {agent}"),
        )
        asyncio.run(until_stopped(serving))
    except HeadraceError as exc:
        click.echo(f"agent: {exc}", err=True)
        sys.exit(exc.exit_code)


def manifest_of(agent: str) -> SummitManifest:
    return load_manifest(HERE / f"{agent}.yaml")


def _announced(handler: Callable[[Any, Any], Any], pace: float) -> Callable[[Any, Any], Any]:
    """Return the handler, preceded by a line for each run that begins."""

    async def announce_and_handle(inputs: Any, run: Any) -> Any:
        click.echo(f"begun {run.run_id}")
        await asyncio.sleep(pace)
        return await handler(inputs, run)

    return announce_and_handle


if __name__ == "__main__":
    main()
