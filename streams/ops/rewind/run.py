"""A rewind of a session and of its work tree: both move, or neither does.

| step | |
|---|---|
| 1 | an earlier, interrupted rewind is settled (`streams.ops.rewind.settle`) |
| 2 | the work tree is clean, and no git operation is in progress |
| 3 | the journal is written; the service prepares the rewind, and names the commit |
| 4 | the commit is in the repository |
| 5 | the work tree is still clean |
| 6 | the commit is checked out, detached, without force and without hooks |
| 7 | the service confirms the rewind: only now the session moves |
| 8 | the journal is deleted |

The log is the commit point.  Until the confirm every failure leaves the log unchanged, and the work
tree is restored.  Only a lost response to the confirm leaves something to settle, which the journal
records.

Source: SAOP guide, 6.4.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, NoReturn

from streams.ops.rewind.errors import (
    Interrupted,
    RewindError,
    ServiceFailed,
    TargetUnknown,
    Undone,
    Unresolved,
)
from streams.ops.rewind.examine import go_back
from streams.ops.rewind.git import Git
from streams.ops.rewind.interrupts import Interrupts
from streams.ops.rewind.journal import Journal, JournalEntry, Step
from streams.ops.rewind.service import (
    Json,
    OutcomeUnknown,
    Refused,
    RewindService,
    Target,
    Unreachable,
)

CONFIRM_S = 30.0
"""How long the confirm is retried."""
PAUSE_S = 0.5
UNKNOWN = frozenset(
    {"session_unknown", "task_unknown", "task_without_hash", "hash_unknown", "hash_ambiguous"}
)
_APPLIED = "applied"
_FINAL_RULES = frozenset({"rewind_unknown", "rewind_aborted", "rewind_lapsed"})
"""Rule codes for a rewind that was not applied and never will be."""


class Request(NamedTuple):
    session_id: str
    target: Target
    reason: str | None = None


@dataclass(frozen=True)
class Rewinder:
    """A rewind in one work tree through one gateway.  say: prints a line for people."""

    git: Git
    journal: Journal
    service: RewindService
    gateway: str
    interrupts: Interrupts
    say: Callable[[str], None]

    def run(self, request: Request) -> Json:
        """Perform steps 2 to 8; return the applied SaopRewindLogged.  Raises RewindError."""
        self.git.check_clean()
        head = self.git.head()
        entry = JournalEntry(
            str(uuid.uuid4()),
            request.session_id,
            request.target.task_id,
            request.target.git_hash,
            head.commit,
            head.branch,
            self.gateway,
        )
        self.journal.write(entry)
        entry = self._prepare(entry, request.reason)
        return self.confirm(self._check_out(entry))

    def _prepare(self, entry: JournalEntry, reason: str | None) -> JournalEntry:
        try:
            with self.interrupts.open():
                fact = self.service.prepare(entry.session_id, entry.rewind_id, entry.target, reason)
        except Refused as exc:
            self.journal.delete()
            kind = TargetUnknown if exc.rule in UNKNOWN else ServiceFailed
            raise kind(_refusal(exc)) from exc
        except Unreachable as exc:
            self.journal.delete()
            raise ServiceFailed(str(exc), advice=NOTHING) from exc
        except OutcomeUnknown as exc:
            self.abandon(entry)
            raise ServiceFailed(str(exc), advice=NOTHING) from exc
        except KeyboardInterrupt as exc:
            self.abandon(entry)
            raise Interrupted("interrupted", advice=NOTHING) from exc
        if fact.get("state") != "prepared":
            self.abandon(entry)
            raise ServiceFailed(f"{self.gateway} does not answer as headrace does", advice=NOTHING)
        entry = replace(entry, recorded_hash=fact.get("git_hash"))
        self.journal.write(entry)
        return entry

    def _check_out(self, entry: JournalEntry) -> JournalEntry:
        """Perform steps 4 to 6."""
        try:
            commit = self.git.commit_of(entry.recorded_hash or "")
            self.git.check_clean()
            self.interrupts.check()
            entry = replace(entry, commit=commit, step=Step.CHECKING_OUT)
            self.journal.write(entry)
            self.git.checkout(commit)
            self.interrupts.check()
        except (RewindError, KeyboardInterrupt) as exc:
            self.undo(entry)
            if isinstance(exc, KeyboardInterrupt):
                raise Interrupted("interrupted", advice=NOTHING) from exc
            raise
        return entry

    def confirm(self, entry: JournalEntry, *, sent: bool = False) -> Json:
        """Perform steps 7 and 8.  sent: an earlier confirm may have reached the service.

        Raises Undone if the service refuses, and Unresolved if no response decides.
        """
        entry = replace(entry, step=Step.CONFIRMING)
        self.journal.write(entry)
        why = ""
        deadline = time.monotonic() + CONFIRM_S
        while True:
            try:
                with self.interrupts.open():
                    fact = self.service.confirm(entry.session_id, entry.rewind_id)
                return self.applied(entry, fact)
            except Refused as exc:
                if exc.rule == "rewind_already_applied" or exc.state == _APPLIED:
                    return self.applied(entry, None)
                if exc.rule in _FINAL_RULES or not sent:
                    self.undo(entry)
                    raise Undone(_refusal(exc), advice=NOTHING) from exc
                why = str(exc)
            except Unreachable as exc:
                why = str(exc)
            except OutcomeUnknown as exc:
                sent, why = True, str(exc)
            except KeyboardInterrupt as exc:
                raise Interrupted(UNRESOLVED, advice=Unresolved.default_advice) from exc
            if time.monotonic() >= deadline:
                self._give_up(entry, sent, why)
            self._pause(entry, sent)

    def _pause(self, entry: JournalEntry, sent: bool) -> None:
        try:
            self.interrupts.pause(PAUSE_S)
        except KeyboardInterrupt as exc:
            if sent:
                raise Interrupted(UNRESOLVED, advice=Unresolved.default_advice) from exc
            self.undo(entry)
            raise Interrupted("interrupted", advice=NOTHING) from exc

    def _give_up(self, entry: JournalEntry, sent: bool, why: str) -> NoReturn:
        if sent:
            raise Unresolved(f"{why}; {UNRESOLVED}")
        self.undo(entry)
        raise ServiceFailed(why, advice=NOTHING)

    def applied(self, entry: JournalEntry, fact: Json | None) -> Json:
        """Delete the journal after the session has moved; return the fact, fetched if necessary."""
        self.journal.delete()
        if fact is not None and fact.get("verdict") == "accepted":
            return fact
        try:
            logged = self.service.find(entry.session_id, entry.rewind_id)
        except (Refused, Unreachable, OutcomeUnknown):
            logged = None
        return logged or fact or {"moved": [], "unchanged": [], "git_hash": entry.recorded_hash}

    def undo(self, entry: JournalEntry) -> None:
        """Restore the work tree, abort the rewind at the service, and delete the journal.

        Raises GitFailed, and keeps the journal, if git cannot go back.
        """
        try:
            if entry.commit is not None:
                go_back(self.git, entry.original, entry.commit)
        except RewindError:
            self.abort(entry)
            raise
        self.abandon(entry)

    def abandon(self, entry: JournalEntry) -> None:
        self.abort(entry)
        self.journal.delete()

    def abort(self, entry: JournalEntry) -> bool:
        """Abort at the service, best effort; return whether it responded.  A rewind expires
        anyway.
        """
        try:
            self.service.abort(entry.session_id, entry.rewind_id)
        except Refused as exc:
            if exc.rule == "rewind_already_applied":
                self.say(f"Rewind {entry.rewind_id} was confirmed before: the session has moved.")
            return exc.rule is not None
        except (Unreachable, OutcomeUnknown):
            return False
        return True


NOTHING = "Neither the session nor the work tree has moved."
UNRESOLVED = (
    "unresolved: whether the session moved is not known, and the work tree stays at the target"
)


def _refusal(exc: Refused) -> str:
    return f"{exc.rule}: {exc}" if exc.rule else f"the service refused: {exc}"
