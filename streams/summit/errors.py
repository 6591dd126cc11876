"""Exceptions for negative answers of Summit, for callers and agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.errors import NegativeAnswer


class Rejected(NegativeAnswer):
    """A command that the service rejected; `rule` names the rule that it breaks (Summit guide, 3).

    data: more members of the verdict, e.g. `errors`, `path`, `position`.
    """

    def __init__(self, rule: str, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message or rule)
        self.rule = rule
        self.data = dict(data or {})


class CallRejected(Rejected):
    """A rejected call.

    rpc_code: the JSON-RPC error code, e.g. -32004; None if the rule has none.
    """

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
    """A rejected manifest.

    errors: a list of {path, …}, empty if the rule does not concern a single member.
    """

    def __init__(
        self, rule: str, errors: Sequence[Mapping[str, Any]] = (), message: str = ""
    ) -> None:
        super().__init__(rule, message, {"errors": list(errors)})
        self.errors = list(errors)


class RunPending(NegativeAnswer):
    """The wait timed out before the run ended; ask for its status later.

    status: queued or running; None while no verdict on the call was seen.
    """

    default_advice = "Ask for its status, or send the same call again to wait on."

    def __init__(self, run_id: str, status: str | None, position: str | None) -> None:
        super().__init__(f"run {run_id} has not ended, it is {status or 'not judged yet'}")
        self.run_id = run_id
        self.status = status
        self.position = position


class VerdictPending(NegativeAnswer):
    """The wait timed out before the verdict on the record at `position` was seen."""

    default_advice = "Send the same again, which is safe, to wait on."

    def __init__(self, position: str | None) -> None:
        super().__init__(f"no verdict was seen on {position or 'the record'} in time")
        self.position = position


class AgentError(Exception):
    """The failure of a run with the agent's own code; raised in its handler.

    code: an integer of 32 bits, outside of JSON-RPC's -32768 to -32000.  data: any JSON, 16,384
    bytes at most.  provenance: more members of the reply's provenance.  What breaks these bounds
    makes the reply say so, with code 1 (Summit guide, 5.4).
    """

    def __init__(
        self,
        code: int,
        message: str,
        data: Any = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.data = data
        self.provenance = dict(provenance or {})


class BudgetExceeded(Exception):
    """A charge that exceeds the budget of a run; raised in its handler."""
