"""Resources and samplers follow the variables of OpenTelemetry."""

from __future__ import annotations

import pytest

from streams.doors.otlp.exporter.sdk import resource_attributes, sampler
from streams.errors import SettingsError
from tests.unit.doors.otlp.exporter.played import played

SPANS = played("five-protocols")
PARENTLESS = [span for span in SPANS if span.flags is None]
SAMPLED = [span._replace(flags=1) for span in SPANS]
UNSAMPLED = [span._replace(flags=0) for span in SPANS]
Expected = tuple[bool, bool, bool]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("always_on", (True, True, True)),
        ("always_off", (False, False, False)),
        ("parentbased_always_on", (True, True, False)),
        ("parentbased_always_off", (False, True, False)),
    ],
)
def test_a_sampler_decides(name: str, expected: Expected) -> None:
    """Compare derived traces, those that a client sampled, and those that it did not."""
    is_sampled = sampler(name, "")
    decisions = ({is_sampled(span) for span in spans} for spans in (PARENTLESS, SAMPLED, UNSAMPLED))
    assert tuple(decisions) == tuple({each} for each in expected)


@pytest.mark.parametrize("name", ["traceidratio", "parentbased_traceidratio"])
def test_a_ratio_takes_whole_traces(name: str) -> None:
    is_sampled = sampler(name, "0.5")
    decisions: dict[str, set[bool]] = {}
    for span in PARENTLESS:
        decisions.setdefault(span.trace_id, set()).add(is_sampled(span))
    assert {len(each) for each in decisions.values()} == {1}
    assert set().union(*decisions.values()) == {True, False}


@pytest.mark.parametrize(
    ("name", "argument"), [("jaeger_remote", ""), ("traceidratio", "2"), ("traceidratio", "half")]
)
def test_another_sampler_is_refused(name: str, argument: str) -> None:
    with pytest.raises(SettingsError, match="OTEL_TRACES_SAMPLER"):
        sampler(name, argument)


def test_a_resource_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    attributes = resource_attributes({"service.version": "1.2.3"})
    assert attributes["service.name"] == "headrace"
    assert attributes["service.version"] == "1.2.3"
    assert attributes["deployment.environment.name"] == "test"
    monkeypatch.setenv("OTEL_SERVICE_NAME", "governance")
    assert resource_attributes({})["service.name"] == "governance"
