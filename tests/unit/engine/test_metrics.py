"""What a worker counts is what its tasks wrote."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from socket import create_connection
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from streams.engine import metrics_server
from streams.engine.local import LocalHost
from streams.engine.metrics import ALL, OTHER, TaskMeasurements, WorkerMetrics, WorkerStatus
from streams.engine.metrics_server import serve_metrics
from streams.errors import AddressTaken, SettingsError
from streams.play import scenario
from streams.protocols.commands import RULE_CODES
from streams.settings import Settings
from tests.processes import wait_for
from topology import topics
from topology.declarations import TopicKind
from topology.processors import ALL as PROCESSORS
from topology.processors import inputs

SCENARIOS = Path(__file__).parents[3] / "scenarios"
FACTS = {topic.name for topic in topics.ALL if topic.kind is TopicKind.FACT}
INPUTS = {topic.name for topic in inputs()}
Labels = frozenset[tuple[str, str]]


class Bench:
    """A scenario on tasks that count."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.hosts: list[LocalHost] = []
        self.metrics = WorkerMetrics(self.status, RULE_CODES)
        monkeypatch.setattr(scenario, "LocalHost", self._host)

    def _host(self, log: Any, processors: Any, settings: Any, folder: Path) -> LocalHost:
        self.hosts.append(LocalHost(log, processors, settings, folder, self.metrics))
        return self.hosts[-1]

    def status(self) -> WorkerStatus:
        tasks = [local.task.measure(True) for host in self.hosts for local in host.tasks]
        return WorkerStatus(tasks, 7, assigned=True)

    def play(self, name: str) -> list[dict[str, Any]]:
        text = (SCENARIOS / f"{name}.jsonl").read_text(encoding="utf-8")
        return list(scenario.play(text.split("\n"), Settings(partitions=1)))

    def samples(self, metric: str) -> dict[Labels, float]:
        text = generate_latest(self.metrics.registry).decode()
        return {
            frozenset(sample.labels.items()): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == metric
        }


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


@pytest.mark.parametrize(
    "name", ["refusals", "asap-requests", "sap-cache", "saop-order", "rtes-refusals", "summit-run"]
)
def test_verdicts_are_those_of_the_facts_and_their_rules_are_declared(
    bench: Bench, name: str
) -> None:
    facts: Counter[Labels] = Counter()
    for line in bench.play(name):
        value = line.get("value")
        if line.get("topic") in FACTS and {"rule", "verdict"} & set(value or ()):
            assert isinstance(value, dict)
            verdict, rule = value.get("verdict", "accepted"), value.get("rule", "none")
            labels = {"topic": line["topic"], "verdict": verdict or "none", "rule": rule}
            facts[frozenset(labels.items())] += 1
    assert facts
    assert bench.samples("headrace_verdicts_total") == facts
    assert not any(("rule", OTHER) in labels for labels in facts)


def test_dead_letters_records_and_timers_are_counted(bench: Bench) -> None:
    lines = bench.play("asap-deadlines") + bench.play("saop-bad-input")
    letters = Counter(line["topic"] for line in lines if str(line.get("topic")).endswith(".dlq"))
    counted = bench.samples("headrace_dead_letters_total")
    assert sum(counted.values()) == sum(letters.values()) > 0
    assert {dict(labels)["topic"] + ".dlq" for labels in counted} == set(letters)
    names = {declared.name for declared in PROCESSORS}
    for metric in ("headrace_decided_records_total", "headrace_fired_timers_total"):
        samples = bench.samples(metric)
        assert sum(samples.values()) > 0
        assert {dict(labels)["processor"] for labels in samples} <= names


def test_every_transaction_is_timed(bench: Bench) -> None:
    bench.play("saop-order")
    (batches,) = bench.samples("headrace_batch_seconds_count").values()
    (commits,) = bench.samples("headrace_commit_seconds_count").values()
    assert batches == commits > 0


