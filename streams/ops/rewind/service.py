"""What a rewind needs of the service, and how that can fail."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

Json = dict[str, Any]
"""A SaopRewindLogged, or a plan: the members that both have are what is used here."""


class Target(NamedTuple):
    """Where to: a task's commit, or a commit.  Exactly one is given."""

    task_id: str | None = None
    git_hash: str | None = None

    def as_json(self) -> dict[str, str]:
        return {name: value for name, value in self._asdict().items() if value is not None}


class Refused(Exception):
    """An answer that says no.

    rule: the service's code for why, None when the answer was not the service's.  state: of the
    rewind, as the log has it, where the answer names it.
    """

    def __init__(self, detail: str, rule: str | None = None, state: str | None = None) -> None:
        super().__init__(detail)
        self.rule = rule
        self.state = state


class Unreachable(Exception):
    """The request did not reach the service; nothing has happened there."""


class OutcomeUnknown(Exception):
    """The request may have reached the service, and no answer came, or none that decides."""


class RewindService(Protocol):
    """One gateway.  Every call raises Refused, Unreachable or OutcomeUnknown."""

    def plan(self, session_id: str, target: Target) -> Json: ...

    def prepare(
        self, session_id: str, rewind_id: str, target: Target, reason: str | None
    ) -> Json: ...

    def confirm(self, session_id: str, rewind_id: str) -> Json: ...

    def abort(self, session_id: str, rewind_id: str) -> Json: ...

    def find(self, session_id: str, rewind_id: str) -> Json | None:
        """The rewind as it stands, None when the service has not seen it."""
