"""A token sends spans of its own service only, and its refusals have the form of OTLP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.rpc.status_pb2 import Status

from streams.access.callers import Role
from streams.access.tokens import new_token
from tests.unit.doors.otlp.requests import request_of
from tests.unit.gateway.bench import GatewayBench

PROTOBUF = {"content-type": "application/x-protobuf"}


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    path = tmp_path / "tokens.jsonl"
    path.write_text("# of this test\n")
    return path


@pytest.fixture
def gateway(tmp_path: Path, tokens: Path) -> Iterator[GatewayBench]:
    with GatewayBench(tmp_path / "bench", tokens=tokens) as bench:
        yield bench


def add_token(tokens: Path, principal: str, *roles: Role) -> str:
    token, entry = new_token(principal, frozenset(roles))
    with tokens.open("a") as file:
        file.write(f"{entry.line()}\n")
    return token


def post(gateway: GatewayBench, token: str | None, service: str | None = "bot") -> tuple[int, str]:
    """Return the status of a request with one span, and the rule of a refusal."""
    headers: dict[str, Any] = {**PROTOBUF}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    body = request_of({}, service=service).SerializeToString()
    answer = gateway.ask("POST", "/v1/traces", content=body, headers=headers)
    assert answer.headers["content-type"] == PROTOBUF["content-type"]
    if answer.status_code == 200:
        return 200, ""
    return answer.status_code, Status.FromString(answer.content).message.partition(":")[0]


def test_a_request_needs_a_token_of_a_producer(gateway: GatewayBench, tokens: Path) -> None:
    reader = add_token(tokens, "otel:bot", Role.READER)
    assert post(gateway, None) == (401, "token_missing")
    assert post(gateway, "hr_none_such") == (401, "token_unknown")
    assert post(gateway, reader) == (403, "role_missing")


def test_a_principal_sends_for_its_own_service(gateway: GatewayBench, tokens: Path) -> None:
    of_bot = add_token(tokens, "otel:bot", Role.PRODUCER)
    every = add_token(tokens, "otel:*", Role.PRODUCER)
    assert post(gateway, of_bot) == (200, "")
    for service in ("another", None):
        assert post(gateway, of_bot, service) == (403, "principal_mismatch")
        assert post(gateway, every, service) == (200, "")
    assert len(gateway.bench.records("otel.spans")) == 3
