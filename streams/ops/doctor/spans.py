"""The check of the backend of spans, where OpenTelemetry's variables name one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from streams.errors import HeadraceError
from streams.ops.doctor.findings import Check, fail, failed, ok
from streams.settings import Settings, otlp_export
from streams.settings.composed import environment_without
from streams.settings.service import PREFIX

NAME = "spans"


def backend(settings: Settings) -> Iterator[Check]:
    """Ask the backend with a request that has no spans; nothing where the export is off."""
    variables = environment_without(PREFIX)
    if not otlp_export.is_on(variables):
        return
    try:
        yield _ask(otlp_export.load(variables))
    except HeadraceError as exc:
        yield failed(NAME, exc)


def _ask(settings: otlp_export.ExportSettings) -> Check:
    """Return what the backend says.  Raises ExtraMissing, SettingsError."""
    from streams.doors.otlp.exporter.sender import ADVICE, Resource, Sender

    with closing(Sender(settings, Resource({}, ""), lambda seconds: True)) as sender:
        status = sender.probe()
    if status is None:
        advice = "Start the backend, or correct OTEL_EXPORTER_OTLP_ENDPOINT."
        return fail(NAME, "the backend of spans does not answer", advice)
    if 200 <= status < 300:
        return ok(NAME, f"the backend of spans answers {status}")
    advice = ADVICE.get(status, "see the log of the backend")
    return fail(NAME, f"the backend of spans answers {status}", f"{advice[0].upper()}{advice[1:]}.")
