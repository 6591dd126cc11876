"""Rewind of a session and its git work tree to a commit, as one operation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from streams.ops.rewind.errors import RewindError, ServiceFailed, TargetUnknown
from streams.ops.rewind.git import Git
from streams.ops.rewind.interrupts import Interrupts
from streams.ops.rewind.journal import Journal
from streams.ops.rewind.run import UNKNOWN, Request, Rewinder
from streams.ops.rewind.service import (
    Json,
    OutcomeUnknown,
    Refused,
    RewindService,
    Target,
    Unreachable,
)
from streams.ops.rewind.settle import is_same_rewind, settle

__all__ = [
    "Request",
    "RewindEnvironment",
    "RewindError",
    "Target",
    "plan",
    "resume",
    "rewind",
]


class RewindEnvironment(NamedTuple):
    """The work tree and the gateway of a rewind.

    git: the work tree.  gateway: the address of the service.  connect: opens a client of a gateway.
    say: prints a line for people.
    """

    git: Git
    gateway: str
    connect: Callable[[str], AbstractContextManager[RewindService]]
    say: Callable[[str], None]

    @classmethod
    def of(
        cls,
        path: Path,
        gateway: str,
        connect: Callable[[str], AbstractContextManager[RewindService]],
        say: Callable[[str], None],
    ) -> RewindEnvironment:
        """Return the context for a path.  Raises RewindUsage if it is in no git work tree."""
        return cls(Git.at(path), gateway, connect, say)


def rewind(ctx: RewindEnvironment, request: Request) -> Json:
    """Rewind the session and its work tree; return the SaopRewindLogged.

    An earlier rewind that was interrupted is settled first; if it is the same one and has been
    applied, its fact is returned.  Raises RewindError.
    """
    with Interrupts() as interrupts, _WorkTreeLock(ctx.git):
        fact = _settle(ctx, interrupts, request)
        if fact is not None:
            return fact
        with ctx.connect(ctx.gateway) as service:
            journal = Journal(ctx.git.directory)
            rewinder = Rewinder(ctx.git, journal, service, ctx.gateway, interrupts, ctx.say)
            return rewinder.run(request)


def resume(ctx: RewindEnvironment) -> None:
    """Settle an interrupted rewind, and do nothing else.  Raises RewindError."""
    with Interrupts() as interrupts, _WorkTreeLock(ctx.git):
        if Journal(ctx.git.directory).read() is None:
            ctx.say("There is nothing to settle.")
        _settle(ctx, interrupts, None)


def plan(ctx: RewindEnvironment, request: Request) -> Json:
    """Return what a rewind would move; nothing changes.  Raises TargetUnknown, ServiceFailed."""
    try:
        with ctx.connect(ctx.gateway) as service:
            return service.plan(request.session_id, request.target)
    except Refused as exc:
        kind = TargetUnknown if exc.rule in UNKNOWN else ServiceFailed
        raise kind(str(exc)) from exc
    except (Unreachable, OutcomeUnknown) as exc:
        raise ServiceFailed(str(exc)) from exc


def _settle(ctx: RewindEnvironment, interrupts: Interrupts, request: Request | None) -> Json | None:
    journal = Journal(ctx.git.directory)
    entry = journal.read()
    if entry is None:
        return None
    with ctx.connect(entry.gateway) as service:
        rewinder = Rewinder(ctx.git, journal, service, entry.gateway, interrupts, ctx.say)
        fact = settle(entry, rewinder)
    if fact is not None:
        ctx.say("It is applied.")
    return fact if request is not None and is_same_rewind(entry, request) else None


class _WorkTreeLock:
    """A lock that allows one rewind at a time in a work tree.  Raises GitFailed."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def __enter__(self) -> None:
        self._git.lock()

    def __exit__(self, *exc_info: object) -> None:
        self._git.unlock()
