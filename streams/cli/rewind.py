"""`headrace saop rewind`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streams.cli import common, text
from streams.cli.cells import Cell
from streams.errors import SettingsError
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.ops.rewind import Request, RewindEnvironment
    from streams.ops.rewind.git import Git

USAGE = 1
"""The exit code of wrong usage; 2 means an unknown target here."""


class RewindCommand(click.Command):
    """A command that exits with 1 after wrong usage."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        context: click.Context = _usage(
            lambda: super(RewindCommand, self).make_context(*args, **kwargs)
        )
        return context

    def invoke(self, ctx: click.Context) -> Any:
        return _usage(lambda: super(RewindCommand, self).invoke(ctx))


def _usage(do: Callable[[], Any]) -> Any:
    from streams.ops.rewind.errors import RewindUsage

    try:
        return do()
    except click.UsageError as exc:
        exc.exit_code = USAGE
        raise
    except SettingsError as exc:
        raise RewindUsage(str(exc)) from exc


@click.command("rewind", cls=RewindCommand)
@click.option("--session", "session_id", metavar="ID", help="The session to reset.")
@click.option("--task", "task_id", metavar="ID", help="To the latest commit of this task.")
@click.option("--git-hash", metavar="HASH", help="To this commit, 4 to 64 hex digits.")
@click.option(
    "--repo",
    type=click.Path(path_type=Path),
    metavar="PATH",
    required=True,
    help="The work tree to reset with it.",
)
@click.option("--dry-run", is_flag=True, help="Print the changes, and change nothing.")
@click.option("--resume", is_flag=True, help="Only finish an earlier, interrupted rewind.")
@click.option("--reason", metavar="TEXT", help="Reason, stored on the log.")
@text.options
def command(
    session_id: str | None,
    task_id: str | None,
    git_hash: str | None,
    repo: Path,
    dry_run: bool,
    resume: bool,
    reason: str | None,
) -> None:
    """Reset a session and its git work tree to a commit, both or neither.

    The task that made the commit becomes active again, and every task that changed later must
    start again.  HEAD is detached; no branch moves.  Nothing is deleted on the log or in the
    repository.  HEADRACE_GATEWAY names the gateway.

    Exit codes: 0 done, 1 usage, 2 task or commit unknown to the service, 3 work tree not clean,
    4 commit not in the repository, 5 git failed, 6 service not reached or it refused,
    130 interrupted.

    \b
    Examples:
      headrace saop rewind --session s-9 --task task-a --repo .
      headrace saop rewind --session s-9 --git-hash 5c0ffee --repo ~/work --dry-run
    """
    from streams.ops import rewind
    from streams.ops.rewind.http import HttpService

    request = None if resume else _request(session_id, task_id, git_hash, reason)
    settings = Settings.load()
    service = partial(HttpService, token=settings.token)
    environment = rewind.RewindEnvironment.of(repo, settings.gateway, service, _print_status)
    if request is None:
        rewind.resume(environment)
    elif dry_run:
        text.show(rewind.plan(environment, request), _render_plan)
    else:
        _rewind(environment, request)


def _request(
    session_id: str | None, task_id: str | None, git_hash: str | None, reason: str | None
) -> Request:
    from streams.ops.rewind import Request, Target
    from streams.ops.rewind.git import HASH

    if session_id is None:
        raise click.UsageError("Missing option '--session'.")
    if (task_id is None) == (git_hash is None):
        raise click.UsageError("Give one of --task and --git-hash.")
    if git_hash is not None and not HASH.fullmatch(git_hash):
        raise click.UsageError("--git-hash takes 4 to 64 hex digits.")
    return Request(session_id, Target(task_id, git_hash), reason)


def _rewind(environment: RewindEnvironment, request: Request) -> None:
    from streams.ops.rewind import rewind

    fact = rewind(environment, request)
    text.show(fact, partial(_render_done, environment.git), partial(_pipe_done, environment.git))


def _render_plan(plan: Any, page: text.Page) -> None:
    page.line(Cell("a dry run; nothing was changed", "bold"), *_target(plan, page))
    _render_tasks(plan, page)


def _render_done(git: Git, fact: Any, page: text.Page) -> None:
    page.line(page.check(True), Cell("reset", "bold"), *_target(fact, page))
    _render_tasks(fact, page)
    page.line(_head(git))


def _target(answer: Any, page: text.Page) -> list[Cell]:
    commit = answer["git_hash"]
    return [
        page.joined("to task", page.plain(answer["target_task_id"])),
        *([page.joined("commit", page.id(commit))] if commit else []),
    ]


def _render_tasks(answer: Any, page: text.Page) -> None:
    rows = [
        (
            page.plain(each["task_id"]),
            page.plain(each["from_state"]),
            Cell(page.arrow),
            page.plain(each["to_state"], "bold"),
        )
        for each in answer["moved"]
    ]
    rows += [
        (page.plain(task_id), page.plain("unchanged", "dim"), Cell(""), Cell(""))
        for task_id in answer["unchanged"]
    ]
    page.table(("task", "state", "", "after"), rows)


def _head(git: Git) -> str:
    head = git.head()
    return f"HEAD is at {head.commit}" + ("" if head.branch else ", detached")


def _pipe_done(git: Git, fact: Any) -> None:
    for transition in fact["moved"]:
        common.echo(
            f"{transition['task_id']}  {transition['from_state']} → {transition['to_state']}"
        )
    for task_id in fact["unchanged"]:
        common.echo(f"{task_id}  unchanged")
    common.echo(_head(git))


def _print_status(line: str) -> None:
    common.echo(line, err=True)
