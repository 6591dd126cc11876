"""`headrace policy`."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streams.cli import common, text
from streams.errors import UsageError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.policy import Policy

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group("policy")
def command() -> None:
    """Check, compare and show policies: files of the settings that decide.

    \b
    Example:
      headrace policy check policy.toml
      headrace policy diff default policy.toml
      HEADRACE_POLICY=policy.toml headrace worker
    """


@command.command("check")
@click.argument("file", type=_FILE)
@text.options
@click.pass_context
def check(ctx: click.Context, file: Path) -> None:
    """Check a policy file, offline, and print its policy id.

    Lists the members that differ from their default.  Exits with 1 and all errors, by path, if
    the file is no policy.

    \b
    Example:
      headrace policy check policy.toml
    """
    answer = check_file(file)
    text.show(answer, _render_check)
    if not answer["valid"]:
        ctx.exit(1)


def check_file(file: Path) -> dict[str, Any]:
    """Return whether a file is a policy: its id, digest and form, or its errors."""
    from streams.errors import InvalidInput
    from streams.policy import read
    from streams.policy.read import file_problems

    try:
        read_file = read(file)
        problems: Sequence[Any] = file_problems(read_file)
    except InvalidInput as exc:
        problems = exc.problems
    if problems:
        errors = [problem._asdict() for problem in problems]
        return {"valid": False, "policy": None, "digest": None, "canonical": None, "errors": errors}
    return {"valid": True, **_as_json(read_file.policy), "errors": []}


def _as_json(policy: Policy) -> dict[str, Any]:
    return {"policy": policy.id, "digest": policy.digest, "canonical": policy.canonical}


def _render_check(answer: dict[str, Any], page: text.Page) -> None:
    if answer["valid"]:
        page.line(page.joined(page.check(True), f"policy {answer['policy']}", style="green"))
        page.line(page.plain(answer["canonical"]))
        return
    rows = [
        (page.plain(each["rule"], "red"), page.plain(each["path"]), page.message(each["message"]))
        for each in answer["errors"]
    ]
    page.table(("rule", "path", "message"), rows)


@command.command("diff")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@text.options
@click.pass_context
def diff(ctx: click.Context, before: str, after: str) -> None:
    """Show the members that two policies have with different values, and the rules they bear on.

    A and B are files, `default`, `compatible`: what release 0.1.0 decided by, `strict`: every
    check turned on, or `bootstrap`: what this environment says.  Exits with 1 if they differ.

    \b
    Example:
      headrace policy diff default policy.toml
    """
    from streams.policy import diff as compare

    rows = [
        {"path": path, "from": _plain(old), "to": _plain(new), "rules": list(rules)}
        for path, old, new, rules in compare(_policy_of(before), _policy_of(after))
    ]
    text.show({"items": rows}, _render_diff)
    if rows:
        ctx.exit(1)


def _policy_of(name: str) -> Policy:
    """Return the policy of a word or a file.  Raises InvalidInput for a file with errors."""
    from streams.policy import COMPATIBLE, STRICT, default_policy, policy_of, read

    match name:
        case "default":
            return default_policy()
        case "compatible":
            return read(COMPATIBLE).policy
        case "strict":
            return read(STRICT).policy
        case "bootstrap":
            return policy_of(Settings.load())
    return read(Path(name)).policy


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; a decimal of no fraction is a whole number."""
    match value:
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case list():
            return [_plain(item) for item in value]
        case dict():
            return {name: _plain(inner) for name, inner in value.items()}
    return value


def _render_diff(body: dict[str, Any], page: text.Page) -> None:
    rows = [
        (
            page.plain(row["path"]),
            page.plain(row["from"]),
            page.plain(row["to"]),
            page.plain(", ".join(row["rules"])),
        )
        for row in body["items"]
    ]
    page.table(("path", "from", "to", "rules"), rows)


@command.command("show")
@click.option("--all", "shows_all", is_flag=True, help="Also show members that have their default.")
@click.option("--toml", "as_toml", is_flag=True, help="Print a policy file instead.")
@text.options
def show(shows_all: bool, as_toml: bool) -> None:
    """Show the policy of this environment: its id, and the members that differ.

    It is made of the defaults, then the file HEADRACE_POLICY, then the variables that are set.

    \b
    Examples:
      headrace policy show --all
      headrace policy show --toml > policy.toml
    """
    from streams.policy import policy_of
    from streams.policy.bundle import default_of
    from streams.policy.members import MEMBERS, Form

    if as_toml and text.form() is text.Form.JSON:
        raise UsageError("--toml and --json exclude each other")
    settings = Settings.load()
    policy = policy_of(settings)
    if as_toml:
        from streams.policy.toml_text import policy_toml

        for line in policy_toml(settings, policy, shows_all).splitlines():
            common.echo(line)
        return
    values = dict(policy.values)
    if shows_all:
        plain = (member for member in MEMBERS.values() if member.form is not Form.FILE)
        values = {member.path: default_of(member) for member in plain} | values
    members = {path: _plain(values[path]) for path in sorted(values)}
    text.show({**_as_json(policy), "values": members}, _render_show)


def _render_show(body: dict[str, Any], page: text.Page) -> None:
    page.line(f"policy {body['policy']}")
    rows = [(page.plain(path), page.plain(value)) for path, value in body["values"].items()]
    if rows:
        page.table(("member", "value"), rows)


@command.command("schema")
def schema() -> None:
    """Print the JSON Schema of policy files, for editors.

    \b
    Example:
      headrace policy schema > policy.schema.json
    """
    from streams.policy.schema import policy_schema

    common.show_json(policy_schema())
