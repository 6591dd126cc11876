"""A collector that others wrote stands between: agents and headrace, headrace and a backend."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from schemas import decode
from tests.integration.system import Live, live
from tests.integration.test_otlp_export import ids_of, send_turns, serving, start
from tests.interop.go_tools import GoTool
from tests.interop.maven import HERE
from tests.processes import wait_for
from topology.otel import OTEL_EVENTS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
TRACES, CHILDREN = 400, 4
BUILD_LIMIT_S = 900
GENERATOR = "github.com/open-telemetry/opentelemetry-collector-contrib/cmd/telemetrygen"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> GoTool:
    folder = tmp_path_factory.mktemp("collector")
    return GoTool(".", folder, HERE / "collector", limit_s=BUILD_LIMIT_S)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def collector(program: GoTool, folder: Path, target: str) -> Iterator[str]:
    """Run a collector that sends to a target what it receives; yield its own address.

    It keeps what cannot be sent, as deploy/otel-collector/config.yaml has it.
    """
    port, file = free_port(), folder / "collector.yaml"
    config = {
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
        "exporters": {
            "otlp_http": {
                "endpoint": target,
                "retry_on_failure": {"max_elapsed_time": "0s", "initial_interval": "100ms"},
                "sending_queue": {"queue_size": 10_000},
            }
        },
        "service": {
            "telemetry": {"metrics": {"level": "none"}},
            "pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["otlp_http"]}},
        },
    }
    file.write_text(yaml.safe_dump(config))
    with (folder / "collector.log").open("wb") as output:
        process = subprocess.Popen(
            [*program.command, "--config", f"file:{file}"], stdout=output, stderr=output
        )
        try:
            wait_for(lambda: is_listening(port), "the collector listens")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


def is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def send_traces(url: str) -> set[tuple[str, str]]:
    """Send traces with OpenTelemetry's SDK; return the ids of all spans."""
    provider = TracerProvider(resource=Resource.create({"service.name": "weather-bot"}))
    exporter = OTLPSpanExporter(endpoint=f"{url}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=100_000))
    tracer, ids = provider.get_tracer("a library"), set()
    for _ in range(TRACES):
        with tracer.start_as_current_span("lets-go") as root:
            spans = [root]
            for number in range(CHILDREN):
                with tracer.start_as_current_span(f"okey-dokey-{number}") as span:
                    spans.append(span)
        for span in spans:
            context = span.get_span_context()
            ids.add((f"{context.trace_id:032x}", f"{context.span_id:016x}"))
    assert provider.force_flush(60_000)
    provider.shutdown()
    return ids


def accepted(system: Live) -> Counter[tuple[str, str]]:
    """Count the spans on the log that were accepted."""
    from streams.log.reading import partitions, records

    tps = partitions(system.log, [system.prefix + OTEL_EVENTS.name])
    facts = [
        decode(record.value, OTEL_EVENTS.record or "").value for record in records(system.log, tps)
    ]
    return Counter(
        (fact["trace_id"], fact["span_id"]) for fact in facts if fact["verdict"] == "accepted"
    )


def test_no_span_of_agents_is_lost_while_a_gateway_is_killed(
    broker: str, tmp_path: Path, program: GoTool
) -> None:
    port = free_port()
    listen = ("--listen", f"127.0.0.1:{port}")
    with live(broker, tmp_path) as system:
        gateway = system.start_gateway(*listen)
        with collector(program, tmp_path, f"http://127.0.0.1:{port}") as url:
            sent: list[set[tuple[str, str]]] = []
            sender = threading.Thread(target=lambda: sent.append(send_traces(url)))
            sender.start()
            wait_for(lambda: bool(accepted(system)), "the first spans are recorded")
            gateway.kill()
            sender.join()
            system.start_gateway(*listen)
            (ids,) = sent
            wait_for(lambda: len(accepted(system)) >= len(ids), "all spans are recorded")
        counts = accepted(system)
        assert set(counts) == ids
        assert set(counts.values()) == {1}


def test_each_span_of_opentelemetrys_own_generator_is_recorded_once(
    broker: str, tmp_path: Path
) -> None:
    generator = GoTool(GENERATOR, tmp_path, HERE / "telemetrygen", limit_s=BUILD_LIMIT_S)
    with live(broker, tmp_path) as system:
        options = ["--otlp-http", "--otlp-insecure", "--otlp-endpoint", system.url[7:]]
        load = ["--traces", str(TRACES), "--child-spans", str(CHILDREN), "--rate", "0"]
        ran = generator.run("traces", *options, *load, cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr[-3000:]
        count = TRACES * (1 + CHILDREN)
        wait_for(lambda: len(accepted(system)) >= count, "all spans are recorded")
        counts = accepted(system)
    assert (len(counts), set(counts.values())) == (count, {1})
    assert set(Counter(trace for trace, _ in counts).values()) == {1 + CHILDREN}


def test_spans_of_records_come_to_a_backend_behind_it(
    broker: str, tmp_path: Path, program: GoTool
) -> None:
    with live(broker, tmp_path) as system, serving() as backend:
        send_turns(system, "task-a")
        with collector(program, tmp_path, backend.url) as url:
            process = start(system, url, "--from", "earliest", "--until-end")
            assert process.exit_code() == 0, process.text()
            exported = int(process.text().partition("exported ")[2].split()[0])
            wait_for(lambda: len(ids_of(backend)) == exported, "the backend has each span")


def test_its_own_configuration_is_one_that_the_collector_takes(
    tmp_path: Path, program: GoTool
) -> None:
    """Check the pipelines of traces; those of metrics and logs need receivers of others."""
    config: Any = yaml.safe_load(
        (HERE.parents[1] / "deploy/otel-collector/config.yaml").read_text()
    )
    pipelines = config["service"]["pipelines"]
    for name in ("metrics", "logs"):
        for receiver in pipelines.pop(name)["receivers"]:
            del config["receivers"][receiver]
    text = yaml.safe_dump(config).replace("${env:BACKEND}", "http://127.0.0.1:4318")
    file = tmp_path / "config.yaml"
    file.write_text(text.replace("${env:HEADRACE_TOKEN}", "t"))
    ran = program.run("validate", "--config", f"file:{file}", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert httpx.URL(config["exporters"]["otlp_http/headrace"]["endpoint"]).host == "gateway"
