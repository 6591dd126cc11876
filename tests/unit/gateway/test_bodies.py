"""A body of many small JSON values is refused before it becomes as many objects."""

from __future__ import annotations

import json
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.api.json_values import bound_values, count_values
from streams.gateway.bodies import VALUE_BYTES
from streams.settings import Settings
from tests.unit.gateway.bench import GatewayBench

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


def test_the_defaults() -> None:
    assert Settings().gateway_max_body_values == 500_000
    assert Settings().gateway_bodies_mib == 256
