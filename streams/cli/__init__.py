"""The command line.  Commands are imported when they are used, so that `--help` is quick."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module

import click

from streams.cli.commands import COMMANDS
from streams.errors import ExtraMissing, HeadraceError, InfrastructureError, TokensMissing

INTERRUPTED = 130


class LazyCommands(MutableMapping[str, click.Command]):
    """The commands by name; each is imported when it is used."""

    def __getitem__(self, name: str) -> click.Command:
        command: click.Command = import_module(f"streams.cli.{COMMANDS[name].module}").command
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __setitem__(self, name: str, command: click.Command) -> None:
        raise TypeError("commands are declared in COMMANDS")

    def __delitem__(self, name: str) -> None:
        raise TypeError("commands are declared in COMMANDS")


class RootGroup(click.Group):
    """The root group; it turns errors into one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.help) for name, lazy in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except HeadraceError as exc:
            has_code = isinstance(exc, InfrastructureError | TokensMissing | ExtraMissing)
            code = f"{exc.code}: " if has_code else ""
            from streams.cli.common import echo

            echo(f"headrace: {code}{exc}", err=True)
            ctx.exit(exc.exit_code)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


@click.command(
    cls=RootGroup,
    commands=LazyCommands(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="headrace")
def main() -> None:
    """An event-sourced governance log for fleets of AI agents.

    Settings come from the environment (HEADRACE_…).  Exit codes: 0 done, 1 a negative answer,
    2 usage, 3 infrastructure, 130 interrupted.

    \b
    Example:
      headrace up
    """
