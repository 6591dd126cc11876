"""`serve_agent`: an agent over `summit.inbox` and `summit.replies` (Summit 6.5)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from schemas import summit
from schemas.formats import parse_ms
from streams.client.client import Client
from streams.engine.kafka_group import Polled
from streams.engine.records import Record, TopicPartition
from streams.errors import UsageError
from streams.log.connecting import connect
from streams.log.record_json import value_json
from streams.settings import Settings
from streams.summit.manifests import read_manifest
from streams.summit.serving.intake import InboxRecord, Intake
from streams.summit.serving.job import Caller, Handler, Handlers, Job
from topology.acls import AGENTS_GROUPS
from topology.summit import SUMMIT_INBOX
from topology.topics import full_name

CONCURRENCY = 4
POLL_S = 0.1
UNACKNOWLEDGED = 1000
"""Runs whose final replies are on their way, beyond which nothing is begun."""


class Stop(Protocol):
    """An event of `asyncio` or of `threading`."""

    def is_set(self) -> bool: ...


class Group(Protocol):
    """As `streams.engine.kafka_group.KafkaGroup`."""

    def poll(self, timeout_s: float) -> Polled: ...

    def done(self, tp: TopicPartition, offset: int) -> None: ...

    def close(self) -> None: ...


async def serve_agent(
    manifest: Any,
    handler: Handler,
    *,
    tools: Mapping[str, Handler] | None = None,
    register: bool = True,
    concurrency: int = CONCURRENCY,
    stop: Stop | None = None,
    settings: Settings | None = None,
    on_ready: Callable[[], object] = lambda: None,
) -> None:
    """Run an agent until `stop` is set, or for ever.

        async def count(inputs, run):
            run.charge(tokens=12)
            return {"words": len(inputs["text"].split())}

        await serve_agent("agent.yaml", count)

    manifest: a `summit.SummitManifest`, its JSON, its YAML text or the path of a file.
    handler: `handler(inputs, run)`, a coroutine function, or one that is run in a thread; it
    returns an object or an AgentResult.  tools: by name `fn(arguments, run)`, which return any
    JSON, or an AgentResult.  register: send the manifest first, and go on when it is accepted.
    concurrency: handlers at a time; others wait.
    stop: once it is set nothing more is begun, and it returns when all that was begun is answered;
    when cancelled it leaves at once, and what was begun is delivered again.
    settings: default: from the environment.  on_ready: called when the inbox is read.

    A run is delivered at least once: when this process is killed, another, or this one started
    again, begins it anew.  Raises ManifestRejected, UsageError, BrokerUnavailable.
    """
    found = read_manifest(manifest)
    handlers = _handlers(found, handler, tools or {})
    if concurrency < 1:
        raise UsageError(f"an agent cannot work on {concurrency} runs at a time", advice="")
    own = Settings.load() if settings is None else settings
    async with Client(settings=own) as hr:
        if register:
            await hr.register(found, wait=math.inf)
        agent_id = found.metadata.name
        log = await asyncio.to_thread(connect, own)
        try:
            group = log.group(group_of(own, agent_id), full_name(SUMMIT_INBOX, own.prefix))
            await Serving(agent_id, hr, group, handlers, concurrency).run(stop, on_ready)
        finally:
            await asyncio.to_thread(log.close)


def group_of(settings: Settings, agent_id: str) -> str:
    """The consumer group of all processes of an agent."""
    return f"{settings.prefix}{AGENTS_GROUPS}{agent_id}"


def _handlers(
    manifest: summit.SummitManifest, handler: Handler, tools: Mapping[str, Handler]
) -> Handlers:
    declared = {tool.name for tool in manifest.spec.tools}
    if declared != tools.keys():
        named = ", ".join(sorted(declared ^ tools.keys()))
        raise UsageError(
            f"the manifest and the agent name different tools: {named}",
            advice="Give one function for each tool of `spec.tools`.",
        )
    return Handlers(handler, dict(tools))


class Serving:
    """The runs of one agent process."""

    def __init__(
        self, agent_id: str, hr: Caller, group: Group, handlers: Handlers, concurrency: int
    ) -> None:
        self._key = agent_id.encode()
        self._hr, self._group, self._handlers = hr, group, handlers
        self._free, self._most = concurrency, concurrency + UNACKNOWLEDGED
        self._intake = Intake()
        self._jobs: dict[str, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._error: BaseException | None = None
        self._poller = ThreadPoolExecutor(1, "summit-inbox")
        self._threads = ThreadPoolExecutor(concurrency, "summit-run")

    async def run(self, stop: Stop | None, on_ready: Callable[[], object]) -> None:
        """Until `stop` is set and all that was begun is answered."""
        loop, ready = asyncio.get_running_loop(), False
        try:
            while not (self._stopping and not self._tasks):
                polled = await loop.run_in_executor(self._poller, self._group.poll, POLL_S)
                self._stopping = self._stopping or (stop is not None and stop.is_set())
                self._take(polled)
                self._go_on()
                if self._error is not None:
                    raise self._error
                if polled.joined and not ready:
                    ready = True
                    on_ready()
        finally:
            self._stopping = True
            for task in list(self._tasks):
                task.cancel()
            try:
                await asyncio.gather(*self._tasks, return_exceptions=True)
            finally:  # also when cancelled again: a member that stays keeps its partitions
                closed = loop.run_in_executor(self._poller, self._group.close)
                self._poller.shutdown(wait=False)
                self._threads.shutdown(wait=False)
                await asyncio.shield(closed)

    def _take(self, polled: Polled) -> None:
        self._intake.lost(polled.lost)
        self._intake.taken(polled.taken)
        for record in polled.records:
            self._read(record)
        self._intake.reached(polled.ends)

    def _read(self, record: Record) -> None:
        """Records of other agents, and what is no call, are passed over."""
        call = value_json(SUMMIT_INBOX, record) if record.key == self._key else None
        if not isinstance(call, dict) or "delivery" not in call:
            self._intake.passed(record)
            return
        run_id, delivery = call["params"]["runId"], call["delivery"]
        if delivery["kind"] == "stop":
            self._intake.passed(record)
            if self._intake.stopped(run_id):
                self._jobs[run_id].stop()
        else:
            tp = TopicPartition(record.topic, record.partition)
            self._intake.asked(
                InboxRecord(tp, run_id, call, record, parse_ms(delivery["dueAt"]) or 0)
            )

    def _go_on(self) -> None:
        """Begin what there is room for, and say what is done."""
        while self._has_room() and (letter := self._intake.next()):
            self._free -= 1
            job = self._jobs[letter.run_id] = Job(letter, self._hr, self._handlers, self._threads)
            task = asyncio.create_task(self._work(letter.run_id, job))
            self._tasks.add(task)
            task.add_done_callback(self._ended)
        for tp, offset in self._intake.done():
            self._group.done(tp, offset)

    def _has_room(self) -> bool:
        return self._free > 0 and len(self._tasks) < self._most and not self._stopping

    async def _work(self, run_id: str, job: Job) -> None:
        """The next one begins while this one's reply is on its way."""
        try:
            try:
                reply = await job.handled()
            finally:
                self._free += 1
            self._go_on()
            await job.answer(reply)
        finally:
            del self._jobs[run_id]
        self._intake.ended(run_id)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        self._error = self._error or task.exception()
        if self._error is None:
            self._go_on()
