"""The figures and the log of a real worker and a real gateway."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from streams.engine import metrics as worker_metrics
from streams.engine.records import Output
from streams.gateway import metrics as gateway_metrics
from streams.protocols.commands import RULE_CODES
from streams.telemetry.metrics import MetricDeclaration
from tests.integration.system import Live, live
from tests.processes import wait_for
from tests.unit.envelopes import idea
from topology import topics
from topology.apc import APC_PACKETS
from topology.processors import ALL as PROCESSORS

pytestmark = pytest.mark.slow

SECRET = "correct-horse-battery-staple"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture(scope="module")
def system(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    settings = {
        "METRICS": "127.0.0.1:0",
        "LOG_FORMAT": "json",
        "LOG_LEVEL": "debug",
        "MASK_KEY": SECRET,
    }
    with live(broker, tmp_path_factory.mktemp("metrics"), **settings) as system:
        yield system


@pytest.fixture(scope="module")
def worker(system: Live) -> str:
    """Where the worker serves its figures."""
    match = re.search(r"metrics at (http://\S+)/metrics", system.worker.text())
    assert match is not None
    return match[1]


def scraped(url: str) -> Series:
    answer = httpx.get(f"{url}/metrics", timeout=60)
    assert answer.status_code == 200
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def value(series: Series, name: str, **labels: str) -> float:
    return series.get((name, frozenset(labels.items())), 0.0)


def names(url: str) -> set[str]:
    lines = httpx.get(f"{url}/metrics", timeout=60).text.splitlines()
    return {line.split()[2] for line in lines if line.startswith("# TYPE")}


def sent(system: Live, *packets: dict[str, object], **headers: str) -> None:
    with system.client as http:
        answer = http.post("/v1/apc/packets", json=list(packets), headers=headers)
        assert answer.status_code == 202, answer.text


def undecodable(system: Live) -> None:
    topic = system.prefix + APC_PACKETS.name
    system.log.append([Output(topic, b"s1", f"password={SECRET}".encode(), (), 0)])


def test_what_is_exported_is_what_is_declared(system: Live, worker: str) -> None:
    assert names(system.url) == {declared.name for declared in gateway_metrics.ALL}
    assert names(worker) == {declared.name for declared in worker_metrics.ALL}


def test_both_tell_what_rocksdb_holds(system: Live, worker: str) -> None:
    for url, metric in ((system.url, gateway_metrics.MEMORY), (worker, worker_metrics.MEMORY)):
        figures = scraped(url)
        for use in ("write_buffers", "block_cache"):
            assert value(figures, metric.name, use=use) > 0


def test_verdicts_dead_letters_and_lag_show_what_was_decided(system: Live, worker: str) -> None:
    before = scraped(worker)
    name = APC_PACKETS.name
    verdicts = {"topic": "apc.events", "verdict": "accepted", "rule": "accepted"}
    letters = {"topic": name, "code": "frame_unknown"}
    undecodable(system)
    sent(system, *(idea(n, trace__session_id=uuid.uuid4().hex) for n in range(3)))

    def more(metric: str, **labels: str) -> float:
        return value(scraped(worker), metric, **labels) - value(before, metric, **labels)

    wait_for(lambda: more("headrace_verdicts_total", **verdicts) == 3, "three verdicts")
    wait_for(lambda: more("headrace_dead_letters_total", **letters) == 1, "a dead letter")
    wait_for(
        lambda: value(scraped(system.url), "headrace_dlq_records", topic=f"{name}.dlq") >= 1,
        "the gateway has counted it",
    )

    def at_rest() -> bool:
        lags = [v for (n, _), v in scraped(worker).items() if n == "headrace_task_lag_records"]
        return bool(lags) and not any(lags)

    wait_for(at_rest, "no lag is left")
    assert value(scraped(worker), "headrace_tasks", state="ready") == 4


def test_labels_are_few_and_known(system: Live, worker: str) -> None:
    """However many sessions, keys and paths there are."""
    with system.client as http:
        for number in range(20):
            http.get(f"/nowhere/{number}")
            http.get(f"/v1/apc/sessions/{number}/packets/{number}")
    known = {
        "topic": {topic.name for topic in topics.ALL},
        "processor": {processor.name for processor in PROCESSORS},
        "rule": RULE_CODES | {"none"},
        "partition": set(map(str, range(4))),
        "store": {*map(str, range(4)), "copies"},
    }
    for declared, url in ((worker_metrics.ALL, worker), (gateway_metrics.ALL, system.url)):
        series = scraped(url)
        assert {name for _, labels in series for name, _ in labels} - {"le"} <= _labels(declared)
        for _, labels in series:
            for name, text in labels:
                assert text in known.get(name, {text}), (name, text)
    paths = {dict(labels)["route"] for _, labels in scraped(system.url) if "route" in dict(labels)}
    assert not any("nowhere" in path or re.search(r"/\d", path) for path in paths)


def _labels(declared: tuple[MetricDeclaration, ...]) -> set[str]:
    return {label for each in declared for label in each.labels}


def test_the_worker_says_that_it_is_ready(worker: str) -> None:
    answer = httpx.get(f"{worker}/readyz", timeout=60)
    assert (answer.status_code, answer.json()["tasks"]) == (200, [0, 1, 2, 3])


def test_a_request_is_found_again_by_its_ids(system: Live) -> None:
    """From what the client was told, over the log of the gateway, to the record."""
    request_id, packet = f"req-{uuid.uuid4().hex}", idea(trace__session_id=uuid.uuid4().hex)
    with system.client as http:
        headers = {"x-request-id": request_id, "traceparent": TRACE}
        answer = http.post("/v1/apc/packets", json=packet, headers=headers)
    assert answer.headers["x-request-id"] == request_id

    def access_lines() -> list[dict[str, object]]:
        """Once the answer is on its way."""
        return [
            line for line in logged(system.gateway.text()) if line.get("request_id") == request_id
        ]

    wait_for(access_lines, "the request is logged")
    (line,) = access_lines()
    assert (line["positions"], line["traceparent"]) == (answer.json()["positions"], TRACE)
    assert (line["logger"], line["route"]) == ("streams.gateway.access", "/v1/apc/packets")


def logged(text: str) -> list[dict[str, object]]:
    """All lines, each an object, but those that a command prints on stdout."""
    whole = text[: text.rfind("\n") + 1].splitlines()
    lines = [line for line in whole if not line.startswith("gateway http")]
    return [json.loads(line) for line in lines]


def test_every_line_of_the_log_is_an_object_without_secrets(system: Live, tmp_path: Path) -> None:
    undecodable(system)
    with system.client as http:
        http.get("/v1/apc/packets", params={"session_id": SECRET})
        http.get("/healthz", headers={"authorization": f"Bearer {SECRET}"})
        http.post("/v1/apc/packets", json=idea() | {"password": SECRET})
    for process in (system.worker, system.gateway):
        text = process.text()
        lines = logged(text)
        assert all({"at", "level", "logger"} <= set(line) for line in lines)
        assert SECRET not in text
