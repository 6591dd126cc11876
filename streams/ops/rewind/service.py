"""The interface of the service that a rewind needs, and its errors."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

Json = dict[str, Any]
"""A SaopRewindLogged, or a plan; only members that both have are used here."""


class Target(NamedTuple):
    """The target of a rewind: a task's commit, or a commit.  Exactly one is set."""

    task_id: str | None = None
    git_hash: str | None = None

    def as_json(self) -> dict[str, str]:
        return {name: value for name, value in self._asdict().items() if value is not None}


class Refused(Exception):
    """The service has refused the request.

    rule: the service's rule code, None if the response was not the service's.  state: the state of
    the rewind on the log, if the response names it.
    """

    def __init__(self, detail: str, rule: str | None = None, state: str | None = None) -> None:
        super().__init__(detail)
        self.rule = rule
        self.state = state


class Unreachable(Exception):
    """The request did not reach the service; nothing has happened there."""


class OutcomeUnknown(Exception):
    """The request may have reached the service, but no response decides."""


class RewindService(Protocol):
    """A client of one gateway.  Every call raises Refused, Unreachable or OutcomeUnknown."""

    def plan(self, session_id: str, target: Target) -> Json: ...

    def prepare(
        self, session_id: str, rewind_id: str, target: Target, reason: str | None
    ) -> Json: ...

    def confirm(self, session_id: str, rewind_id: str) -> Json: ...

    def abort(self, session_id: str, rewind_id: str) -> Json: ...

    def find(self, session_id: str, rewind_id: str) -> Json | None:
        """Return the current state of the rewind, None if the service has not seen it."""
