"""Parsing of a body into requests, each checked on its own (Summit guide, 3: rules marked E)."""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas import ShapeError
from schemas.summit import ABSENT, check_request, read_json, request_id, rules
from schemas.summit.caps import NO_CAPS, BudgetCaps
from schemas.summit.words import LOGGED_METHODS
from streams.api.jsonrpc import Batch
from streams.summit.rpc.errors import RpcError, rule_violation

CANCEL = "agent.cancel"
_ENVELOPE = ("json.", "rpc.")


class Request(NamedTuple):
    """A request of a body; `error` tells why it is refused, `id` is ABSENT for a notification."""

    value: Any
    id: Any = ABSENT
    error: RpcError | None = None

    @property
    def method(self) -> str:
        return str(self.value["method"])

    @property
    def params(self) -> dict[str, Any]:
        params: dict[str, Any] = self.value.get("params", {})
        return params

    @property
    def is_logged(self) -> bool:
        return self.error is None and self.method in LOGGED_METHODS

    @property
    def is_query(self) -> bool:
        return self.error is None and self.method not in LOGGED_METHODS

    @property
    def is_notification(self) -> bool:
        """Return whether this is an `agent.cancel` without an id, which gets no response.

        Its params may be invalid.
        """
        if self.id is not ABSENT or not isinstance(self.value, dict):
            return False
        has_valid_envelope = self.error is None or not self.error.rule.startswith(_ENVELOPE)
        return has_valid_envelope and "id" not in self.value and self.value.get("method") == CANCEL


class Requests(NamedTuple):
    is_batch: bool
    items: list[Request]


def parse_requests(body: bytes, limit: int, caps: BudgetCaps = NO_CAPS) -> Requests:
    """Parse a body.  limit: the maximum number of requests in a batch.  caps: those of calls.

    Raises RpcError for a body with no requests, or with too many.
    """
    try:
        value = read_json(body)
    except ShapeError as exc:
        raise rule_violation(exc.problem) from exc
    batch = Batch.of(value)
    if not 1 <= len(batch.requests) <= limit:
        detail = f"a batch has 1 to {limit} requests, this one has {len(batch.requests)}"
        raise RpcError(rules.RPC_BATCH.code, detail)
    return Requests(batch.is_list, [_request(each, caps) for each in batch.requests])


def _request(value: Any, caps: BudgetCaps) -> Request:
    problems = check_request(value, caps)
    return Request(value, request_id(value), rule_violation(problems[0]) if problems else None)
