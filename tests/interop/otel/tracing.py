"""What an instrumented program has of its own: a provider that exports, and where its traces are.

The address, the compression and the name of the service come from OpenTelemetry's variables.
"""

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


class TraceIds(SpanProcessor):
    """Prints the id of each trace, and how many spans it has, at the end."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def on_end(self, span: ReadableSpan) -> None:
        trace_id = span.get_span_context().trace_id
        self._counts[trace_id] = self._counts.get(trace_id, 0) + 1

    def shutdown(self) -> None:
        for trace_id, count in self._counts.items():
            print(f"trace {trace_id:032x} {count}")


def make_provider() -> TracerProvider:
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    provider.add_span_processor(TraceIds())
    return provider
