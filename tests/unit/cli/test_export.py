"""Test what `headrace export` says without its extras, and without a backend of spans."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main


def test_without_pyarrow_it_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for name in ("export", "columns"):
        monkeypatch.delitem(sys.modules, f"streams.analytics.{name}", raising=False)
    result = CliRunner().invoke(main, ["export", "parquet", "--into", str(tmp_path / "lake")])
    assert result.exit_code == 2
    assert result.stderr.startswith("headrace: extra_missing: headrace export parquet needs")
    assert "pip install 'headrace[analytics]'" in result.stderr
    assert not (tmp_path / "lake").exists()


def test_without_the_sdk_the_export_of_spans_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    for name in ("export", "sdk"):
        monkeypatch.delitem(sys.modules, f"streams.doors.otlp.exporter.{name}", raising=False)
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    result = CliRunner().invoke(main, ["export", "otlp"], env=variables)
    assert result.exit_code == 2
    assert result.stderr.startswith("headrace: extra_missing: headrace export otlp needs")
    assert "pip install 'headrace[otel]'" in result.stderr


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({}, "otlp_endpoint"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "true"}, "otlp_endpoint"),
        (
            {
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c",
                "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc",
            },
            "otlp_protocol",
        ),
    ],
)
def test_spans_go_nowhere_by_default(variables: dict[str, str], code: str) -> None:
    result = CliRunner().invoke(main, ["export", "otlp"], env=variables)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"headrace: {code}: ")


def test_the_name_of_a_group_is_short_and_plain() -> None:
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    result = CliRunner().invoke(main, ["export", "otlp", "--group", "a b"], env=variables)
    assert result.exit_code == 2
    assert "letters, digits" in result.stderr
