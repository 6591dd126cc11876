"""Spans are sent until each is taken or refused, whatever the backend answers."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from streams.doors.otlp.exporter.metrics import ExportMetrics
from streams.doors.otlp.exporter.sender import MAX_RETRIES, Resource, Sender, Sent
from streams.doors.otlp.exporter.spans import ExportedSpan
from streams.settings.otlp_export import ExportSettings
from tests.unit.doors.otlp.exporter.played import played

URL = "http://backend/v1/traces"
RESOURCE = Resource({"service.name": "headrace"}, "1.2.3")
SPANS = played("refusals")[:8]
Answer = Callable[[ExportTraceServiceRequest], httpx.Response]


class Backend:
    """A backend that answers as a function says.  batches: the ids of the spans of each request."""

    def __init__(self, answer: Answer, stop_after: int = 1000, **settings: Any) -> None:
        self.batches: list[list[str]] = []
        self.taken: list[str] = []
        self.pauses: list[float] = []
        self.requests: list[httpx.Request] = []
        self.metrics = ExportMetrics()
        self._answer = answer
        self._stop_after = stop_after
        self.sender = Sender(
            ExportSettings(endpoint=URL, **settings),
            RESOURCE,
            self._wait,
            self.metrics,
            httpx.MockTransport(self._handle),
        )

    def send(self, spans: Sequence[ExportedSpan] = SPANS) -> Sent | None:
        return self.sender.send(spans)

    def _wait(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        return len(self.pauses) >= self._stop_after

    def _handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        body = request.content
        if request.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        message = ExportTraceServiceRequest.FromString(body)
        ids = ids_of(message)
        self.batches.append(ids)
        answer = self._answer(message)
        if answer.status_code == 200:
            self.taken += ids
        return answer


def ids_of(message: ExportTraceServiceRequest) -> list[str]:
    return [span.span_id.hex() for span in message.resource_spans[0].scope_spans[0].spans]


def in_turn(*statuses: int, **headers: str) -> Answer:
    """Answer with these statuses, and then with 200."""
    remaining = list(statuses)

    def answer(message: ExportTraceServiceRequest) -> httpx.Response:
        if remaining:
            return httpx.Response(remaining.pop(0), headers=headers)
        return httpx.Response(200)

    return answer


def refusing(*poison: ExportedSpan, status: int = 400) -> Answer:
    """Refuse each batch that has one of these spans."""
    ids = {span.span_id for span in poison}

    def answer(message: ExportTraceServiceRequest) -> httpx.Response:
        return httpx.Response(status if ids & set(ids_of(message)) else 200)

    return answer


ALL_IDS = [span.span_id for span in SPANS]


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_batch_is_one_request(is_compressed: bool) -> None:
    backend = Backend(in_turn(), is_compressed=is_compressed, headers={"authorization": "Bearer t"})
    assert backend.send() == Sent(exported=len(SPANS))
    (request,) = backend.requests
    assert str(request.url) == URL
    assert request.headers["content-type"] == "application/x-protobuf"
    assert request.headers["authorization"] == "Bearer t"
    assert backend.taken == ALL_IDS


def test_nothing_is_sent_of_no_spans() -> None:
    backend = Backend(in_turn())
    assert backend.send([]) == Sent()
    assert backend.requests == []


@pytest.mark.parametrize("status", [401, 403, 404, 429, 502, 503, 504])
def test_the_same_batch_is_sent_until_the_backend_takes_it(status: int) -> None:
    backend = Backend(in_turn(*[status] * 9))
    assert backend.send() == Sent(exported=len(SPANS))
    assert backend.batches == [ALL_IDS] * 10
    assert len(backend.pauses) == 9


def test_a_backend_says_when_to_come_again() -> None:
    backend = Backend(in_turn(503, **{"retry-after": "5"}))
    backend.send()
    assert backend.pauses == [5.0]


def test_a_backend_that_is_away_gets_the_batch_later() -> None:
    remaining = [httpx.ConnectError("away"), httpx.ReadTimeout("silent")]

    def answer(message: ExportTraceServiceRequest) -> httpx.Response:
        if remaining:
            raise remaining.pop()
        return httpx.Response(200)

    backend = Backend(answer)
    assert backend.send() == Sent(exported=len(SPANS))
    assert backend.batches == [ALL_IDS] * 3


@pytest.mark.parametrize("status", [400, 413])
def test_spans_that_are_refused_do_not_hold_up_the_others(status: int) -> None:
    backend = Backend(refusing(SPANS[2], SPANS[7], status=status))
    assert backend.send() == Sent(exported=6, refused=2)
    assert backend.taken == [ALL_IDS[n] for n in (0, 1, 3, 4, 5, 6)]
    assert backend.pauses == []


def test_an_error_of_the_backend_is_tried_five_times() -> None:
    backend = Backend(refusing(SPANS[0], status=500))
    assert backend.send(SPANS[:1]) == Sent(refused=1)
    assert len(backend.requests) == 1 + MAX_RETRIES


def test_a_backend_may_take_a_batch_in_part() -> None:
    response = ExportTraceServiceResponse()
    response.partial_success.rejected_spans = 3

    backend = Backend(lambda _: httpx.Response(200, content=response.SerializeToString()))
    assert backend.send() == Sent(exported=len(SPANS) - 3, refused=3)


def test_an_answer_of_another_form_counts_as_taken() -> None:
    backend = Backend(lambda _: httpx.Response(200, content=b'{"partialSuccess": {}}'))
    assert backend.send() == Sent(exported=len(SPANS))


def test_it_stops_while_it_waits() -> None:
    backend = Backend(in_turn(*[503] * 9), stop_after=3)
    assert backend.send() is None
    assert backend.taken == []


def test_long_texts_are_cut() -> None:
    backend = Backend(in_turn(), max_value_chars=4)
    backend.send()
    message = ExportTraceServiceRequest.FromString(backend.requests[0].content)
    spans = message.resource_spans[0].scope_spans[0].spans
    texts = {each.value.string_value for span in spans for each in span.attributes}
    assert max(map(len, texts)) == 4


def test_spans_are_counted_by_their_answers() -> None:
    response = ExportTraceServiceResponse()
    response.partial_success.rejected_spans = 2
    partial = httpx.Response(200, content=response.SerializeToString())
    answers = [httpx.Response(400), httpx.Response(503), partial]
    backend = Backend(lambda _: answers.pop(0) if answers else httpx.Response(413))
    backend.send(SPANS[:2])
    backend.send(SPANS[:1])
    read = backend.metrics.registry.get_sample_value
    assert read("headrace_otlp_refused_spans_total", {"status": "413"}) == 2
    assert read("headrace_otlp_refused_spans_total", {"status": "200"}) == 1
    assert read("headrace_otlp_export_seconds_count") == len(backend.requests)


def test_a_probe_is_a_request_without_spans() -> None:
    backend = Backend(in_turn(401))
    assert (backend.sender.probe(), backend.sender.probe()) == (401, 200)
    assert backend.batches == [[], []]
