"""What the doctor says of brokers and registries; with real ones in the integration tests."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from streams.ops.doctor import api_versions, services
from streams.ops.doctor.findings import Level
from streams.registry import client
from streams.settings import Settings
from tests.unit.registry.fake import FakeRegistry

OF_2_7 = {0: (0, 8), 1: (0, 12), 18: (0, 3)}
OF_2_8 = {**OF_2_7, 60: (0, 0)}
OF_3_9 = {**OF_2_8, 65: (0, 0), 71: (0, 0), 75: (0, 0), 80: (0, 0)}
OF_4_0 = {**OF_3_9, 1: (4, 17)}
OF_4_1 = {**OF_4_0, 90: (0, 0)}


@pytest.mark.parametrize(
    ("apis", "release"),
    [(OF_2_7, None), (OF_2_8, "2.8"), (OF_3_9, "3.9"), (OF_4_0, "4.0"), (OF_4_1, "4.1")],
)
def test_releases_are_told_by_the_requests_they_take(
    apis: dict[int, tuple[int, int]], release: str | None
) -> None:
    assert api_versions.release_of(apis) == release


def answer(apis: dict[int, tuple[int, int]], error: int = 0) -> bytes:
    entries = b"".join(struct.pack(">hhh", key, *versions) for key, versions in apis.items())
    return struct.pack(">ihi", 1, error, len(apis)) + entries


@contextmanager
def broker(reply: bytes) -> Iterator[str]:
    """Answers one request with these bytes, and closes."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            thread.join()


def test_a_broker_is_asked_without_a_login() -> None:
    body = answer(OF_4_1)
    with broker(struct.pack(">i", len(body)) + body) as address:
        assert api_versions.ask(address, {}) == "4.1"


@pytest.mark.parametrize(
    "reply",
    [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", struct.pack(">i", 10) + answer({}, error=35)],
    ids=["nothing", "no Kafka", "an error"],
)
def test_what_is_no_answer_is_an_error(reply: bytes) -> None:
    with broker(reply) as address, pytest.raises(OSError):
        api_versions.ask(address, {}, 5.0)


def test_a_broker_that_is_set_and_away_fails(tmp_path: Path) -> None:
    (check,) = services.kafka(Settings(bootstrap="127.0.0.1:9", state_dir=tmp_path))
    assert check.level is Level.FAIL
    assert check.said.startswith("broker_unavailable: ")
    (none,) = services.kafka(Settings(state_dir=tmp_path))
    assert (none.level, "headrace up" in none.advice) == (Level.WARN, True)


def test_schemas_that_the_registry_lacks_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from streams.registry.register import register

    fake = FakeRegistry()
    monkeypatch.setattr(client, "Registry", lambda *_: fake)
    settings = Settings(schema_registry_url="http://registry")
    (lacking,) = services.registry(settings)
    assert lacking.level is Level.FAIL
    assert "apc.coordination-value version 1" in lacking.said
    assert "headrace topics create" in lacking.advice
    fake.away = False
    register(cast(Any, fake), "", lambda line: None)
    (well,) = services.registry(settings)
    assert well.level is Level.OK
    (away,) = services.registry(settings)
    assert away.said.startswith("registry_unavailable: ")
