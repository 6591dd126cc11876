"""Every answer about one task says its correlationId, the failures of the service included."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import httpx
import pytest

from streams.engine.records import Output, Record
from streams.errors import HeadraceError, ProduceUnknown
from streams.gateway.broker import BrokerWatch
from tests.unit.envelopes import idea
from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.guarded import OPERATOR, Guarded
from tests.unit.protocols.sap.queries.stage import TRACE, result, signal, task
from tests.unit.protocols.sap.routes.test_waits import RESULTS, SIGNALS, TASKS

HEADER = "X-Correlation-Id"
SENT: dict[str, dict[str, Any]] = {
    TASKS: task(),
    RESULTS: result(task()),
    SIGNALS: signal(task(), rating=4),
}
paths = pytest.mark.parametrize("path", SENT)


def summarize_response(answer: httpx.Response) -> tuple[int, str, list[str]]:
    """Status, rule, and the header each time that it stands there."""
    return answer.status_code, answer.json()["rule"], answer.headers.get_list(HEADER)


@paths
def test_of_what_another_principal_sends(guarded: Guarded, path: str) -> None:
    answer = guarded.ask("POST", path, guarded.token("mallory", OPERATOR), json=SENT[path])
    assert summarize_response(answer) == (403, "forbidden", [TRACE])
    assert answer.json()["path"].endswith("/agentId")


@paths
def test_of_what_is_too_large_for_a_record(tmp_path: Path, path: str) -> None:
    with GatewayBench(tmp_path, max_record_bytes=100) as gateway:
        answer = gateway.ask("POST", path, json=SENT[path])
        assert summarize_response(answer) == (413, "too_large", [TRACE])


def test_of_too_many_at_once(gateway: GatewayBench) -> None:
    answer = gateway.ask("POST", TASKS, json=[task()] * 1001)
    assert summarize_response(answer) == (413, "too_large", [TRACE])


@paths
def test_while_the_broker_is_away(
    gateway: GatewayBench, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BrokerWatch, "reason", "Kafka does not answer")
    answer = gateway.ask("POST", path, json=SENT[path])
    assert summarize_response(answer) == (503, "service_unavailable", [TRACE])
    assert answer.headers["retry-after"]
    assert gateway.bench.records(path.removeprefix("/v1/").replace("/", ".")) == []
    other = gateway.ask("POST", "/v1/apc/packets", json=idea())
    assert summarize_response(other) == (503, "service_unavailable", [])


@pytest.mark.parametrize(
    ("failure", "status", "rule"),
    [
        (ProduceUnknown("it may be written"), 503, "service_unavailable"),
        (HeadraceError("it is broken"), 503, "service_unavailable"),
        (RuntimeError("nobody has thought of it"), 500, "service_internal"),
    ],
)
@paths
def test_of_what_fails(
    gateway: GatewayBench,
    path: str,
    failure: Exception,
    status: int,
    rule: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def submit(outputs: Sequence[Output]) -> Future[list[Record]]:
        future: Future[list[Record]] = Future()
        future.set_exception(failure)
        return future

    monkeypatch.setattr(gateway.bench.log, "submit", submit)
    assert summarize_response(gateway.ask("POST", path, json=SENT[path])) == (status, rule, [TRACE])


def test_two_requests_do_not_share_it(gateway: GatewayBench) -> None:
    other = "00000000-0000-0000-0000-000000000001"
    values = [task(1), {**task(2), "correlationId": other}, idea()]
    where = [TASKS, TASKS, "/v1/apc/packets"]
    requests = [("POST", path, {"json": value}) for path, value in zip(where, values, strict=True)]
    answers = gateway.ask_all(requests)
    assert [answer.headers.get_list(HEADER) for answer in answers] == [[TRACE], [other], []]
