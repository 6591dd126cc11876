"""What callers and agents of Summit get for an answer that is a no."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.errors import NegativeAnswer


class Rejected(NegativeAnswer):
    """A command was judged and rejected.  rule: which one it breaks (Summit 3).

    data: what the verdict says besides, e.g. `errors`, `path`, `position`.
    """

    def __init__(self, rule: str, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message or rule)
        self.rule = rule
        self.data = dict(data or {})


class CallRejected(Rejected):
    """rpc_code: of the JSON-RPC error, e.g. -32004; None where the rule has none."""

    def __init__(
        self,
        rule: str,
        message: str,
        data: Mapping[str, Any] | None = None,
        rpc_code: int | None = None,
    ) -> None:
        super().__init__(rule, message, data)
        self.rpc_code = rpc_code


class ManifestRejected(Rejected):
    """errors: a list of {path, …}, empty where the rule is not about one place."""

    def __init__(
        self, rule: str, errors: Sequence[Mapping[str, Any]] = (), message: str = ""
    ) -> None:
        super().__init__(rule, message, {"errors": list(errors)})
        self.errors = list(errors)


class RunPending(NegativeAnswer):
    """The wait is over and the run has not ended: ask for its status later.

    status: queued or running; None while no verdict on the call was seen.
    """

    default_advice = "Ask for its status, or send the same call again to wait on."

    def __init__(self, run_id: str, status: str | None, position: str | None) -> None:
        super().__init__(f"run {run_id} has not ended, it is {status or 'not judged yet'}")
        self.run_id = run_id
        self.status = status
        self.position = position


class VerdictPending(NegativeAnswer):
    """The wait is over before the verdict on a record was seen.  position: of the record."""

    default_advice = "Send the same again, which is safe, to wait on."

    def __init__(self, position: str | None) -> None:
        super().__init__(f"no verdict was seen on {position or 'the record'} in time")
        self.position = position


class BudgetExceeded(Exception):
    """Raised in a handler by the charge that breaks the budget of its run."""
