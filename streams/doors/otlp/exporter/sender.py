"""Sending spans to a backend until each is taken or refused.

Source: OTel guide, 10.2.
"""

from __future__ import annotations

import gzip
import logging
import random
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import httpx

from streams.doors.otlp.exporter.metrics import ExportMetrics
from streams.doors.otlp.exporter.request import request_of
from streams.doors.otlp.exporter.retries import Action, action_of, pause_s
from streams.doors.otlp.exporter.spans import ExportedSpan
from streams.doors.otlp.protobuf import DecodeError, ExportTraceServiceResponse
from streams.errors import SettingsError
from streams.settings.otlp_export import ExportSettings
from streams.telemetry.logs import fields

log = logging.getLogger(__name__)

MAX_RETRIES = 5
_ADVISE_EVERY_S = 60.0
ADVICE: Mapping[int, str] = {
    401: "it needs a token: set OTEL_EXPORTER_OTLP_HEADERS",
    403: "the token may not send spans: see OTEL_EXPORTER_OTLP_HEADERS",
    404: "it has no such path: see OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
}


class Sent(NamedTuple):
    """The numbers of spans that the backend has taken and refused."""

    exported: int = 0
    refused: int = 0

    def plus(self, other: Sent) -> Sent:
        return Sent(self.exported + other.exported, self.refused + other.refused)


class Resource(NamedTuple):
    """The sender of spans: the attributes of its resource, and the version of headrace."""

    attributes: Mapping[str, str | int]
    version: str


class _Delivery(NamedTuple):
    """The answer to one batch, which the backend has taken or refused."""

    is_taken: bool
    answer: httpx.Response


class Sender:
    """The client of one backend.

    wait: waits so many seconds, and returns whether to stop.  metrics: count what is answered.
    transport: instead of the network.
    """

    def __init__(
        self,
        settings: ExportSettings,
        resource: Resource,
        wait: Callable[[float], bool],
        metrics: ExportMetrics | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._settings = settings
        self._resource = resource
        self._wait = wait
        self._metrics = metrics or ExportMetrics()
        self._advised_s: float | None = None
        # Only the settings read the environment, so no proxy is taken from there.
        self._http = httpx.Client(
            timeout=settings.timeout_s,
            verify=_tls(settings),
            transport=transport,
            trust_env=False,
        )

    def close(self) -> None:
        self._http.close()

    def probe(self) -> int | None:
        """Return the status of the answer to a request without spans, None without an answer."""
        answer = self._post(self._encode(()))
        return None if answer is None else answer.status_code

    def send(self, spans: Sequence[ExportedSpan]) -> Sent | None:
        """Send spans, in their order; return None if it was stopped before all were answered.

        The backend refuses a batch as a whole; so it is halved down to the spans that are at fault,
        and the others are taken.
        """
        sent = Sent()
        batches = [spans] if spans else []
        while batches:
            batch = batches.pop()
            delivery = self._deliver(batch)
            if delivery is None:
                return None
            if delivery.is_taken:
                sent = sent.plus(self._taken(batch, delivery.answer))
            elif len(batch) == 1:
                status = delivery.answer.status_code
                _log_refusal(batch[0], status)
                self._metrics.count_refused(status, 1)
                sent = sent.plus(Sent(refused=1))
            else:
                middle = len(batch) // 2
                batches += [batch[middle:], batch[:middle]]
        return sent

    def _deliver(self, spans: Sequence[ExportedSpan]) -> _Delivery | None:
        """Send one batch until it is taken or refused; return None if it was stopped before."""
        body = self._encode(spans)
        attempt = 0
        while True:
            answer = self._post(body)
            if answer is not None:
                action = action_of(answer.status_code)
                is_spent = action is Action.RETRY and attempt == MAX_RETRIES
                if is_spent or action in (Action.DONE, Action.SPLIT):
                    return _Delivery(action is Action.DONE, answer)
                if action is Action.ADVISE:
                    self._advise(answer.status_code)
            retry_after = None if answer is None else answer.headers.get("retry-after")
            if self._wait(pause_s(attempt, retry_after, time.time(), random.random())):
                return None
            attempt += 1

    def _encode(self, spans: Sequence[ExportedSpan]) -> bytes:
        limit = self._settings.max_value_chars
        request = request_of(spans, self._resource.attributes, self._resource.version, limit)
        body = request.SerializeToString()
        return gzip.compress(body, mtime=0) if self._settings.is_compressed else body

    def _post(self, body: bytes) -> httpx.Response | None:
        """Return the answer, None if there is none."""
        headers = {**self._settings.headers, "content-type": "application/x-protobuf"}
        if self._settings.is_compressed:
            headers["content-encoding"] = "gzip"
        started_s = time.perf_counter()
        try:
            answer = self._http.post(self._settings.endpoint, content=body, headers=headers)
        except httpx.HTTPError as exc:
            log.warning("the backend of spans does not answer: %s", type(exc).__name__)
            return None
        self._metrics.observe_request(time.perf_counter() - started_s)
        return answer

    def _taken(self, spans: Sequence[ExportedSpan], answer: httpx.Response) -> Sent:
        sent = _taken(spans, answer)
        self._metrics.count_exported(sent.exported)
        if sent.refused:
            self._metrics.count_refused(answer.status_code, sent.refused)
        return sent

    def _advise(self, status: int) -> None:
        """Log what a person has to change, once a minute."""
        now_s = time.monotonic()
        if self._advised_s is None or now_s - self._advised_s >= _ADVISE_EVERY_S:
            self._advised_s = now_s
            log.error("the backend of spans answers %d: %s", status, ADVICE[status])


def _tls(settings: ExportSettings) -> ssl.SSLContext:
    """Return the context of TLS.  Raises SettingsError for a file that cannot be used."""
    try:
        context = ssl.create_default_context(cafile=settings.certificate)
        if settings.client_certificate is not None:
            context.load_cert_chain(settings.client_certificate, settings.client_key)
    except (OSError, ssl.SSLError) as exc:
        message = f"a certificate or key of OpenTelemetry's variables cannot be used: {exc}"
        raise SettingsError(message) from exc
    return context


def _taken(spans: Sequence[ExportedSpan], answer: httpx.Response) -> Sent:
    """Count the spans of a batch that was taken, but for those that the answer names as refused."""
    response = ExportTraceServiceResponse()
    try:
        response.ParseFromString(answer.content)
    except DecodeError:  # some backends answer in JSON, or not at all
        return Sent(exported=len(spans))
    partial = response.partial_success
    if partial.error_message or partial.rejected_spans:
        log.warning("the backend of spans says: %s", partial.error_message)
    refused = min(max(0, partial.rejected_spans), len(spans))
    return Sent(len(spans) - refused, refused)


def _log_refusal(span: ExportedSpan, status: int) -> None:
    extra = fields(position=span.position, status=status)
    log.error("the backend refuses the span %s of %s", span.name, span.position, extra=extra)
