"""`headrace sap-task`."""

from __future__ import annotations

from typing import Any

import click

from streams.cli import common
from streams.settings import Settings

_LISTS = ("acks", "outcomes", "task")
_TITLES = ("at", "kind", "status", "alignment", "rule", "cause")


@click.command("sap-task")
@click.argument("task_id", metavar="TASKID")
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(0),
    metavar="S",
    help="Until it ends, at most so long.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as it is.")
@common.after_option
@click.pass_context
def command(
    ctx: click.Context, task_id: str, wait_s: float | None, as_json: bool, after: str | None
) -> None:
    """Show where a task stands, the verdicts on what was sent about it, and its outcomes.

    With --wait it exits with 1 when the task has not ended in time.

    \b
    Examples:
      headrace sap-task 7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a
      headrace sap-task 7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a --wait 30 --json
    """
    from streams.views.sap.common import named
    from streams.views.sap.tasks import end_of, task

    with common.looking(Settings.load(), after) as (_, view):
        ended = wait_s is None or common.step_until(
            view, lambda: end_of(view, named(task_id)) is not None, wait_s
        )
        answer = task(view, task_id)
    if as_json:
        common.show_json(answer)
    else:
        common.show_members({k: v for k, v in answer.items() if k not in _LISTS})
        click.echo()
        common.show_table(_TITLES, [*map(_ack, answer["acks"]), *map(_outcome, answer["outcomes"])])
    if not ended:
        click.echo(f"after {wait_s:g} s it is still {answer['state'] or 'unknown'}", err=True)
        ctx.exit(1)


def _ack(ack: Any) -> tuple[str, ...]:
    kind = ack["subject"].lower()
    return (ack["at"], kind, ack["status"], "-", ack["rule"], ack["position"])


def _outcome(outcome: Any) -> tuple[str, ...]:
    said = outcome["meta"]["headrace"]
    alignment = outcome["constitutionalEvidence"]["alignment"]
    kind = f"outcome {said['seq']}"
    return (
        outcome["reportedAt"],
        kind,
        outcome["status"],
        alignment,
        said["rule"],
        said["cause"],
    )
