"""The manifest of an MCP server, for `headrace summit register --from-mcp`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from streams.cli import common
from streams.cli.summit.common import BAD_INPUT, REJECTED, fail
from streams.errors import InvalidInput, UsageError
from streams.settings import Settings


def imported(ctx: click.Context, source: str, options: Mapping[str, Any]) -> Any:
    """Ask a server for its tools and build its manifest; say on stderr what becomes of each tool.

    What a command writes to its own standard error is shown too, as the server's.  options: `name`,
    `version`, `tools`, `env` of the command.  Exits with 1 when no tool is left, or one that the
    caller named is left out.  Raises InvalidInput, ServerUnreachable, SettingsError.
    """
    from schemas.summit import check_manifest
    from streams.doors.mcp.foreign_manifest import TAKEN, manifest_of
    from streams.doors.mcp.foreign_server import describe

    chosen = [each for each in (options["tools"] or "").split(",") if each]
    try:
        token = Settings.load().mcp_bridge_token
        server = describe(source, options["env"], token, _show_stderr)
    except UsageError as exc:
        fail(ctx, str(exc), BAD_INPUT)
    manifest, choices = manifest_of(server, options["name"], options["version"], chosen)
    for each in choices:
        common.echo(f"{each.name}  {each.mcp_name}  {each.rule}", err=True)
    taken = {each.mcp_name for each in choices if each.rule == TAKEN}
    if missing := [each for each in chosen if each not in taken]:
        fail(ctx, f"tools left out or unknown: {', '.join(missing)}", REJECTED)
    if not taken:
        fail(ctx, "the server has no tool that a manifest can have", REJECTED)
    if problems := check_manifest(manifest):
        raise InvalidInput(problems)
    return manifest


def _show_stderr(line: str) -> None:
    common.echo(f"server: {line}", err=True)
