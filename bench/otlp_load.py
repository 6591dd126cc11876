"""What `bench.otlp` sends, and the backend that it exports to."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import random
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

PER_REQUEST = 510
"""Spans of a request: whole traces of five, about what SDKs send at once."""
PER_TRACE = 5
_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n"
_SENT = "send apc.packets"


def attribute(name: str, value: str | int) -> KeyValue:
    held = AnyValue(int_value=value) if isinstance(value, int) else AnyValue(string_value=value)
    return KeyValue(key=name, value=held)


def traces(count: int, seed: int = 7) -> list[bytes]:
    """Return requests with so many spans: a root and four children, as telemetrygen makes them."""
    return _requests(count, seed, _plain)


def llm_spans(count: int, seed: int = 7) -> list[bytes]:
    """Return requests with so many spans of OpenInference's kind LLM, 1.4 KB each."""
    return _requests(count, seed, _llm)


def _plain(rnd: random.Random, number: int) -> list[KeyValue]:
    return [
        attribute("network.peer.address", "1.2.3.4"),
        attribute("peer.service", "telemetrygen-server" if number % PER_TRACE else "client"),
    ]


def _llm(rnd: random.Random, number: int) -> list[KeyValue]:
    words = [f"word{rnd.randrange(5000)}" for _ in range(80)]
    prompt, answer = " ".join(words[:50]), " ".join(words[50:])
    return [
        attribute("openinference.span.kind", "LLM"),
        attribute("llm.model_name", "example-1"),
        attribute("llm.provider", "example"),
        attribute("llm.input_messages.0.message.role", "user"),
        attribute("llm.input_messages.0.message.content", prompt),
        attribute("llm.output_messages.0.message.role", "assistant"),
        attribute("llm.output_messages.0.message.content", answer),
        attribute("output.value", answer),
        attribute("llm.token_count.prompt", 55),
        attribute("llm.token_count.completion", 35),
        attribute("session.id", f"session-{number // 50}"),
    ]


def _requests(count: int, seed: int, attributes: Any) -> list[bytes]:
    rnd = random.Random(seed)
    bodies, start_ns = [], time.time_ns()
    for first in range(0, count, PER_REQUEST):
        request = ExportTraceServiceRequest()
        resource = request.resource_spans.add()
        resource.resource.attributes.append(attribute("service.name", "telemetrygen"))
        scope = resource.scope_spans.add()
        scope.scope.name = "telemetrygen"
        for number in range(first, min(first + PER_REQUEST, count)):
            if number % PER_TRACE == 0:
                trace, root = rnd.randbytes(16), rnd.randbytes(8)
            is_root = number % PER_TRACE == 0
            scope.spans.append(
                Span(
                    trace_id=trace,
                    span_id=root if is_root else rnd.randbytes(8),
                    parent_span_id=b"" if is_root else root,
                    name="lets-go" if is_root else f"okey-dokey-{number % PER_TRACE}",
                    kind=Span.SpanKind.SPAN_KIND_CLIENT,
                    start_time_unix_nano=start_ns + number,
                    end_time_unix_nano=start_ns + number + 123_000,
                    attributes=attributes(rnd, number),
                )
            )
        bodies.append(request.SerializeToString())
    return bodies


def empty_spans(size: int) -> bytes:
    """Return a request of about so many bytes whose spans have no members: two bytes each."""
    spans = bytes((0x12, 0x00)) * (size // 2 - 16)
    scope = b"\x12" + _varint(len(spans)) + spans
    return b"\x0a" + _varint(len(scope)) + scope


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


class Sink(NamedTuple):
    """A backend of spans that answers at once.  url: what exporters send to."""

    url: str
    pipe: Connection

    def take(self) -> tuple[int, list[float]]:
        """Return how many spans came since the last call, and the age in ms of each command's."""
        self.pipe.send("take")
        spans, ages = self.pipe.recv()
        return spans, ages


@contextlib.contextmanager
def sink() -> Iterator[Sink]:
    """Run the backend as a process of its own, whose CPU is nobody's figure."""
    context = multiprocessing.get_context("spawn")
    pipe, other = context.Pipe()
    process = context.Process(target=_run, args=(other,), daemon=True)
    process.start()
    try:
        yield Sink(f"http://127.0.0.1:{pipe.recv()}", pipe)
    finally:
        process.terminate()
        process.join()


@contextlib.contextmanager
def exported_to(url: str) -> Iterator[None]:
    """Have processes that start meanwhile export their spans there."""
    name = "OTEL_EXPORTER_OTLP_ENDPOINT"
    before = os.environ.get(name)
    os.environ[name] = url
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


def _run(pipe: Connection) -> None:
    asyncio.run(_serve(pipe))


async def _serve(pipe: Connection) -> None:
    arrived: list[tuple[float, bytes]] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                size = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
                arrived.append((time.time() * 1000, await reader.readexactly(size)))
                writer.write(_ANSWER)
                await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    pipe.send(server.sockets[0].getsockname()[1])
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, pipe.recv):
        taken = arrived[:]
        arrived.clear()
        pipe.send(_count(taken))


def _count(taken: list[tuple[float, bytes]]) -> tuple[int, list[float]]:
    count, ages = 0, []
    for at_ms, body in taken:
        request = ExportTraceServiceRequest.FromString(body)
        spans = request.resource_spans[0].scope_spans[0].spans
        count += len(spans)
        ages += [at_ms - span.start_time_unix_nano / 1e6 for span in spans if span.name == _SENT]
    return count, ages
