"""An application of one's own bounds a body as the gateway does, before its JSON is parsed."""

from __future__ import annotations

import tracemalloc

import pytest

from streams import create_app
from streams.asap.body import MAX_BYTES, MAX_VALUES
from streams.settings import Settings
from tests.unit.asap.support import ask, manifest

BOMB = b"[" + b"{}," * MAX_VALUES + b"{}]"


def test_the_bounds_are_the_gateway_s() -> None:
    settings = Settings()
    assert settings.gateway_max_body_bytes == MAX_BYTES
    assert settings.gateway_max_body_values == MAX_VALUES


@pytest.mark.parametrize(
    ("body", "detail"),
    [(BOMB, f"more than {MAX_VALUES} JSON values"), (b" " * (MAX_BYTES + 1), f"above {MAX_BYTES}")],
)
def test_a_body_above_a_bound_is_refused_unparsed(body: bytes, detail: str) -> None:
    app = create_app(manifest())
    tracemalloc.start()
    response = ask(app, "POST", "/asap", content=body)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (response.status_code, response.json()["rule"]) == (413, "too_large")
    assert detail in response.json()["detail"]
    assert peak < 4 * len(body) + (1 << 20)


def test_commas_in_strings_are_no_values() -> None:
    body = b'"' + b"," * (MAX_VALUES + 1) + b'"'
    response = ask(create_app(manifest()), "POST", "/asap", content=body)
    assert response.status_code == 200
    assert response.json()["error"]["code"] == -32600
