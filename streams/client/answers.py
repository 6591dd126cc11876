"""Conversion of problems (RFC 9457) to the errors behind them (`streams.api.problems`)."""

from __future__ import annotations

from typing import Any, NamedTuple

from schemas import Problem
from streams.client.transport import ProduceRequest
from streams.client.values import invalid
from streams.errors import (
    BrokerUnavailable,
    Conflict,
    Forbidden,
    GatewayUnavailable,
    Gone,
    HeadraceError,
    InfrastructureError,
    NotFound,
    OutputTooLarge,
    ProduceUnknown,
    Unauthenticated,
    UsageError,
    ViewNotReady,
)
from streams.log.cursors import CursorAhead, CursorExpired, CursorInvalid
from streams.views.parse import QueryError, parse_position
from streams.views.positions import ViewBehind


class GatewayResponse(NamedTuple):
    """A gateway's response; `body` is the parsed JSON, None when it was not JSON."""

    status: int
    body: Any

    @property
    def detail(self) -> str:
        if isinstance(self.body, dict) and isinstance(self.body.get("detail"), str):
            return str(self.body["detail"])
        return f"the answer was {self.status}, and none of a gateway of headrace"

    def member(self, name: str) -> Any:
        return self.body.get(name) if isinstance(self.body, dict) else None


def unanswered(answer: GatewayResponse, after: str | None = None) -> HeadraceError:
    """Return the error for a read that failed.

    after: the position that the read waited for.
    """
    if (refused := _refused(answer)) is not None:
        return refused
    rule, detail, lag = answer.member("rule"), answer.detail, answer.member("lag")
    match answer.status, rule:
        case 400, "cursor_invalid":
            return CursorInvalid(detail)
        case 409, "cursor_ahead":
            return CursorAhead(detail)
        case 410, "cursor_expired":
            return CursorExpired(detail, str(answer.member("earliest")))
        case 404, str() if rule != "path_unknown":
            return NotFound(detail, rule)
        case 409, str():
            return Conflict(detail, rule)
        case 410, str():
            return Gone(detail, rule)
        case 422, str():
            return QueryError(str(answer.member("path") or ""), detail, rule)
        case 504, "not_seen_in_time":
            return ViewBehind(parse_position(after) if after else None, lag or 0)
        case 503, "service_unavailable":
            return BrokerUnavailable(detail, advice="") if lag is None else _not_ready(detail, lag)
        case 502 | 503 | 504, _:
            return GatewayUnavailable(detail)
        case status, _ if status >= 500:
            return InfrastructureError(detail)
        case _:
            return UsageError(detail, advice="")


def _refused(answer: GatewayResponse) -> HeadraceError | None:
    """Return the error of a caller without access or above a limit; None for other statuses."""
    rule, detail = str(answer.member("rule")), answer.detail
    match answer.status:
        case 401:
            return Unauthenticated(detail, rule)
        case 403:
            return Forbidden(detail, rule, answer.member("path"))
        case 429:
            return GatewayUnavailable(detail, advice="Send less at once; nothing was sent.")
    return None


def _not_ready(detail: str, lag: int) -> ViewNotReady:
    return ViewNotReady(detail, lag, advice="")


def unsent(answer: GatewayResponse, parcel: ProduceRequest) -> HeadraceError:
    """Return the error for a parcel that was sent alone and was not written."""
    if (refused := _refused(answer)) is not None:
        return refused
    problems = problems_of(answer)
    match answer.status:
        case 422 if problems:
            return invalid(problems, parcel.many)
        case 413:
            return OutputTooLarge(answer.detail)
        case status if status >= 500 or status < 400:
            return ProduceUnknown(f"whether all records were written is unknown: {answer.detail}")
        case _:
            return UsageError(answer.detail, advice="")


def problems_of(answer: GatewayResponse) -> list[tuple[int, Problem]]:
    """Return index and problem of each value that was refused; empty when the body names none."""
    errors = answer.member("errors")
    if not isinstance(errors, list):
        return []
    return [(e["index"], Problem(e["rule"], e["path"], e["message"])) for e in errors]
