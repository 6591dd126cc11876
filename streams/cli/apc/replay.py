"""`headrace apc replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from streams.cli import common, text
from streams.cli.apc import rendering
from streams.errors import NotFound
from streams.settings import Settings


@click.command("replay")
@click.option("--run-id", metavar="ID", required=True, help="The run.")
@click.option("--session-id", metavar="ID", help="Only packets of this session.")
@click.option("--task-id", metavar="ID", help="Only packets of this task.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=500,
    show_default=True,
    help="Maximum number of rows of event_stream.",
)
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, path_type=Path),
    metavar="FILE",
    help="Read a file of `audit export` or of --out, or a directory of them; no broker is asked.",
)
@common.out_option
@text.options
@common.read_options
def command(source: Path | None, out: Path | None, **params: Any) -> None:
    """Show a run: its packets in log order, and all their transitions in one stream.

    Exits with 1 when the run has no packet.  --from gives, for a run that has ended, what the
    service gave.

    \b
    Examples:
      headrace apc replay --run-id run-01 --out replay.json
      headrace apc replay --run-id run-01 --from facts.jsonl.gz
    """
    answer = _ask(params) if source is None else _read(source, params)
    if answer.get("packet_count") == 0:
        raise NotFound(_nothing(source, params))
    text.show(answer, rendering.render_replay)
    if text.form() is not text.Form.TEXT and answer.get("hint") is not None:
        counts = f"{answer['returned']} of {answer['event_count']} steps"
        common.echo(f"{counts}: --limit {answer['event_count']} shows all", err=True)
    if out is not None:
        common.write_json(answer, out)


def _ask(params: dict[str, Any]) -> Any:
    return common.ask("/v1/apc/replay", common.query_of(params), Settings.load())


def _read(source: Path, params: dict[str, Any]) -> Any:
    from streams.cli.apc.replay_files import replay_from

    names = ("run_id", "session_id", "task_id")
    filters = {name: params[name] for name in names if params[name] is not None}
    return replay_from(source, filters, params["limit"])


def _nothing(source: Path | None, params: dict[str, Any]) -> str:
    words = [f"no packet of run {params['run_id']}"]
    for name in ("session", "task"):
        if params[f"{name}_id"] is not None:
            words.append(f"{name} {params[f'{name}_id']}")
    return ", ".join(words) + ("" if source is None else f" in {source}")
