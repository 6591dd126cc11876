"""Who may send: rows 6 and 9 of the table of outcomes (ASAP guide, 6.2)."""

from __future__ import annotations

import pytest
from fastapi import FastAPI

from schemas.asap import AuthScheme
from streams import create_app
from tests.unit.asap.support import (
    AGENT,
    PLANNER,
    call,
    correlated,
    envelope_json,
    error,
    manifest,
    post,
)


def guarded(*schemes: str) -> FastAPI:
    async def whose(token: str) -> str | None:
        return {"good": PLANNER, "other": AGENT}.get(token)

    return create_app(manifest(AuthScheme(schemes=list(schemes))), token_validator=whose)


@pytest.mark.parametrize("headers", [{}, {"Authorization": ""}])
def test_6_nobody_says_who_they_are(headers: dict[str, str]) -> None:
    answer = post(guarded("bearer"), call(correlated()), **headers)
    code, data = error(answer)
    assert (code, answer["id"]) == (-32600, "req_123")
    assert data == {
        "error": "Authentication required",
        "status_code": 401,
        "asap_error": "asap:security/auth_required",
        "correlation_id": "corr_456",
        "trace_id": "tr-19",
    }


@pytest.mark.parametrize(
    ("schemes", "header"),
    [
        (("bearer",), "Basic good"),
        (("basic",), "Bearer good"),
        ((), "Bearer good"),
        (("bearer",), "Bearer bad"),
        (("bearer",), "Bearer"),
        (("bearer",), "Bearer "),
        (("bearer",), "good"),
    ],
)
def test_6_a_token_that_nobody_has(schemes: tuple[str, ...], header: str) -> None:
    answer = post(guarded(*schemes), call(correlated()), Authorization=header)
    code, data = error(answer)
    assert code == -32600
    assert data == {
        "error": "Invalid authentication token",
        "status_code": 401,
        "asap_error": "asap:security/auth_invalid",
        "correlation_id": "corr_456",
        "trace_id": "tr-19",
    }


@pytest.mark.parametrize("scheme", ["bearer", "Bearer", "BEARER"])
@pytest.mark.parametrize("header", ["Bearer good", "bearer good", "BEARER  good"])
def test_a_token_lets_in(scheme: str, header: str) -> None:
    assert "result" in post(guarded("oauth2", scheme), call(envelope_json()), Authorization=header)


def test_a_validator_may_be_plain() -> None:
    auth = AuthScheme(schemes=["bearer"])
    app = create_app(manifest(auth), token_validator=lambda token: PLANNER)
    assert "result" in post(app, call(envelope_json()), Authorization="Bearer x")


def test_who_asks_for_tokens_must_know_them() -> None:
    with pytest.raises(ValueError, match="token_validator is required"):
        create_app(manifest(AuthScheme(schemes=["bearer"])))


def test_a_validator_that_fails_is_the_server_s_fault() -> None:
    def failing(token: str) -> str:
        raise OSError("no database")

    app = create_app(manifest(AuthScheme(schemes=["bearer"])), token_validator=failing)
    assert error(post(app, call(envelope_json()), Authorization="Bearer x"))[0] == -32603


def test_9_who_sends_for_another() -> None:
    code, data = error(post(guarded("bearer"), call(correlated()), Authorization="Bearer other"))
    assert code == -32602
    assert data == {
        "error": "Sender does not match authenticated identity",
        "status_code": 403,
        "asap_error": "asap:security/permission_denied",
        "correlation_id": "corr_456",
        "trace_id": "tr-19",
    }
