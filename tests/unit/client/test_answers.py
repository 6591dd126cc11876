"""Errors come back from problem details as what they were."""

from __future__ import annotations

from typing import Any

import pytest

from schemas import Problem
from streams.api.problems import Response, error_response, no_route, problem
from streams.client.answers import GatewayResponse, unanswered, unsent
from streams.client.outbox import RecordEncoder
from streams.client.transport import ProduceRequest
from streams.client.values import parcel_of
from streams.errors import (
    BrokerUnavailable,
    Conflict,
    Forbidden,
    GatewayUnavailable,
    Gone,
    HeadraceError,
    InfrastructureError,
    InvalidInput,
    NotFound,
    OutputTooLarge,
    ProduceUnknown,
    Unauthenticated,
    UsageError,
    ViewNotReady,
)
from streams.log.cursors import CursorAhead, CursorExpired, CursorInvalid
from streams.settings import Settings
from streams.views.parse import QueryError
from streams.views.positions import Position, ViewBehind
from tests.unit.envelopes import idea, transition
from tests.unit.views.bench import START_MS, Bench

PARCEL = parcel_of("apc.packets", [idea()], False, None)
READ_ERRORS: list[HeadraceError] = [
    NotFound("no packet of that id"),
    NotFound("no task of that id", "task_not_found"),
    Gone("its events have expired", "events_expired"),
    Conflict("it is not event-sourced", "state_mode_conflict"),
    Unauthenticated("a bearer token is needed"),
    Unauthenticated("the token is not known", "token_unknown"),
    Forbidden("the token is of kim", "auth_sender", "/sender/agent_id"),
    QueryError("limit", "a whole number, at least 1"),
    QueryError("limit", "a whole number, 1 to 1000", "limit_invalid"),
    ViewBehind(Position("apc.packets", 1, 23), 5),
    ViewNotReady("the view is being rebuilt", 42),
    BrokerUnavailable("no answer from Kafka"),
]


def received(response: Response) -> GatewayResponse:
    return GatewayResponse(response.status, response.body)


@pytest.mark.parametrize("error", READ_ERRORS, ids=lambda error: type(error).__name__)
def test_the_error_of_a_read(error: HeadraceError) -> None:
    back = unanswered(received(error_response(error)), "apc.packets/1/23")
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert getattr(back, "lag", None) == getattr(error, "lag", None)
    assert getattr(back, "rule", None) == getattr(error, "rule", None)
    assert getattr(back, "problems", None) == getattr(error, "problems", None)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, CursorInvalid("not a cursor")),
        (409, CursorAhead("beyond the end")),
        (410, CursorExpired("not kept any more", "0:7,1:-1")),
    ],
)
def test_the_error_of_a_tail(status: int, error: HeadraceError) -> None:
    earliest = getattr(error, "earliest", None)
    body = {"detail": error.message, "rule": error.code, "earliest": earliest}
    back = unanswered(GatewayResponse(status, body))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert getattr(back, "earliest", None) == earliest


@pytest.mark.parametrize(
    "answer", [no_route("no such path", ()), no_route("takes POST", ("POST",))]
)
def test_a_wrong_path_is_wrong_usage(answer: Response) -> None:
    assert type(unanswered(received(answer))) is UsageError


@pytest.mark.parametrize(
    ("status", "kind"),
    [(502, GatewayUnavailable), (503, GatewayUnavailable), (500, InfrastructureError)],
)
@pytest.mark.parametrize("body", [None, [], "x", {}, {"detail": 3}])
def test_an_answer_of_something_else(status: int, kind: type[HeadraceError], body: Any) -> None:
    assert type(unanswered(GatewayResponse(status, body))) is kind
    assert type(unsent(GatewayResponse(status, body), PARCEL)) is ProduceUnknown
    assert type(unanswered(GatewayResponse(418, body))) is UsageError


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Unauthenticated("a bearer token is needed"), Unauthenticated),
        (Forbidden("the token is of kim", "auth_sender"), Forbidden),
        (OutputTooLarge("the record has 9 bytes, 8 are allowed"), OutputTooLarge),
        (ProduceUnknown("no answer"), ProduceUnknown),
        (BrokerUnavailable("no answer"), ProduceUnknown),
    ],
)
def test_the_error_of_a_send(error: HeadraceError, kind: type[HeadraceError]) -> None:
    assert type(unsent(received(error_response(error)), PARCEL)) is kind


def test_too_many_requests_are_no_unknown_outcome() -> None:
    """Nothing was sent, and it may be tried again."""
    refused = received(problem(429, "kim has 64 requests at once", "too_many_requests"))
    for back in (unsent(refused, PARCEL), unanswered(refused)):
        assert type(back) is GatewayUnavailable
        assert "kim has 64 requests" in str(back)


def test_an_unknown_outcome_says_to_send_again_with_the_same_id() -> None:
    back = unsent(received(problem(503, "Kafka does not answer", "service_unavailable")), PARCEL)
    assert "Send again with the same id" in str(back)


def here(parcel: ProduceRequest) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        RecordEncoder(Settings(), lambda: START_MS).outputs(parcel)
    return caught.value


def there(bench: Bench, path: str, parcel: ProduceRequest) -> HeadraceError:
    body = b"[" + b",".join(parcel.texts) + b"]"
    return unsent(received(bench.routes.handle("POST", path, "", {}, body)), parcel)


@pytest.mark.parametrize(
    ("topic", "path", "values"),
    [
        ("apc.packets", "/v1/apc/packets", [{}]),
        ("apc.packets", "/v1/apc/packets", [[]]),
        ("apc.packets", "/v1/apc/packets", [idea(confidence=2), idea(2), idea(packet_id="x")]),
        ("apc.packets", "/v1/apc/packets", [idea(confidence=10**400)]),
        ("rtes.raw", "/v1/rtes/events", [transition(1, to_state=3), None, {"payload": {}}]),
    ],
)
def test_a_value_is_refused_alike_here_and_there(
    bench: Bench, topic: str, path: str, values: list[Any]
) -> None:
    for many in (True, False):
        parcel = parcel_of(topic, values, many, None)
        local, remote = here(parcel), there(bench, path, parcel)
        assert isinstance(remote, InvalidInput)
        assert remote.problems == local.problems
        assert remote.indexes == local.indexes
        assert str(remote) == str(local)
        assert all(isinstance(each, Problem) for each in remote.problems)
