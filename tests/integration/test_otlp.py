"""OpenTelemetry's own SDK exports to a real gateway, worker and Kafka."""

from __future__ import annotations

import uuid

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode

from tests.integration.system import Live
from tests.integration.test_gateway import got
from tests.processes import wait_for

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.mark.parametrize("compression", [Compression.Gzip, Compression.NoCompression])
def test_spans_of_the_sdk_become_a_session(system: Live, compression: Compression) -> None:
    session = f"s-{uuid.uuid4().hex[:8]}"
    provider = TracerProvider(resource=Resource.create({"service.name": "weather-bot"}))
    exporter = OTLPSpanExporter(endpoint=f"{system.url}/v1/traces", compression=compression)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("a library")
    agent_attributes = {"openinference.span.kind": "AGENT", "session.id": session}
    tool_attributes = {"openinference.span.kind": "TOOL", "input.value": f'{{"key": "{SECRET}"}}'}
    with tracer.start_as_current_span("weather_agent", attributes=agent_attributes) as agent:
        with tracer.start_as_current_span("get_weather", attributes=tool_attributes) as tool:
            tool.set_status(Status(StatusCode.ERROR, "no answer"))
            tool.set_attribute("error.type", "ReadTimeout")
        trace = f"{agent.get_span_context().trace_id:032x}"
    assert provider.force_flush()
    provider.shutdown()
    with system.client as http:
        path = f"/v1/otel/traces/{trace}"
        wait_for(lambda: http.get(path).status_code == 200, "the verdict on a span")
        while len(items := got(http, path, fresh="true")["items"]) < 2:
            pass
        assert [(item["name"], item["type"], item["failed"]) for item in items] == [
            ("weather_agent", "task", False),
            ("get_weather", "tool", True),
        ]
        assert {item["session_id"] for item in items} == {session}
        assert SECRET not in str(items)
        events = got(http, "/v1/rtes/events", session_id=session, fresh="true")["items"]
        while len(events) < 4:
            events = got(http, "/v1/rtes/events", session_id=session, fresh="true")["items"]
        statuses = [event["payload"].get("status") for event in events]
        assert statuses.count("timeout") == 1
