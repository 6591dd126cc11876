"""`headrace topics`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from streams.cli import acls, common, completing
from streams.errors import NotFound
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.ops.topics import PlannedTopic


@click.group("topics")
def command() -> None:
    """Create the topics that headrace declares, and compare them with what is there.

    \b
    Example:
      headrace topics list
    """


@command.command("create")
def create() -> None:
    """Create the topics that are missing, and print their names.

    Nothing is created when a topic is there with another number of partitions.  With
    SCHEMA_REGISTRY_URL set, schemas that the registry lacks are registered there.

    \b
    Example:
      headrace topics create
    """
    from streams.ops.topics import create_topics
    from streams.registry.binding import register_schemas

    settings = Settings.load()
    with common.connect(settings) as log:
        register_schemas(settings, click.echo)
        for made in create_topics(log, settings):
            click.echo(made.name)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def show_all(as_json: bool) -> None:
    """List the declared topics, and how they stand on the broker.

    \b
    Example:
      headrace topics list --json
    """
    from streams.ops.topics import plan

    settings = Settings.load()
    with common.connect(settings) as log:
        found = [_row(planned) for planned in plan(log, settings)]
    if as_json:
        for row in found:
            click.echo(common.json_line(row))
        return
    titles = ("name", "kind", "standing", "partitions", "found")
    rows = [tuple("-" if row[t] is None else row[t] for t in titles) for row in found]
    common.show_table(titles, rows)


@command.command("describe")
@click.argument("topic", shell_complete=completing.topic)
def describe(topic: str) -> None:
    """Show one topic: what it is declared as, and what is there.

    \b
    Example:
      headrace topics describe apc.packets
    """
    from streams.ops.topics import plan
    from topology.topics import config_of

    settings = Settings.load()
    with common.connect(settings) as log:
        found = [p for p in plan(log, settings) if topic in (p.topic.name, p.name)]
    if not found:
        raise NotFound(f"{topic} is not a topic of headrace", advice="See `headrace topics list`.")
    (planned,) = found
    declared = planned.topic
    more = {"record": declared.record, "key": declared.key, "meaning": declared.meaning}
    common.show_json({**_row(planned), **more, "config": config_of(declared)})


@command.command("asyncapi")
def asyncapi() -> None:
    """Print the AsyncAPI 3 document of the topics, as the gateway serves it at /asyncapi.json.

    It says what each record of each topic is, and who sends and receives it.  No broker is needed.

    \b
    Example:
      headrace topics asyncapi > headrace.asyncapi.json
    """
    from streams.api.asyncapi import document

    common.show_json(document(Settings.load()))


command.add_command(acls.command)


@command.command("accept-gap")
@click.argument("topic", shell_complete=completing.topic)
@click.argument("partition", type=click.IntRange(0))
def accept(topic: str, partition: int) -> None:
    """Let a task go on that has lost its place in an input, from the earliest record there is.

    Records that were deleted before they were read, or a topic that was created anew, stop a
    worker; this says that they are given up.  Run it while the worker is stopped.

    \b
    Example:
      headrace topics accept-gap apc.packets 0
    """
    from streams.engine.accept_gap import accept_gap

    settings = Settings.load()
    name = topic if topic.startswith(settings.prefix) else settings.prefix + topic
    with common.connect(settings) as log:
        common.show_json(accept_gap(log, settings, name, partition)._asdict())


def _row(planned: PlannedTopic) -> dict[str, Any]:
    return {
        "name": planned.name,
        "kind": planned.topic.kind.value,
        "standing": planned.standing.value,
        "partitions": planned.partitions,
        "found": planned.found,
    }
