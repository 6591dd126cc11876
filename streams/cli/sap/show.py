"""`headrace sap show`."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote

import click

from streams.cli import common, text
from streams.cli.asked_things import ask_thing, thing_path
from streams.cli.thing_text import show_thing
from streams.errors import NotFound, UsageError
from streams.settings import Settings

POLL_S = 0.5
_LISTS = ("acks", "outcomes", "task")
_TITLES = ("at", "kind", "status", "alignment", "rule", "cause")


@click.command("show")
@click.argument("task_id", metavar="TASKID")
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(0),
    metavar="S",
    help="Wait up to S seconds for the task to end.",
)
@text.options
@common.read_options
@common.as_of_option
@click.pass_context
def command(
    ctx: click.Context,
    task_id: str,
    wait_s: float | None,
    after: str | None,
    as_of: str | None,
) -> None:
    """Show the state of a task, the verdicts on its commands, and its outcomes.

    With --wait, exits with 1 when the task has not ended in time.

    \b
    Examples:
      headrace sap show 7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a
      headrace sap show 7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a --wait 30 --json
      headrace sap show 7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a --as-of 2026-11-22T12:00:00Z
    """
    if as_of is not None and (after is not None or wait_s is not None):
        raise UsageError("--as-of looks back; leave --after and --wait out")
    settings = Settings.load()
    ended = wait_s is None or _wait(settings, task_id, after, wait_s)
    if text.form() is text.Form.TEXT:
        answer = ask_thing("sap:task", task_id, settings, after=after, as_of=as_of)
        text.show(answer, show_thing)
    else:
        query = common.query_of({"after": after, "as_of": as_of})
        answer = common.ask(f"/v1/sap/tasks/{quote(task_id, safe='')}", query, settings)
        text.show(answer, show_thing, _pipe)
    if not ended:
        common.echo(f"after {wait_s:g} s it is still {answer['state'] or 'unknown'}", err=True)
        ctx.exit(1)


def _wait(settings: Settings, task_id: str, after: str | None, wait_s: float) -> bool:
    """Return whether a task has ended in time."""
    from streams.cli.gateway_client import NoGateway

    path, query = thing_path("sap:task", task_id), common.query_of({"after": after})
    deadline_s = time.monotonic() + wait_s
    while True:
        try:
            thing = common.ask_gateway(path, query, settings)
        except NotFound:
            thing = {"terminal": False}
        if isinstance(thing, NoGateway):
            return _wait_on_log(settings, task_id, after, deadline_s - time.monotonic())
        if thing["terminal"] or time.monotonic() >= deadline_s:
            return bool(thing["terminal"])
        time.sleep(min(POLL_S, max(0.0, deadline_s - time.monotonic())))


def _wait_on_log(settings: Settings, task_id: str, after: str | None, wait_s: float) -> bool:
    """Follow the log, and return whether a task has ended in time."""
    from streams.protocols.sap.queries.tasks import end_of, task_key

    with common.open_log_and_view(settings, after) as (_, view):
        return common.step_until(view, lambda: end_of(view, task_key(task_id)) is not None, wait_s)


def _pipe(answer: Any) -> None:
    common.show_members({k: v for k, v in answer.items() if k not in _LISTS})
    common.echo()
    common.show_table(_TITLES, [*map(_ack, answer["acks"]), *map(_outcome, answer["outcomes"])])


def _ack(ack: Any) -> tuple[str, ...]:
    kind = ack["subject"].lower()
    return (ack["at"], kind, ack["status"], "-", ack["rule"], ack["position"])


def _outcome(outcome: Any) -> tuple[str, ...]:
    headrace_meta = outcome["meta"]["headrace"]
    alignment = outcome["constitutionalEvidence"]["alignment"]
    kind = f"outcome {headrace_meta['seq']}"
    return (
        outcome["reportedAt"],
        kind,
        outcome["status"],
        alignment,
        headrace_meta["rule"],
        headrace_meta["cause"],
    )
