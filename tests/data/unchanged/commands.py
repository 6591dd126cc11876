"""Commands run in this process, with the settings that are the default."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click
from click.testing import CliRunner

from streams.cli import main
from streams.settings import BY_ENV, PREFIX
from tests.data.unchanged.manifest import Texts

WIDTH = 96


def run(*arguments: str) -> str:
    """What a command prints on stdout."""
    ours = [name for name in os.environ if name.startswith(PREFIX) or name in BY_ENV]
    runner = CliRunner(env=dict.fromkeys(ours))
    result = runner.invoke(
        main, arguments, prog_name="headrace", terminal_width=WIDTH, catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    return result.stdout


def show_help() -> Texts:
    """The help of every command, and of those below it."""
    return {
        f"help/{'-'.join(('headrace', *path))}.txt": run(*path, "--help")
        for path in _paths(main, (), None)
    }


def _paths(
    command: click.Command, path: tuple[str, ...], parent: click.Context | None
) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command, parent=parent)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _paths(below, (*path, name), context)
