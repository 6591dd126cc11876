"""`headrace play`."""

from __future__ import annotations

from dataclasses import replace
from typing import TextIO

import click

from streams.cli import common, completing, text
from streams.errors import UsageError
from streams.settings import PREFIX, Settings, environment_without

_POLICY = "POLICY"


@click.command("play")
@click.argument("file", type=click.File("r"), default="-")
@click.option(
    "--set",
    "sets",
    metavar="NAME=VALUE",
    multiple=True,
    help="A setting for this run; repeatable.",
    shell_complete=completing.setting,
)
@text.options
@click.option(
    "--partitions", type=click.IntRange(1, 256), help="Partitions of each topic.  [default: 1]"
)
def command(file: TextIO, sets: tuple[str, ...], partitions: int | None) -> None:
    """Run a scenario through the real processors, on an in-memory log with a simulated clock.

    FILE contains one JSON object per line (default: standard input):

    \b
      {"topic": "apc.packets", "value": {…}}       send; "key" and "timestamp" may be given
      {"topic": "apc.packets", "key": "s", "raw_base64": "…"}   send bytes as they are
      {"topic": "rtes.raw", "as": "service", "value": {…}}      skip ingress
      {"advance_ms": 60000}                        let time pass; due timers fire
      {"query": "GET /v1/apc/packets?run_id=r1"}   ask a view
      {"query": "POST /mcp", "body": {…}}          send a message of MCP; "headers" may be given
      {"query": "POST /a2a/word-stats", "body": {…}}  send a request of A2A
      {"query": "POST /v1/traces", "body": {…}}    send spans, in the JSON of OTLP
      {"restart": true}                            restore all tables from the log

    On a terminal, and with --text, prints a line for each line of FILE: what was sent and its
    verdict.  In a pipe, and with --json, prints the records that the service writes, one JSON
    object per line; the same on every run.

    \b
    Examples:
      headrace play scenarios/idea.jsonl
      headrace play --set APC_REQUIRE_ANTI_DRIFT=true scenarios/idea.jsonl
    """
    from streams.doors.playing import SERVERS
    from streams.play.scenario import play

    settings = settings_of(sets, partitions)
    if text.form() is text.Form.TEXT:
        from streams.cli.play_text import show_scenario

        show_scenario(file, settings, text.new_page())
        return
    for output in play(file, settings, servers=SERVERS):
        common.echo(common.json_line(output))


def settings_of(sets: tuple[str, ...], partitions: int | None) -> Settings:
    """Return the environment's settings with one partition, changed by the options."""
    texts: dict[str, str] = {}
    for assignment in sets:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise UsageError(f"--set {assignment} is not NAME=VALUE")
        texts[name.removeprefix(PREFIX)] = value
    settings = replace(_load_with_policy_of(texts), partitions=1).assign(texts)
    return settings if partitions is None else replace(settings, partitions=partitions)


def _load_with_policy_of(texts: dict[str, str]) -> Settings:
    """Load the environment, with the policy of `texts` in place of its own.

    Removes the policy from `texts`: its values come before those of variables.
    """
    if _POLICY not in texts:
        return Settings.load()
    variable = PREFIX + _POLICY
    return Settings.load({**environment_without(variable), variable: texts.pop(_POLICY)})
