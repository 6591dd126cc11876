"""`headrace tail`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from streams.cli import INTERRUPTED, common, completing, text
from streams.errors import UsageError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.log.tail import Observation
    from topology.declarations import Topic

_MAX_LINES = 500
"""The most lines of JSON that wait for the end of a batch."""


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
@text.options
@click.pass_context
def command(
    ctx: click.Context,
    topic: str,
    sessions: tuple[str, ...],
    kinds: tuple[str, ...],
    tasks: tuple[str, ...],
    start: str | None,
    until_end: bool,
) -> None:
    """Follow a topic, decoded.  TOPIC is rtes (the events of all sessions) or a topic's name.

    Prints one line for each record: time, position (or session and number of an event), ids,
    verdict or state, rule and reason.  Chunks of a thought that follow each other are one line.
    With --json, one JSON object a line.

    Shows committed records only.  Each filter can be repeated.  On exit the cursor is printed on
    standard error; --from continues there, and no record is repeated or left out.

    \b
    Examples:
      headrace tail rtes --session sess-01
      headrace tail apc.events --until-end --json
    """
    from streams.cli.tail_lines import LinePrinter
    from streams.log.tail import Filters, Tail

    declared = topic_of(topic)
    settings = Settings.load()
    begin = start or ("earliest" if until_end else "latest")
    filters = Filters(sessions, kinds, tasks)
    printer: JsonPrinter | LinePrinter = JsonPrinter(declared)
    if text.form() is not text.Form.JSON:
        printer = LinePrinter(declared, text.new_page())
    with common.connect(settings) as log:
        tail = Tail(log, declared, settings.prefix, filters, begin)
        try:
            with common.interrupts() as interrupted:
                on_idle = (lambda: None) if until_end else printer.flush
                following = tail.follow(until_end, interrupted.is_set, on_idle, printer.end_batch)
                for observation in following:
                    printer.add(observation)
        finally:
            printer.flush()
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


class JsonPrinter:
    """Prints each observation as JSON, the lines of one batch at once.

    Records of the event stream are printed as they are, others with partition and offset.
    """

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._lines: list[str] = []

    def add(self, observation: Observation) -> None:
        self._lines.append(common.json_line(self._as_json(observation)))
        if len(self._lines) == _MAX_LINES:
            self.flush()

    def _as_json(self, observation: Observation) -> Any:
        from streams.log.record_json import record_json
        from topology.saop import RTES_EVENTS

        record, value = observation
        if self._topic is RTES_EVENTS:
            return value
        position = {"partition": record.partition, "offset": record.offset}
        return {**record_json(self._topic, record, value), **position}

    def end_batch(self) -> None:
        self.flush()

    def flush(self) -> None:
        """Print the lines that wait; lines that cannot be written are not tried again."""
        lines, self._lines = self._lines, []
        if lines:
            common.echo_block("\n".join(lines))
