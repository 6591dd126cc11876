"""Calls of Summit over Kafka itself: what comes of them is followed on the log, without a view."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from schemas import summit
from schemas.summit.words import COMPLETED, TERMINAL
from streams.api.jsonrpc import build_request
from streams.client.summit_transport import rejection
from streams.client.summit_watch import News, RunWatcher
from streams.engine.log import Log
from streams.engine.records import TopicPartition
from streams.errors import Gone
from streams.log.fetching import records_of
from streams.log.reading import records
from streams.log.record_json import value_json
from streams.summit.errors import CallRejected, RunPending, VerdictPending
from streams.summit.rpc.errors import RpcError
from streams.summit.rpc.host import Reader
from streams.summit.rpc.queries import answer
from streams.summit.rpc.requests import parse_requests
from topology.declarations import Topic
from topology.keys import partition_of
from topology.summit import SUMMIT_CALLS, SUMMIT_REPLIES, SUMMIT_RUNS
from topology.topics import full_name

Json = dict[str, Any]
Send = Callable[[str, str, Json | None, str | None], Awaitable[str]]
"""Puts a value, or null, on a topic: name, key, value, trace context; its position."""


class KafkaSummitTransport:
    """The transport that sends Summit calls to Kafka.

    reading: the context manager of the client's own view.
    """

    def __init__(
        self,
        log: Log,
        prefix: str,
        wait_s: float,
        send: Send,
        reading: Reader,
    ) -> None:
        self._log, self._prefix, self._send, self._reading = log, prefix, send, reading
        self.wait_s = wait_s
        self._watch: asyncio.Future[RunWatcher] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def _watching(self) -> RunWatcher:
        """Shielded: one who gives up while it opens leaves it to the others, and to `close`."""
        async with self._one_at_a_time:
            if self._watch is not None and _is_over(self._watch):
                await self.close()
            if self._watch is None:
                opening = asyncio.to_thread(RunWatcher, self._log, self._prefix)
                self._watch = asyncio.ensure_future(opening)
            return await asyncio.shield(self._watch)

    async def close(self) -> None:
        opened, self._watch = self._watch, None
        if opened is not None:
            await asyncio.wait({opened})
            if not opened.cancelled() and opened.exception() is None:
                await asyncio.to_thread(opened.result().close)

    async def send_command(self, topic: str, key: str, value: Json | None, wait_s: float) -> Json:
        watch = await self._watching()
        with watch.of(key) as news:
            position = await self._send(topic, key, value, None)
            try:
                async with asyncio.timeout(_limit(wait_s)):
                    while True:
                        _, event = await _next(news)
                        if event.get("eventId") == _verdict_on(position):
                            return event
            except TimeoutError:
                raise VerdictPending(position) from None

    async def ended(self, call: Json, wait_s: float, traceparent: str | None) -> Json:
        run_id, watch = call["params"]["runId"], await self._watching()
        with watch.of(run_id) as news:
            position = await self._send(SUMMIT_CALLS.name, run_id, call, traceparent)
            following = _Following(run_id, position)
            try:
                async with asyncio.timeout(_limit(wait_s)):
                    return await self._followed(following, news)
            except TimeoutError:
                raise RunPending(run_id, following.status, position) from None

    async def _followed(self, following: _Following, news: News) -> Json:
        while True:
            if following.take(*await _next(news)):  # of a run that may have ended before
                row = await asyncio.to_thread(self._past, following.run_id)
                following.status = row["state"] if row else None
                if row and row["state"] in TERMINAL:
                    return await asyncio.to_thread(self._result, row)
            if (result := following.result()) is not None:
                return result

    def _past(self, run_id: str) -> Json | None:
        """Return the latest row of a run, as of the end offsets at the call."""
        name = full_name(SUMMIT_RUNS, self._prefix)
        tp = TopicPartition(name, self._partition(name, run_id))
        latest, ends = None, self._log.high_watermarks([tp])
        for record in records(self._log, [tp], ends):
            latest = record if record.key == run_id.encode() else latest
        return None if latest is None else value_json(SUMMIT_RUNS, latest)

    def _partition(self, name: str, run_id: str) -> int:
        return partition_of(run_id.encode(), self._log.topics()[name].partitions)

    def _result(self, row: Json) -> Json:
        """Return the RunResult, with the output of the reply that the run's evidence names."""
        output: Any = summit.ABSENT
        if row["state"] == COMPLETED:
            output = self._reply(row["evidence"]["replyPosition"])["output"]
        call_result: Json = summit.call_result(row, output)
        return call_result

    def _reply(self, position: str) -> Json:
        record = records_of(self._log)(position)
        if record is None:
            raise Gone(
                f"the reply at {position} is not on the log any more",
                advice="The run has ended; its evidence has the hash of what it said.",
            )
        reply: Json = value_json(SUMMIT_REPLIES, record)
        return reply

    async def status(self, params: Json) -> Json:
        request_body = orjson.dumps(build_request("agent.status", params, 1))
        try:
            (request,) = parse_requests(request_body, 1).items
            if request.error is not None:
                raise request.error
            return await answer(self._reading, request)
        except RpcError as exc:
            raise CallRejected(exc.rule, exc.message, exc.data, exc.code) from exc


class _Following:
    """The state of a call that was sent.

    status: the state of its run.
    """

    def __init__(self, run_id: str, position: str) -> None:
        self.run_id = run_id
        self.status: str | None = None
        self._position = position
        self._judged = False
        self._row: Json | None = None
        self._output: Any = summit.ABSENT

    def take(self, topic: Topic, value: Json) -> bool:
        """Take a row or an event; return whether the call is a duplicate.  Raises CallRejected."""
        if topic is SUMMIT_RUNS:
            self._row, self.status = value, value["state"]
        elif value["toState"] == COMPLETED:
            self._output = value["output"]
        elif value["eventId"] == _verdict_on(self._position):
            if value["verdict"] == "rejected":
                raise rejection(value)
            self._judged = True
            return bool(value["verdict"] == "duplicate")
        return False

    def result(self) -> Json | None:
        """Return the RunResult, None until the whole end of the run is seen."""
        if not self._judged or self._row is None or self._row["state"] not in TERMINAL:
            return None
        if self._row["state"] == COMPLETED and self._output is summit.ABSENT:
            return None
        call_result: Json = summit.call_result(self._row, self._output)
        return call_result


def _is_over(watch: asyncio.Future[RunWatcher]) -> bool:
    """Return whether the watcher did not open, or has failed since."""
    if not watch.done():
        return False
    return watch.cancelled() or watch.exception() is not None or watch.result().over


def _verdict_on(position: str) -> str:
    """Return the id of the record's fact; its timeout has another (Summit guide, 5.7)."""
    return f"{position}/0"


async def _next(news: News) -> tuple[Topic, Json]:
    item = await news.get()
    if isinstance(item, Exception):
        raise item
    return item


def _limit(wait_s: float) -> float | None:
    return None if wait_s == float("inf") else wait_s
