"""Tokens and signed principals, with a worker and a gateway as processes on a real Kafka."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import pytest

from streams import Client
from streams.access import Role
from streams.access.tokens import new_token
from streams.engine.records import Output, Record, header, position
from streams.errors import Forbidden, Unauthenticated
from streams.log.reading import partitions, records
from tests.integration.system import Live, live
from tests.processes import wait_for

pytestmark = pytest.mark.slow

PATIENCE_S = 120
IDEA: dict[str, Any] = json.loads(
    files("schemas").joinpath("examples", "apc", "idea.json").read_text()
)
EVENT: dict[str, Any] = json.loads(
    files("schemas").joinpath("examples", "rtes", "task_transition.json").read_text()
)


class Tokens:
    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_text("")

    def new(self, principal: str, *roles: Role) -> str:
        token, entry = new_token(principal, frozenset(roles))
        with self.path.open("a") as file:
            file.write(f"{entry.line()}\n")
        return token

    def clear(self) -> None:
        self.path.write_text("# nobody\n")


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    return Tokens(tmp_path_factory.mktemp("tokens") / "tokens.jsonl")


@pytest.fixture(scope="module")
def system(broker: str, tokens: Tokens, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("guarded-gateway")
    more = {"PRINCIPAL_KEY": "of this test alone", "RTES_HEARTBEAT_S": "1"}
    with live(broker, folder, TOKENS=str(tokens.path), **more) as system:
        yield system


def read(system: Live, topic: str) -> list[Record]:
    return list(records(system.log, partitions(system.log, [system.prefix + topic])))


def principal_of(system: Live, topic: str, cause: str) -> str:
    """The principal of a fact about the record at that position."""
    principals: list[bytes] = []

    def come() -> bool:
        principals[:] = [
            header(record, "headrace-principal") or b""
            for record in read(system, topic)
            if header(record, "headrace-cause") == cause.encode()
        ]
        return bool(principals)

    wait_for(come, f"a fact about {cause}", PATIENCE_S)
    return principals[0].decode()


def test_facts_show_whose_token_it_was(system: Live, tokens: Tokens) -> None:
    new_token = tokens.new("builder-1", Role.PRODUCER)
    other = tokens.new("mallory", Role.PRODUCER)

    async def send(token: str | None) -> str:
        async with Client(system.url, token=token) as client:
            return await client.send("apc.packets", IDEA)

    with pytest.raises(Unauthenticated):
        asyncio.run(send("hr_x_y"))
    with pytest.raises(Forbidden, match="mallory"):
        asyncio.run(send(other))
    cause = asyncio.run(send(new_token))
    assert principal_of(system, "apc.events", cause) == "builder-1"

    (command,) = [r for r in read(system, "apc.packets") if position(r) == cause]
    again = Output(command.topic, b"another-session", command.value, command.headers)
    (replayed,) = system.log.append([again])
    assert principal_of(system, "apc.events", position(replayed)) == "unauthenticated"


def test_a_stream_ends_when_its_token_is_taken_back(system: Live, tokens: Tokens) -> None:
    reader = tokens.new("screen", Role.READER)
    headers = {"authorization": f"Bearer {reader}"}
    stream = f"{system.url}/v1/rtes/stream"
    assert httpx.get(stream).status_code == 401
    opened = threading.Event()
    ended = threading.Event()

    def follow() -> None:
        with httpx.stream("GET", stream, headers=headers, timeout=PATIENCE_S) as response:
            assert response.status_code == 200
            for _ in response.iter_raw():
                opened.set()
        ended.set()

    thread = threading.Thread(target=follow)
    thread.start()
    assert opened.wait(PATIENCE_S)
    tokens.clear()
    assert ended.wait(PATIENCE_S)
    thread.join()
    assert httpx.get(stream, headers=headers).status_code == 401


def test_it_listens_beyond_loopback_with_tokens_alone(system: Live, tokens: Tokens) -> None:
    """The last one: it starts a gateway more."""
    token = tokens.new("saop:*", Role.PRODUCER)
    system.start_gateway("--listen", "0.0.0.0:0")
    url = system.url.replace("0.0.0.0", "127.0.0.1")
    assert httpx.get(f"{url}/healthz").status_code == 200
    assert httpx.get(f"{url}/v1/apc/packets").status_code == 401
    headers = {"authorization": f"Bearer {token}"}
    answer = httpx.post(f"{url}/v1/rtes/events", json=EVENT, headers=headers, timeout=30)
    assert principal_of(system, "rtes.events", answer.json()["positions"][0]) == "saop:*"
