"""`headrace tokens`."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streams.cli import common
from streams.errors import NotFound, UsageError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.access.tokens import TokenRecord

ROLES = ("reader", "producer", "operator")
_file_option = click.option(
    "--file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Overrides HEADRACE_TOKENS.",
)


@click.group("tokens")
def command() -> None:
    """Create, list and revoke the bearer tokens of a gateway.

    The file of HEADRACE_TOKENS contains hashes only.  A running gateway reads changes at once.

    \b
    Example:
      headrace tokens new planner-1 --role producer --role reader --add
    """


@command.command("new")
@click.argument("principal")
@click.option(
    "--role",
    "roles",
    multiple=True,
    required=True,
    type=click.Choice(ROLES),
    help="Role of the token; repeatable.",
)
@click.option("--expires", metavar="TIME", help="Expiry, in ISO 8601; default: never.")
@click.option("--add", is_flag=True, help="Add the line to the file, and print only the token.")
@click.option(
    "--if-missing", is_flag=True, help="Do nothing if the file has a token of the principal."
)
@_file_option
def new(
    principal: str,
    roles: tuple[str, ...],
    expires: str | None,
    add: bool,
    if_missing: bool,
    file: Path | None,
) -> None:
    """Print a new token for a principal, and its line for the file of HEADRACE_TOKENS.

    The token is shown only once.  PRINCIPAL is the name in facts, and the sender that the token may
    use: an agent_id of APC, an agent's URN of ASAP, agentId of SAP and Summit, `saop:<agent_id>`
    or `saop:*` for SAOP.

    \b
    Examples:
      headrace tokens new planner-1 --role producer --role reader
      headrace tokens new operator --role operator --add --file tokens.jsonl
    """
    from streams.access.callers import Role
    from streams.access.tokens import new_token

    if if_missing and _has_token(principal, _token_file(file)):
        return
    token, entry = new_token(principal, frozenset(map(Role, roles)), _parse_time(expires))
    if add:
        _append(entry, _token_file(file))  # first: never show a token that is in no file
    common.echo(token)
    if not add:
        common.echo(entry.line())


@command.command("list")
@_file_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(file: Path | None, as_json: bool) -> None:
    """List the tokens of the file: ids, principals and roles.

    \b
    Example:
      headrace tokens list
    """
    from streams.access.tokens import load

    now = datetime.now(UTC)
    tokens: list[dict[str, Any]] = [
        {
            "id": entry.id,
            "principal": entry.principal,
            "roles": sorted(entry.roles),
            "expires": None if entry.expires is None else entry.expires.isoformat(),
            "expired": entry.expired(now),
        }
        for entry in load(_token_file(file)).values()
    ]
    if as_json:
        common.show_json(tokens)
        return
    rows = [
        (
            each["id"],
            each["principal"],
            ",".join(each["roles"]),
            f"{each['expires'] or 'never'}{' (expired)' if each['expired'] else ''}",
        )
        for each in tokens
    ]
    common.show_table(("ID", "PRINCIPAL", "ROLES", "EXPIRES"), rows)


@command.command("revoke")
@click.argument("id")
@_file_option
def revoke(id: str, file: Path | None) -> None:
    """Remove the token with this id from the file.

    Gateways then refuse it, and end its streams.

    \b
    Example:
      headrace tokens revoke k7f3q2ab
    """
    from streams.access.tokens import load

    with _lock_file(_token_file(file)) as path:
        if id not in load(path):
            raise NotFound(f"{path} has no token {id}", advice="See `headrace tokens list`.")
        remaining = [
            line for line in path.read_text("utf-8-sig").splitlines() if not _has_id(line, id)
        ]
        _replace(path, "".join(f"{line}\n" for line in remaining))


@contextmanager
def _lock_file(file: Path) -> Iterator[Path]:
    """Lock the directory of a file and yield the file's real path, links resolved.

    Without the lock, two revocations at once would bring a token back.  Raises UsageError.
    """
    path = file.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield path
        finally:
            os.close(folder)
    except OSError as exc:
        raise UsageError(
            f"{path} cannot be changed: {exc.strerror}",
            advice="Run it as the user whose file it is.",
        ) from exc


def _replace(path: Path, text: str) -> None:
    """Replace the file atomically, so that no gateway reads half of it; keep owner and mode."""
    old, new = path.stat(), path.with_name(f".{path.name}.new")
    try:
        new.write_text(text, "utf-8")
        os.chown(new, old.st_uid, old.st_gid)
        new.chmod(old.st_mode & 0o777)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _has_id(line: str, id: str) -> bool:
    from streams.access.tokens import parse_line

    text = line.strip()
    return bool(text) and not text.startswith("#") and parse_line(text).id == id


def _token_file(file: Path | None) -> Path:
    path = file or Settings.load().tokens
    if path is None:
        raise UsageError("no file is named", advice="Give --file, or set HEADRACE_TOKENS.")
    return path


def _parse_time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError as exc:
        raise click.BadParameter("not a time in ISO 8601", param_hint="--expires") from exc
    return time.replace(tzinfo=time.tzinfo or UTC)


def _has_token(principal: str, path: Path) -> bool:
    from streams.access.tokens import load

    now = datetime.now(UTC)
    entries = load(path).values() if path.exists() else ()
    return any(e.principal == principal and not e.expired(now) for e in entries)


def _append(entry: TokenRecord, path: Path) -> None:
    """Append a line, also to a file that does not end with a newline."""
    with _lock_file(path) as target:
        text = target.read_text("utf-8") if target.exists() else ""
        gap = "" if not text or text.endswith("\n") else "\n"
        with target.open("a", encoding="utf-8") as file:
            file.write(f"{gap}{entry.line()}\n")
