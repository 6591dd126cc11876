"""Turning a session and its git work tree back to a commit, as one."""

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
from streams.ops.rewind.settle import answers, settle

__all__ = [
    "Place",
    "Request",
    "RewindError",
    "Target",
    "plan",
    "resume",
    "rewind",
]


class Place(NamedTuple):
    """Where a rewind happens.

    git: the work tree.  gateway: of the service.  connect: to a gateway, for as long as its
    context lasts.  say: takes a line for people.
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
    ) -> Place:
        """Raises RewindUsage when the path is in no git work tree."""
        return cls(Git.at(path), gateway, connect, say)


def rewind(place: Place, request: Request) -> Json:
    """The SaopRewindLogged by which the session moved; the work tree is at its commit.

    An earlier rewind that was left half-way is settled first; when it is this one, and has been
    applied, that is the answer.  Raises RewindError.
    """
    with Interrupts() as interrupts, _locked(place.git):
        settled = _settle(place, interrupts, request)
        if settled is not None:
            return settled
        with place.connect(place.gateway) as service:
            journal = Journal(place.git.directory)
            rewinder = Rewinder(place.git, journal, service, place.gateway, interrupts, place.say)
            return rewinder.run(request)


def resume(place: Place) -> None:
    """Only settle what an earlier rewind has left.  Raises RewindError."""
    with Interrupts() as interrupts, _locked(place.git):
        if Journal(place.git.directory).read() is None:
            place.say("There is nothing to settle.")
        _settle(place, interrupts, None)


def plan(place: Place, request: Request) -> Json:
    """What a rewind would move; nothing changes.  Raises TargetUnknown, ServiceFailed."""
    try:
        with place.connect(place.gateway) as service:
            return service.plan(request.session_id, request.target)
    except Refused as exc:
        kind = TargetUnknown if exc.rule in UNKNOWN else ServiceFailed
        raise kind(str(exc)) from exc
    except (Unreachable, OutcomeUnknown) as exc:
        raise ServiceFailed(str(exc)) from exc


def _settle(place: Place, interrupts: Interrupts, request: Request | None) -> Json | None:
    journal = Journal(place.git.directory)
    entry = journal.read()
    if entry is None:
        return None
    with place.connect(entry.gateway) as service:
        rewinder = Rewinder(place.git, journal, service, entry.gateway, interrupts, place.say)
        found = settle(entry, rewinder)
    if found is not None:
        place.say("It is applied.")
    return found if request is not None and answers(entry, request) else None


class _locked:
    """The work tree, for one rewind at a time.  Raises GitFailed."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def __enter__(self) -> None:
        self._git.lock()

    def __exit__(self, *ended: object) -> None:
        self._git.unlock()