def test_a_task_at_rest_has_no_lag_and_says_its_size(bench: Bench) -> None:
    bench.play("saop-order")
    lag = bench.samples("headrace_task_lag_records")
    assert {dict(labels)["topic"] for labels in lag} == INPUTS
    assert set(lag.values()) == {0.0}
    sizes = bench.samples("headrace_store_bytes")
    assert sizes[frozenset({("store", "copies")})] == 7
    assert sizes[frozenset({("store", "0")})] >= 0
    assert bench.samples("headrace_tasks")[frozenset({("state", "ready")})] == 1


def test_a_rule_that_nobody_declared_makes_no_label(bench: Bench) -> None:
    from streams.engine.batch import Batch

    cycle = Batch()
    cycle.effects.verdicts["apc.events", "rejected", "made up"] += 2
    bench.metrics.committed(cycle, 0.0)
    (labels,) = bench.samples("headrace_verdicts_total")
    assert dict(labels)["rule"] == OTHER


class Served:
    """Figures over HTTP, of tasks that stand as the test says."""

    def __init__(self) -> None:
        self.status = WorkerStatus()
        self.metrics = WorkerMetrics(lambda: self.status, RULE_CODES)

    def get(self, url: str) -> tuple[int, str]:
        try:
            with urlopen(url, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as exc:
            return exc.code, exc.read().decode()


@pytest.fixture
def door(caplog: pytest.LogCaptureFixture) -> Iterator[tuple[Served, str]]:
    made = Served()
    with (
        caplog.at_level("INFO", "streams.engine.metrics_server"),
        serve_metrics("127.0.0.1:0", made.metrics, lambda: made.status),
    ):
        yield made, caplog.records[-1].getMessage().split()[-1].removesuffix("/metrics")


def task(partition: int, ready: bool) -> TaskMeasurements:
    return TaskMeasurements(
        partition, ready, {"apc.packets": 3}, 0.0, {"apc.packets": 0.0}, 5, 0.5, 100
    )


def test_what_is_served_is_what_is_declared(door: tuple[Served, str]) -> None:
    made, url = door
    made.status = WorkerStatus([task(0, True)], 0, assigned=True)
    status, text = made.get(f"{url}/metrics")
    exported = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert (status, exported) == (200, {declared.name for declared in ALL})
    assert made.get(f"{url}/healthz")[0] == 200
    assert made.get(f"{url}/other")[0] == 404


def test_a_worker_is_ready_when_all_its_tasks_are(door: tuple[Served, str]) -> None:
    made, url = door
    assert made.get(f"{url}/readyz")[0] == 503
    made.status = WorkerStatus([task(0, True), task(1, False)], 0, assigned=True)
    status, text = made.get(f"{url}/readyz")
    assert (status, json.loads(text)) == (503, {"ready": False, "tasks": [0], "opening": [1]})
    made.status = WorkerStatus([task(0, True), task(1, True)], 0, assigned=True)
    assert made.get(f"{url}/readyz")[0] == 200
    made.status = WorkerStatus([], 0, assigned=True)
    assert made.get(f"{url}/readyz")[0] == 200


def test_it_holds_so_many_connections(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(metrics_server, "_MOST", 2)
    monkeypatch.setattr(metrics_server, "_SILENCE_S", 600)
    made = Served()
    with (
        caplog.at_level("INFO", "streams.engine.metrics_server"),
        serve_metrics("127.0.0.1:0", made.metrics, lambda: made.status),
    ):
        url = caplog.records[-1].getMessage().split()[-1].removesuffix("/metrics")
        place = "127.0.0.1", int(url.rpartition(":")[2])
        with ExitStack() as silent:
            for _ in range(2):
                silent.enter_context(create_connection(place))
            with create_connection(place, 60) as third:
                assert third.recv(1) == b""

        def answers() -> bool:
            with suppress(OSError):
                return made.get(f"{url}/healthz")[0] == 200
            return False

        wait_for(answers, "there is room again", 60)


def test_an_address_that_is_taken_or_none_is_refused(door: tuple[Served, str]) -> None:
    made, url = door
    again = partial(serve_metrics, metrics=made.metrics, standing=lambda: made.status)
    with pytest.raises(AddressTaken, match="HEADRACE_METRICS"), again(url.removeprefix("http://")):
        pass
    with pytest.raises(SettingsError, match="HEADRACE_METRICS is host:port"), again("9464"):
        pass
