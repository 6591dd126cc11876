"""`headrace topics`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streams.cli import acls, common, completing, text
from streams.errors import NotFound
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.ops.topics import PlannedTopic


@click.group("topics")
def command() -> None:
    """Create the declared topics, and compare them with those on the broker.

    \b
    Example:
      headrace topics list
    """


@command.command("create")
def create() -> None:
    """Create the topics that are missing, and print their names.

    Creates nothing when an existing topic has another number of partitions.  With
    SCHEMA_REGISTRY_URL set, it also registers missing schemas.

    \b
    Example:
      headrace topics create
    """
    from streams.ops.topics import create_topics
    from streams.registry.binding import register_schemas

    settings = Settings.load()
    with common.connect(settings) as log:
        register_schemas(settings, common.echo)
        for topic in create_topics(log, settings):
            common.echo(topic.name)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def show_all(as_json: bool) -> None:
    """List the declared topics, and their state on the broker.

    \b
    Example:
      headrace topics list --json
    """
    from streams.ops.topics import plan

    settings = Settings.load()
    with common.connect(settings) as log:
        members = [_row(planned) for planned in plan(log, settings)]
    if as_json:
        for row in members:
            common.echo(common.json_line(row))
        return
    titles = ("name", "kind", "standing", "partitions", "found")
    rows = [tuple("-" if row[t] is None else row[t] for t in titles) for row in members]
    common.show_table(titles, rows)


@command.command("describe")
@click.argument("topic", shell_complete=completing.topic)
def describe(topic: str) -> None:
    """Show one topic: its declaration, and its state on the broker.

    \b
    Example:
      headrace topics describe apc.packets
    """
    from streams.ops.topics import plan
    from topology.topics import config_of

    settings = Settings.load()
    with common.connect(settings) as log:
        matching = [p for p in plan(log, settings) if topic in (p.topic.name, p.name)]
    if not matching:
        raise NotFound(f"{topic} is not a topic of headrace", advice="See `headrace topics list`.")
    (planned,) = matching
    declared = planned.topic
    more = {"record": declared.record, "key": declared.key, "meaning": declared.meaning}
    text.show_coloured_json({**_row(planned), **more, "config": config_of(declared)})


@command.command("asyncapi")
def asyncapi() -> None:
    """Print the AsyncAPI 3 document of the topics, as the gateway serves it at /asyncapi.json.

    It describes the records of each topic, and who sends and receives them.  Needs no broker.

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
    """Let a task that has lost its position in an input continue at the earliest undecided record.

    A worker stops when unread records were deleted, or a topic was recreated; this command gives
    those records up.  It never moves a position backwards: for topics that were restored, use
    `headrace topics adopt`.  Run it while the worker is stopped.

    \b
    Example:
      headrace topics accept-gap apc.packets 0
    """
    from streams.engine.accept_gap import accept_gap

    settings = Settings.load()
    name = topic if topic.startswith(settings.prefix) else settings.prefix + topic
    with common.connect(settings) as log:
        common.show_json(accept_gap(log, settings, name, partition)._asdict())


@command.command("set-aside")
@click.argument("topic", shell_complete=completing.topic)
@click.argument("partition", type=click.IntRange(0))
@click.argument("offset", type=click.IntRange(0))
def set_one_aside(topic: str, partition: int, offset: int) -> None:
    """Let a task continue without a record that it cannot read and no processor wrote.

    A worker that stops names the record.  A row gets back its former value, or is deleted if the
    log does not hold one; an input becomes a dead letter.  Run it while the worker is stopped.

    \b
    Example:
      headrace topics set-aside headrace.changelog 0 4711
    """
    from streams.engine.set_aside import set_aside

    settings = Settings.load()
    name = topic if topic.startswith(settings.prefix) else settings.prefix + topic
    with common.connect(settings) as log:
        common.show_json(set_aside(log, settings, name, partition, offset)._asdict())


