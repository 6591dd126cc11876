"""The variables of OpenTelemetry, as the exporter reads them."""

from __future__ import annotations

from typing import Any

import pytest

from streams.errors import HeadraceError
from streams.settings.otlp_export import ExportSettings, is_on, load

BASE, OF_TRACES = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
URL = "http://collector:4318"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, False),
        ({BASE: ""}, False),
        ({BASE: URL}, True),
        ({OF_TRACES: URL}, True),
        ({BASE: URL, "OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({BASE: URL, "OTEL_TRACES_EXPORTER": "none"}, False),
        ({BASE: URL, "OTEL_SDK_DISABLED": "TRUE"}, False),
        ({BASE: URL, "OTEL_SDK_DISABLED": "no"}, True),
    ],
)
def test_the_export_is_on_where_a_backend_is_named(
    variables: dict[str, str], expected: bool
) -> None:
    assert is_on(variables) is expected


def test_defaults_are_those_of_the_guide() -> None:
    settings = load({BASE: f"{URL}/"})
    assert settings == ExportSettings(endpoint=f"{URL}/v1/traces")
    assert (settings.batch_spans, settings.delay_s, settings.timeout_s) == (512, 1.0, 10.0)


@pytest.mark.parametrize(
    ("variables", "member", "expected"),
    [
        ({OF_TRACES: f"{URL}/spans"}, "endpoint", f"{URL}/spans"),
        ({"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"}, "is_compressed", True),
        ({"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "250"}, "timeout_s", 0.25),
        (
            {"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20a%3D, x=1"},
            "headers",
            {"authorization": "Bearer a=", "x": "1"},
        ),
        (
            {"OTEL_EXPORTER_OTLP_HEADERS": "x=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "x=2"},
            "headers",
            {"x": "2"},
        ),
        ({"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "7"}, "batch_spans", 7),
        ({"OTEL_BSP_SCHEDULE_DELAY": "0"}, "delay_s", 0.0),
        ({"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "12"}, "max_value_chars", 12),
        ({}, "sampler", "parentbased_always_on"),
        ({"OTEL_TRACES_SAMPLER": "Always_Off"}, "sampler", "always_off"),
        ({"OTEL_TRACES_SAMPLER_ARG": "0.1"}, "sampler_argument", "0.1"),
    ],
)
def test_a_variable_sets_its_member(variables: dict[str, str], member: str, expected: Any) -> None:
    assert getattr(load({BASE: URL, **variables}), member) == expected


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({BASE: ""}, "otlp_endpoint"),
        ({"OTEL_SDK_DISABLED": "true"}, "otlp_endpoint"),
        ({BASE: "collector:4318"}, "otlp_endpoint"),
        ({BASE: "http://[::1"}, "otlp_endpoint"),
        ({BASE: "http://collector:99999"}, "otlp_endpoint"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "otlp_protocol"),
        ({"OTEL_EXPORTER_OTLP_COMPRESSION": "zstd"}, "settings_error"),
        ({"OTEL_EXPORTER_OTLP_CLIENT_KEY": "key.pem"}, "settings_error"),
        ({"OTEL_EXPORTER_OTLP_TIMEOUT": "0"}, "settings_error"),
        ({"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "many"}, "settings_error"),
        ({"OTEL_EXPORTER_OTLP_HEADERS": "secret-token"}, "settings_error"),
        ({"OTEL_EXPORTER_OTLP_HEADERS": "x=secret-token%0A"}, "settings_error"),
        ({"OTEL_EXPORTER_OTLP_HEADERS": "a b=secret-token"}, "settings_error"),
    ],
)
def test_what_cannot_be_used_is_named_without_its_secrets(
    variables: dict[str, str], code: str
) -> None:
    with pytest.raises(HeadraceError) as caught:
        load({BASE: URL, **variables})
    assert (caught.value.code, caught.value.exit_code) == (code, 2)
    assert "secret-token" not in str(caught.value)


def test_secret_headers_are_not_shown() -> None:
    settings = load({BASE: URL, "OTEL_EXPORTER_OTLP_HEADERS": "x=secret-token"})
    assert "secret-token" not in repr(settings)
