"""The client on Kafka itself: what the gateway does, done in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, aclosing
from functools import partial
from typing import Any, TypeVar

from streams.client.follower import Follower, Source
from streams.client.kept_view import KeptView, asked_of
from streams.client.outbox import RecordEncoder
from streams.client.summit_kafka import KafkaSummitTransport
from streams.client.transport import Following, ProduceRequest, Step
from streams.client.values import parcel_of
from streams.engine.kafka import KafkaLog
from streams.engine.records import Output, Record, position
from streams.errors import UsageError
from streams.log.connecting import connect
from streams.registry.binding import COMMAND_S, use_registry
from streams.settings import Settings
from streams.views.parse import parse_position
from streams.views.positions import ViewBehind
from streams.views.reads import ReadOnlyStore
from topology import topics

T = TypeVar("T")


class KafkaTransport:
    """The transport on Kafka.

    It uses two threads, one to check and send, one for the view, and one more for each tail.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._sender = ThreadPoolExecutor(1, "headrace-send")
        self._viewer = ThreadPoolExecutor(1, "headrace-view")
        self._outbox = RecordEncoder(settings, _now_ms)
        self._log: KafkaLog | None = None
        self._view: KeptView | None = None
        self._desk: KafkaSummitTransport | None = None
        self._registry = ExitStack()

    async def open(self) -> None:
        await self._in(self._sender, self._connect)

    def _connect(self) -> None:
        self._log = connect(self._settings)
        self._view = KeptView(self._log, self._settings, _now_ms)
        self._registry.enter_context(use_registry(self._settings, COMMAND_S))

    async def send(self, parcel: ProduceRequest) -> list[str]:
        written: Future[list[Record]] = await self._in(self._sender, self._submit, parcel)
        return [position(record) for record in await asyncio.wrap_future(written)]

    def _submit(self, parcel: ProduceRequest) -> Future[list[Record]]:
        """Records of several sends share the batches of the Kafka client."""
        assert self._log is not None
        return self._log.submit(self._outbox.outputs(parcel))

    async def follow(self, what: Following) -> AsyncGenerator[Step, None]:
        if what.topic not in topics.BY_NAME:
            raise UsageError(
                f"{what.topic} is not a topic of headrace",
                advice=f"Topics: {', '.join(topics.BY_NAME)}.",
            )
        assert self._log is not None
        source = Source(self._log, topics.BY_NAME[what.topic], self._settings.prefix, what)
        async with aclosing(Follower(source).steps()) as steps:
            async for step in steps:
                yield step

    async def query(self, path: str, query: str) -> Any:
        request, view = asked_of(path, query), self._view
        assert view is not None
        return await self._read_view(partial(view.answer, request), request.after is not None)

    async def read(self, look: Callable[[ReadOnlyStore], T], after: str | None = None) -> T:
        """Return what `look` reads from the client's own view; raises what `query` raises."""
        view = self._view
        assert view is not None
        position = None if after is None else parse_position(after)
        return await self._read_view(partial(view.read, look, position), position is not None)

    async def _read_view(self, ask: Callable[[float], T], waits: bool) -> T:
        """Read from the view until there is a result or the time limit has passed.

        ask: takes the time that it may wait.  waits: whether it waits for a position, and not only
        for other reads to finish.
        """
        deadline = time.monotonic() + self._settings.gateway_wait_s
        while True:
            left_s = max(0.0, deadline - time.monotonic())
            try:
                result: T = await self._in(self._viewer, ask, left_s)
                return result
            except ViewBehind:
                if not waits or time.monotonic() >= deadline:
                    raise

    def summit(self) -> KafkaSummitTransport:
        if self._desk is None:
            assert self._log is not None
            settings = self._settings
            wait_s = settings.summit_wait_s
            self._desk = KafkaSummitTransport(self._log, settings.prefix, wait_s, self._put, self)
        return self._desk

    async def _put(
        self, topic: str, key: str, value: dict[str, Any] | None, traceparent: str | None
    ) -> str:
        if value is not None:
            return (await self.send(parcel_of(topic, [value], False, traceparent)))[0]
        assert self._log is not None
        null = Output(self._settings.prefix + topic, key.encode(), None)
        written = await asyncio.wrap_future(self._log.submit([null]))
        return position(written[0])

    async def close(self) -> None:
        if self._desk is not None:
            await self._desk.close()
        if self._view is not None:
            await self._in(self._viewer, self._view.close)
        if self._log is not None:
            await self._in(self._sender, self._log.close)
        self._registry.close()
        self._viewer.shutdown()
        self._sender.shutdown()

    async def _in(self, executor: ThreadPoolExecutor, function: Any, *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(executor, function, *arguments)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
