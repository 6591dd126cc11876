"""`headrace tail`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from streams.cli import INTERRUPTED, common, completing
from streams.errors import UsageError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.log.tail import Observation
    from topology.declarations import Topic


@click.command("tail")
@click.argument("topic", shell_complete=completing.topic)
@click.option(
    "--session", "sessions", metavar="ID", multiple=True, help="Only records of these sessions."
)
@click.option("--type", "kinds", metavar="TYPE", multiple=True, help="Only records of these types.")
@click.option("--task", "tasks", metavar="ID", multiple=True, help="Only records of these tasks.")
@click.option(
    "--from",
    "start",
    metavar="earliest|latest|CURSOR",
    help="Where to start.  [default: latest; with --until-end earliest]",
)
@click.option("--until-end", is_flag=True, help="Stop at the current end of the topic.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_context
def command(
    ctx: click.Context,
    topic: str,
    sessions: tuple[str, ...],
    kinds: tuple[str, ...],
    tasks: tuple[str, ...],
    start: str | None,
    until_end: bool,
    as_json: bool,
) -> None:
    """Follow a topic, decoded.  TOPIC is rtes (the events of all sessions) or a topic's name.

    Shows committed records only.  Each filter can be repeated.  On exit the cursor is printed on
    standard error; --from continues there, and no record is repeated or left out.

    \b
    Examples:
      headrace tail rtes --session sess-01
      headrace tail apc.events --until-end --json
    """
    from streams.log.tail import Filters, Tail

    declared = topic_of(topic)
    settings = Settings.load()
    begin = start or ("earliest" if until_end else "latest")
    filters = Filters(sessions, kinds, tasks)
    show = _json_formatter(declared) if as_json else format_line
    with common.connect(settings) as log:
        tail = Tail(log, declared, settings.prefix, filters, begin)
        try:
            with common.interrupts() as interrupted:
                for observation in tail.follow(until_end, interrupted.is_set):
                    common.echo(show(observation))
        finally:
            common.echo(f"cursor {tail.cursor()}", err=True)
            tail.close()
    if interrupted.is_set():
        ctx.exit(INTERRUPTED)


def topic_of(name: str) -> Topic:
    """Return the topic of this name.  Raises UsageError for a topic that does not exist."""
    from topology import topics
    from topology.saop import RTES_EVENTS

    if name == "rtes":
        return RTES_EVENTS
    if name not in topics.BY_NAME:
        raise UsageError(
            f"{name} is not a topic", advice=f"Topics: rtes, {', '.join(topics.BY_NAME)}."
        )
    return topics.BY_NAME[name]


def _json_formatter(topic: Topic) -> Callable[[Observation], str]:
    """Return a function that formats an observation as JSON.

    Records of the event stream are printed as they are, others with partition and offset.
    """
    from streams.log.record_json import record_json
    from topology.saop import RTES_EVENTS

    def text(observation: Observation) -> str:
        if topic is RTES_EVENTS:
            return common.json_line(observation.value)
        record = observation.record
        position = {"partition": record.partition, "offset": record.offset}
        return common.json_line({**record_json(topic, record), **position})

    return text


def format_line(observation: Observation) -> str:
    """Return a line for people."""
    from streams.engine.headers import iso

    record = observation.record
    position = f"{record.topic}/{record.partition}/{record.offset}"
    summary = common.printable(_summary(observation.value))
    return f"{iso(record.timestamp).decode()}  {position}  {summary}"


_SUMMARY_MEMBERS = (
    "session_id",
    "sequence",
    "verdict",
    "kind",
    "packet_type",
    "packet_id",
    "recipient_agent_id",
    "attempt",
    "rule",
    "state",
)


def _summary(value: Any) -> str:
    if not isinstance(value, dict):
        return common.json_line(value)
    payload = value.get("payload")
    parts = [str(value[name]) for name in _SUMMARY_MEMBERS if value.get(name) is not None]
    if isinstance(payload, dict) and payload.get("type") == "TASK_TRANSITION":
        parts.append(f"{payload['task_id']}: {payload['from_state']} → {payload['to_state']}")
    elif isinstance(payload, dict) and "type" in payload:
        parts.append(str(payload["type"]))
    return "  ".join(parts) or common.json_line(value)
