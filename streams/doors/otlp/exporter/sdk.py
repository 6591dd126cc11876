"""Resources and samplers of OpenTelemetry's SDK, in the only module that imports it.

Resources read the variables that OpenTelemetry specifies for them.  Source: OTel guide, 10.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streams.doors.otlp.exporter.spans import ExportedSpan
from streams.errors import SettingsError, needs_extra

with needs_extra("otel", "headrace export otlp"):
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import sampling

_PARENT_BASED = "parentbased_"
_SAMPLED = 1
_UNNAMED = "unknown_service"


def resource_attributes(more: Mapping[str, str]) -> dict[str, str | int]:
    """Return the attributes of the resource: those of the environment, and more."""
    attributes = {
        name: value if isinstance(value, str | int) else str(value)
        for name, value in Resource.create(dict(more)).attributes.items()
    }
    if str(attributes.get(SERVICE_NAME, _UNNAMED)).startswith(_UNNAMED):
        attributes[SERVICE_NAME] = "headrace"
    return attributes


def sampler(name: str, argument: str) -> Callable[[ExportedSpan], bool]:
    """Return the function that says which spans are exported.

    name, argument: as in OpenTelemetry's variables.  With a name that begins with `parentbased_`
    the flags of a client decide, and where it sent none, the sampler that is named behind it.
    Raises SettingsError.
    """
    follows_parent = name.startswith(_PARENT_BASED)
    root = _root(name.removeprefix(_PARENT_BASED), argument)

    def is_sampled(span: ExportedSpan) -> bool:
        if follows_parent and span.flags is not None:
            return bool(span.flags & _SAMPLED)
        decision = root.should_sample(None, int(span.trace_id, 16), span.name).decision
        return decision is sampling.Decision.RECORD_AND_SAMPLE

    return is_sampled


def _root(name: str, argument: str) -> sampling.Sampler:
    """Return the sampler of spans without a parent.  Raises SettingsError."""
    match name:
        case "always_on":
            return sampling.ALWAYS_ON
        case "always_off":
            return sampling.ALWAYS_OFF
        case "traceidratio":
            return sampling.TraceIdRatioBased(_ratio(argument))
    message = (
        "OTEL_TRACES_SAMPLER is always_on, always_off or traceidratio, or parentbased_ and one"
    )
    raise SettingsError(message)


def _ratio(text: str) -> float:
    """Parse the share of traces, 1 if there is none.  Raises SettingsError."""
    try:
        ratio = float(text or "1")
    except ValueError:
        ratio = -1.0
    if not 0 <= ratio <= 1:
        raise SettingsError(f"OTEL_TRACES_SAMPLER_ARG is a number from 0 to 1, not {text!r}")
    return ratio
