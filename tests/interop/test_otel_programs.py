"""Programs that others have instrumented export to a real gateway, with one variable set."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.integration.system import Live, live
from tests.integration.test_gateway import got
from tests.interop.maven import HERE
from tests.interop.openai_stub import ANSWER, INPUT_TOKENS, OUTPUT_TOKENS, openai_stub
from tests.interop.python_tools import PythonTools
from tests.processes import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
EXPORTER = "opentelemetry-exporter-otlp-proto-http==1.45.2"
LANGCHAIN = "langchain-core==1.7.2"
OPENINFERENCE = (
    EXPORTER,
    LANGCHAIN,
    "openai==3.51.0",
    "openinference-instrumentation-openai==0.1.66",
    "openinference-instrumentation-langchain==0.1.80",
    "opentelemetry-instrumentation-genai-openai==1.3b0",
)
OPENLLMETRY = (EXPORTER, LANGCHAIN, "opentelemetry-instrumentation-langchain==0.62.4")
TRACE = re.compile(r"^trace ([0-9a-f]{32}) (\d+)$", re.MULTILINE)
SERVICE = "weather-bot"


@pytest.fixture(scope="module")
def lived(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(broker, tmp_path_factory.mktemp("instrumented")) as system:
        yield system


@pytest.fixture(scope="module")
def openinference(tmp_path_factory: pytest.TempPathFactory) -> PythonTools:
    """Return the packages of OpenInference, and of OpenTelemetry's own instrumentation."""
    return PythonTools(tmp_path_factory.mktemp("openinference"), *OPENINFERENCE)


@pytest.fixture(scope="module")
def openllmetry(tmp_path_factory: pytest.TempPathFactory) -> PythonTools:
    """Return those of OpenLLMetry, which needs others than OpenInference."""
    return PythonTools(tmp_path_factory.mktemp("openllmetry"), *OPENLLMETRY)


def spans_of(
    system: Live, tools: PythonTools, program: str, *arguments: str, **environ: str
) -> list[Any]:
    """Run a program, and return its spans once each has its verdict; it has one trace."""
    variables = {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{system.url}/v1/traces",
        "OTEL_SERVICE_NAME": SERVICE,
        **environ,
    }
    script = HERE / "otel" / f"{program}.py"
    ran = tools.run("python", str(script), *arguments, environ=variables)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]
    ((trace, count),) = TRACE.findall(ran.stdout)
    path = f"/v1/otel/traces/{trace}"

    def items(http: httpx.Client) -> list[Any]:
        answer = http.get(path, params={"fresh": "true"})
        return answer.json()["items"] if answer.status_code == 200 else []

    with system.client as http:
        wait_for(lambda: len(items(http)) == int(count), f"{count} spans of {program}")
        return items(http)


def events_of(system: Live, session: str, count: int) -> list[Any]:
    def events(http: httpx.Client) -> list[Any]:
        items: list[Any] = got(http, "/v1/rtes/events", session_id=session, fresh="true")["items"]
        return items

    with system.client as http:
        wait_for(lambda: len(events(http)) >= count, f"{count} events of {session}")
        return events(http)


@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_openais_client_with_openinference(
    lived: Live, openinference: PythonTools, compression: str
) -> None:
    environ = {"OTEL_EXPORTER_OTLP_COMPRESSION": compression}
    with openai_stub() as url:
        (span,) = spans_of(lived, openinference, "openinference_openai", url, **environ)
    assert (span["dialect"], span["type"]) == ("openinference", "model")
    assert (span["session_id"], span["service_name"]) == ("sess-openai", SERVICE)
    assert (span["input_tokens"], span["output_tokens"]) == (INPUT_TOKENS, OUTPUT_TOKENS)
    assert span["model"].startswith("example-1")
    assert span["failed"] is False
    chunks = [each["payload"].get("chunk") for each in events_of(lived, "sess-openai", 1)]
    assert ANSWER in chunks


def test_openais_client_with_opentelemetrys_own_conventions(
    lived: Live, openinference: PythonTools
) -> None:
    environ = {
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
        "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    }
    with openai_stub() as url:
        (span,) = spans_of(lived, openinference, "genai_openai", url, **environ)
    assert (span["dialect"], span["type"]) == ("genai", "model")
    assert (span["model"], span["provider"]) == ("example-1-0125", "openai")
    assert (span["input_tokens"], span["output_tokens"]) == (INPUT_TOKENS, OUTPUT_TOKENS)
    assert span["session_id"] == span["trace_id"] if "trace_id" in span else span["session_id"]
    (event,) = events_of(lived, span["session_id"], 1)
    assert event["payload"]["chunk"] == ANSWER


def check_agent(lived: Live, spans: list[Any], dialect: str) -> None:
    """Check the run of the agent: a task, which has two calls of the model and one of the tool."""
    kinds = [span["type"] for span in spans]
    assert (kinds.count("model"), kinds.count("tool"), kinds.count("task")) == (2, 1, 1), spans
    assert {span["dialect"] for span in spans} == {dialect}
    (tool,) = (span for span in spans if span["type"] == "tool")
    assert tool["tool"] == "get_weather"
    (session,) = {span["session_id"] for span in spans}
    events = events_of(lived, session, 6)
    types = sorted(each["payload"]["type"] for each in events)
    assert types == sorted(
        [
            *["TASK_TRANSITION"] * 2,
            *["THOUGHT_STREAM"] * 2,
            "TOOL_LIFECYCLE_INVOKED",
            "TOOL_LIFECYCLE_COMPLETED",
        ]
    )
    chunks = [each["payload"].get("chunk") for each in events]
    assert {"I will look it up.", ANSWER} <= set(chunks)
    (invoked,) = (each["payload"] for each in events if "INVOKED" in each["payload"]["type"])
    assert "Tallinn" in str(invoked["arguments"])


def test_langchain_with_openinference(lived: Live, openinference: PythonTools) -> None:
    check_agent(lived, spans_of(lived, openinference, "openinference_langchain"), "openinference")


def test_langchain_with_openllmetry(lived: Live, openllmetry: PythonTools) -> None:
    """Check spans that also have OpenTelemetry's own attributes, whose dialect is the first."""
    spans = spans_of(lived, openllmetry, "openllmetry_langchain")
    check_agent(lived, spans, "genai")
