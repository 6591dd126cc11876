"""The requests in a body, each checked by itself (Summit 3, the rules marked E)."""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas import ShapeError
from schemas.summit import ABSENT, check_request, read_json, request_id, rules
from schemas.summit.words import LOGGED_METHODS
from streams.api.jsonrpc import Batch
from streams.summit.rpc.errors import RpcError, broken

CANCEL = "agent.cancel"
_ENVELOPE = ("json.", "rpc.")


class Request(NamedTuple):
    """error: why it is not carried out.  id: ABSENT for a notification."""

    value: Any
    id: Any = ABSENT
    error: RpcError | None = None

    @property
    def method(self) -> str:
        return str(self.value["method"])

    @property
    def params(self) -> dict[str, Any]:
        found: dict[str, Any] = self.value.get("params", {})
        return found

    @property
    def is_logged(self) -> bool:
        return self.error is None and self.method in LOGGED_METHODS

    @property
    def is_query(self) -> bool:
        return self.error is None and self.method not in LOGGED_METHODS

    @property
    def is_notification(self) -> bool:
        """Whether it is an `agent.cancel` that wants no answer; its params may be wrong."""
        if self.id is not ABSENT or not isinstance(self.value, dict):
            return False
        fit = self.error is None or not self.error.rule.startswith(_ENVELOPE)
        return fit and "id" not in self.value and self.value.get("method") == CANCEL


class Requests(NamedTuple):
    several: bool
    items: list[Request]


def requests_of(body: bytes, most: int) -> Requests:
    """most: in one batch.  Raises RpcError for a body that has none, or too many."""
    try:
        value = read_json(body)
    except ShapeError as exc:
        raise broken(exc.problem) from exc
    batch = Batch.of(value)
    if not 1 <= len(batch.requests) <= most:
        detail = f"a batch has 1 to {most} requests, this one has {len(batch.requests)}"
        raise RpcError(rules.RPC_BATCH.code, detail)
    return Requests(batch.is_list, [_request(each) for each in batch.requests])


def _request(value: Any) -> Request:
    problems = check_request(value)
    return Request(value, request_id(value), broken(problems[0]) if problems else None)
