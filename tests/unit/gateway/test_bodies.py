"""A body of many small JSON values is refused before it becomes as many objects."""

from __future__ import annotations

import asyncio
import json
import time
import tracemalloc
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Scope

from streams.api.json_values import bound_values, count_values
from streams.engine.records import Output, position
from streams.gateway.bodies import VALUE_BYTES
from streams.gateway.limits import PART_BYTES
from streams.settings import Settings
from tests.unit.gateway.bench import GatewayBench
from topology.apc import APC_PACKETS

Json = dict[str, Any]
BOMB = b"[" + b"{}," * 200_000 + b"{}]"
DOORS = ("/v1/apc/packets", "/v1/sap/tasks", "/v1/saop/turns", "/asap", "/summit")
MANY = 1 << 40

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def count_parsed(value: Any) -> int:
    """Count a value, the values in it and the names of its members."""
    match value:
        case dict():
            return 1 + sum(1 + count_parsed(each) for each in value.values())
        case list():
            return 1 + sum(map(count_parsed, value))
    return 1


@given(value=VALUES, indent=st.sampled_from([None, 1]))
def test_values_are_counted_as_a_parser_would(value: Any, indent: int | None) -> None:
    body = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    assert count_values(body, MANY) == count_parsed(value)
    assert bound_values(body) >= count_parsed(value)


@pytest.mark.parametrize("part", [b"{},", b'"', b'\\"', b'"\\', b'"",', b"1,", b"[", b"\\", b"1 "])
def test_counting_takes_linear_time_and_little_memory(part: bytes) -> None:
    body = part * ((8 << 20) // len(part))
    tracemalloc.start()
    began = time.process_time()
    count_values(body, 500_000)
    elapsed_s = time.process_time() - began
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
    assert elapsed_s < 10


@pytest.mark.parametrize("path", DOORS)
def test_every_door_refuses_a_bomb(tmp_path: Path, path: str) -> None:
    with GatewayBench(tmp_path, gateway_max_body_values=100_000) as gateway:
        headers = {"content-type": "application/json"}
        tracemalloc.start()
        response = gateway.ask("POST", path, content=BOMB, headers=headers)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert response.status_code == 413
        assert response.json()["rule"] == "too_large"
        assert "100000 JSON values" in response.json()["detail"]
        assert peak < 10 * len(BOMB), "the values were not built"


def test_punctuation_in_texts_is_no_value(tmp_path: Path) -> None:
    with GatewayBench(tmp_path, gateway_max_body_values=100) as gateway:
        body = json.dumps([{"text": "[{,:" * 100}]).encode()
        response = gateway.ask("POST", "/v1/apc/packets", content=body)
        assert response.status_code == 422


def test_bodies_share_a_bound_of_memory(tmp_path: Path) -> None:
    """Refuse a body whose values would take more than is left, and take it once there is room."""
    with GatewayBench(tmp_path, gateway_bodies_mib=1) as gateway:
        values = (1 << 20) // VALUE_BYTES
        response = gateway.ask("POST", "/v1/apc/packets", json=[0] * values)
        assert response.status_code == 503
        assert response.json()["rule"] == "service_unavailable"
        for _ in range(3):
            response = gateway.ask("POST", "/v1/apc/packets", json=[0] * 900)
            assert response.status_code == 422, "what was taken is given back"


def test_large_responses_share_the_bound_until_they_are_read(tmp_path: Path) -> None:
    """Check a client that reads one part and waits: others are refused, and small ones are not."""
    with GatewayBench(tmp_path, gateway_bodies_mib=3) as gateway:
        large, small = (
            position(gateway.bench.log.append([Output(APC_PACKETS.name, b"k", bytes(size))])[0])
            for size in (1_500_000, 1000)
        )
        path = f"/v1/records/{large}"
        whole = gateway.ask("GET", path)
        assert whole.status_code == 200
        messages: list[Message] = []

        async def run() -> list[int]:
            is_sending, is_read = asyncio.Event(), asyncio.Event()

            async def send(message: Message) -> None:
                messages.append(message)
                if "body" in message and not is_sending.is_set():
                    is_sending.set()
                    await is_read.wait()

            transport = httpx.ASGITransport(gateway.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
                slow = asyncio.create_task(gateway.app(scope_of(path), _no_body, send))
                await is_sending.wait()
                others = (path, f"/v1/records/{small}")
                statuses = [(await http.get(each)).status_code for each in others]
                is_read.set()
                await slow
                return [*statuses, (await http.get(path)).status_code]

        assert asyncio.run(run()) == [503, 200, 200]
        parts = [message["body"] for message in messages if "body" in message]
        assert b"".join(parts) == whole.content
        assert max(map(len, parts)) <= PART_BYTES < len(whole.content)


def test_a_response_above_the_bound_is_sent_when_it_is_alone(tmp_path: Path) -> None:
    with GatewayBench(tmp_path, gateway_bodies_mib=1) as gateway:
        (record,) = gateway.bench.log.append([Output(APC_PACKETS.name, b"k", bytes(1_500_000))])
        assert gateway.get(f"/v1/records/{position(record)}")["size"] == 1_500_000


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def scope_of(path: str) -> Scope:
    """Return the ASGI scope of a GET."""
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
    }


def test_the_defaults() -> None:
    assert Settings().gateway_max_body_values == 500_000
    assert Settings().gateway_bodies_mib == 256
