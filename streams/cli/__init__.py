"""The command line.  Commands are imported when they are used, so that `--help` is quick."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module

import click

from streams.cli.commands import ALIASES, COMMANDS, OLD, SECTIONS, CommandEntry, CommandGroup
from streams.errors import (
    ExtraMissing,
    HeadraceError,
    InfrastructureError,
    TokensMissing,
    ViewsInvalid,
)

INTERRUPTED = 130
OTHER_NAMES: Mapping[str, str] = {**ALIASES, **OLD}


class LazyCommands(MutableMapping[str, click.Command]):
    """The commands by name; each is imported when it is used."""

    def __init__(self, entries: Mapping[str, CommandEntry | CommandGroup]) -> None:
        self._entries = entries

    def __getitem__(self, name: str) -> click.Command:
        entry = self._entries[name]
        if isinstance(entry, CommandGroup):
            return LazyGroup(name, entry)
        module = import_module(f"streams.cli.{entry.module}")
        command: click.Command = getattr(module, entry.attribute)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __setitem__(self, name: str, command: click.Command) -> None:
        raise TypeError("commands are declared in streams.cli.commands")

    def __delitem__(self, name: str) -> None:
        raise TypeError("commands are declared in streams.cli.commands")


class RenamingGroup(click.Group):
    """A group in which commands have other names too.

    old: the names that are not listed, by which a command answers with a hint on a terminal.
    other: all other names, and the path of the command that each stands for.
    """

    old: Mapping[str, str] = {}
    other: Mapping[str, str] = {}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.other:
            return super().get_command(ctx, cmd_name)
        command: click.Command | None = self
        for name in self.other[cmd_name].split():
            command = command.get_command(ctx, name) if isinstance(command, click.Group) else None
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in self.old and not ctx.resilient_parsing and _at_terminal():
            from streams.cli.common import echo

            group = "" if ctx.parent is None else f"{ctx.info_name} "
            echo(f"{name} is now: headrace {group}{self.old[name]}", err=True)
        return super().resolve_command(ctx, args)


def _at_terminal() -> bool:
    return sys.stdout.isatty() and sys.stderr.isatty()


class LazyGroup(RenamingGroup):
    """The commands of a protocol."""

    def __init__(self, name: str, group: CommandGroup) -> None:
        example = f"\b\nExample:\n  headrace {group.example}"
        super().__init__(name, LazyCommands(group.commands), help=f"{group.help}\n\n{example}")
        self.old = self.other = group.old
        self._entries = group.commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._entries)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self._entries.items()])


class RootGroup(RenamingGroup):
    """The root group; it turns errors into one line and an exit code."""

    old = OLD
    other = OTHER_NAMES

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *ALIASES]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, entries in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.help) for name, entry in entries.items()])
        with formatter.section("Aliases"):
            formatter.write_dl([(name, f"The same as {path}.") for name, path in ALIASES.items()])

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except HeadraceError as exc:
            has_code = isinstance(
                exc, InfrastructureError | TokensMissing | ViewsInvalid | ExtraMissing
            )
            code = f"{exc.code}: " if has_code else ""
            from streams.cli.common import echo

            echo(f"headrace: {code}{exc}", err=True)
            ctx.exit(exc.exit_code)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


@click.command(
    cls=RootGroup,
    commands=LazyCommands(COMMANDS),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="headrace")
def main() -> None:
    """An event-sourced governance log for fleets of AI agents.

    Settings come from the environment (HEADRACE_…).  Exit codes: 0 done, 1 a negative answer,
    2 usage, 3 infrastructure, 130 interrupted.  Commands of `headrace summit` end with 3 for what
    is pending and with 4 for infrastructure; `headrace saop rewind` has its own.

    \b
    Example:
      headrace up
    """