@command.command("adopt")
@click.option("--dry-run", is_flag=True, help="Only compare; write nothing.")
@click.option(
    "--public-key",
    "public_keys",
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    metavar="FILE",
    help="A public key of an auditor; repeatable.  [default: HEADRACE_AUDIT_PUBLIC_KEY]",
)
def adopt(dry_run: bool, public_keys: tuple[Path, ...]) -> None:
    """Let tasks continue where they stood, in topics that were restored under other topic ids.

    Compares the input records below each position with the outputs that name them, and facts with
    the audit's checkpoints where a public key is given.  Exits with 1 and changes nothing when
    offsets or times differ (positions_differ).  Prints one JSON object for each adopted input; none
    if no topic id has changed.  Run it while the workers are stopped.

    \b
    Examples:
      headrace topics adopt --dry-run
      headrace topics adopt
    """
    from streams.ops.adopt_topics import adopt as adopt_topics
    from streams.ops.audit import keys_of

    settings = Settings.load()
    files = public_keys or tuple(filter(None, [settings.audit_public_key]))
    with common.connect(settings) as log:
        for adoption in adopt_topics(log, settings, keys_of(files), dry_run=dry_run):
            common.echo(common.json_line(adoption._asdict()))


@command.command("sign")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def sign(as_json: bool) -> None:
    """Sign the rows of all tasks with the first key of HEADRACE_MAC_KEY.

    For a log that had no key, or another one: stop the workers, run `headrace verify`, then this.
    The row of each key is written again with a MAC, unless it has one.  When it is killed, run it
    again.  The last line is the setting with which facts from before count without a MAC.

    \b
    Example:
      headrace topics sign
    """
    from schemas.formats import iso_ms
    from streams.ops.sign_topics import sign_topics

    settings = Settings.load()
    with common.connect(settings) as log:
        for task in sign_topics(log, settings):
            row = task._asdict()
            line = f"task {task.partition}: {task.signed} rows signed, {task.unchanged} had a MAC"
            common.echo(common.json_line(row) if as_json else line)
    since = iso_ms(time.time_ns() // 1_000_000)
    common.echo(
        common.json_line({"HEADRACE_MAC_SINCE": since})
        if as_json
        else f"HEADRACE_MAC_SINCE={since}"
    )


@command.command("repair")
@click.argument("topic", shell_complete=completing.topic)
@click.argument("key")
@click.option("--absent", is_flag=True, help="Remove the row, instead of deriving it from facts.")
@click.option("--reason", metavar="TEXT", help="Why, for `audit.repairs`.")
@click.option("--operator", metavar="NAME", help="The operator; default: the user's name.")
@click.option("--dry-run", is_flag=True, help="Only derive the row; write nothing.")
def repair(
    topic: str, key: str, absent: bool, reason: str | None, operator: str | None, dry_run: bool
) -> None:
    """Write the row of a table that a refused record has taken the place of.

    The row is what the facts make, in tables whose rows follow from facts alone; for others, and
    with facts that are gone, the command exits with 1 (not_derivable), and --absent removes the
    row.  TOPIC is a table topic, or the name of an internal table.  Prints one JSON object for each
    repaired row.  Then send the dead letters again: `headrace dlq redrive --code row_refused`.

    \b
    Example:
      headrace topics repair apc.packet-states sess-01/7f0c2f5d-0f76-4a4c-93d0-f0b2e2891730
    """
    from streams.cli.dlq_redrive_rows import user_name
    from streams.ops.repair_row import repair_row

    settings = Settings.load()
    by = operator or user_name()
    with common.connect(settings) as log:
        repairs = repair_row(
            log, settings, topic, key, absent=absent, reason=reason, by=by, dry_run=dry_run
        )
    for one in repairs:
        common.echo(common.json_line(one._asdict()))


def _row(planned: PlannedTopic) -> dict[str, Any]:
    return {
        "name": planned.name,
        "kind": planned.topic.kind.value,
        "standing": planned.status.value,
        "partitions": planned.partitions,
        "found": planned.existing_partitions,
    }
