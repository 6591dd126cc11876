"""The pages on rules, settings and the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import click

from schemas.rules import Rule
from streams import cli
from streams.cli.commands import ALIASES
from streams.docs.http import http_rules
from streams.docs.markdown import code, codes, fenced, grid
from streams.protocols.commands import COMMANDS
from streams.settings import BY_FIELD, SECRET_FILES
from streams.settings.secret_files import MAX_SECRET_BYTES
from streams.settings.values import Declaration

HELP_WIDTH = 96
Column = Mapping[str, int]


def _rules(title: str, rules: tuple[Rule, ...], numbers: Mapping[str, Column] = {}) -> str:
    """Return a section with a table of rules.

    numbers: further columns by their headings; each maps some of the codes to a number.
    """
    rows = (
        (
            code(rule.code),
            rule.stage,
            rule.where,
            *(str(column.get(rule.code, "")) for column in numbers.values()),
            rule.meaning,
        )
        for rule in rules
    )
    header = ("code", "stage", "where", *numbers, "meaning")
    return f"\n## {title}\n\n{grid(header, rows)}"


def rules_page() -> str:
    return (
        "# Rules\n\n"
        "Every verdict names the rule that decided it by one of these codes. `E`: checked by the\n"
        "gateway, before anything is produced; `P`: checked by the processor.\n"
        + "".join(
            _rules(protocol, rules, side.rule_numbers)
            for side in COMMANDS
            for protocol, rules in side.rules.items()
        )
        + http_rules()
    )


def _allowed(declared: Declaration) -> str:
    if declared.choices:
        return codes(declared.choices)
    return f"{declared.low} to {declared.high}" if declared.kind == "whole number" else ""


def _default(value: object) -> str:
    if value is None or value == "":
        return "unset"
    return code(str(value).lower() if isinstance(value, bool) else value)


def settings_table(declared: Iterable[Declaration]) -> str:
    rows = ((code(d.env), d.meaning, d.kind, _default(d.default), _allowed(d)) for d in declared)
    return grid(("variable", "meaning", "type", "default", "allowed"), rows)


def settings_page() -> str:
    files = ((code(name), code(variable)) for name, variable in SECRET_FILES.items())
    return (
        "# Settings\n\n"
        "Environment variables, read once when a command starts. An empty one counts as unset; an\n"
        "unknown variable that begins with `HEADRACE_` is an error.\n\n"
        f"{settings_table(BY_FIELD.values())}\n"
        "## Secrets in files\n\n"
        "A secret can be in a file, which another variable names. The value is the content of the\n"
        "file, in UTF-8, without one newline at its end. It is an error to set both variables,\n"
        "and to name a file that is unreadable, empty, or larger than"
        f" {MAX_SECRET_BYTES:,} bytes.\n\n"
        f"{grid(('variable', 'names a file with the value of'), files)}"
    )


def _command(command: click.Command, path: str, parent: click.Context | None) -> str:
    """Return the help of a command as it is printed, then the help of its subcommands."""
    context = click.Context(
        command,
        parent=parent,
        info_name=path.rpartition(" ")[2],
        terminal_width=HELP_WIDTH,
        **command.context_settings,
    )
    text = f"\n## {path}\n\n{fenced('text', command.get_help(context))}"
    if not isinstance(command, click.Group):
        return text
    names = [name for name in command.list_commands(context) if name not in ALIASES]
    below = ((name, command.get_command(context, name)) for name in names)
    return text + "".join(_command(sub, f"{path} {name}", context) for name, sub in below if sub)


def cli_page() -> str:
    return "# Command line\n" + _command(cli.main, "headrace", None)
