"""The gateway says what to install where the extra `otel` is missing, and serves the rest."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.unit.doors.otlp.requests import request_of
from tests.unit.gateway.bench import GatewayBench

NEEDING = ("answers", "json_request", "protobuf", "receiver", "spans")


def test_without_the_extra_a_request_is_answered_501(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = request_of({}).SerializeToString()
    for name in NEEDING:
        monkeypatch.delitem(sys.modules, f"streams.doors.otlp.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "google.rpc.status_pb2", None)
    with GatewayBench(tmp_path) as gateway:
        headers = {"content-type": "application/x-protobuf"}
        answer = gateway.ask("POST", "/v1/traces", content=body, headers=headers)
        assert (answer.status_code, answer.json()["rule"]) == (501, "extra_missing")
        assert "`pip install 'headrace[otel]'`" in answer.json()["detail"]
        assert gateway.get("/v1/otel/traces")["items"] == []
