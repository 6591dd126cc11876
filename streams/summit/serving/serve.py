"""Agents over `summit.inbox` and `summit.replies`, run by `serve_agent` (Summit guide, 6.5)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
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
from streams.summit.serving.interrupts import end_at_interrupt
from streams.summit.serving.job import Caller, Handler, Handlers, Job
from topology.acls import AGENTS_GROUPS
from topology.summit import SUMMIT_INBOX
from topology.topics import full_name

CONCURRENCY = 4
POLL_S = 0.1
MAX_UNACKNOWLEDGED = 1000
"""No run begins while the final replies of this many runs are unacknowledged."""


class Stop(Protocol):
    """An event of `asyncio` or of `threading`."""

    def is_set(self) -> bool: ...


class Group(Protocol):
    """The methods of `streams.engine.kafka_group.KafkaGroup` that an agent needs."""

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
    on_answered: Callable[[str], object] = lambda run_id: None,
) -> None:
    """Run an agent until `stop` is set, or forever.

        async def count(inputs, run):
            run.charge(tokens=12)
            return {"words": len(inputs["text"].split())}

        await serve_agent("agent.yaml", count)

    manifest: a `summit.SummitManifest`, its JSON, its YAML text or the path of a file.
    handler: `handler(inputs, run)`, a coroutine function, or a function that is run in a thread; it
    returns an object or an AgentResult.  tools: functions `fn(arguments, run)` by name, which
    return any JSON, or an AgentResult; a dict with `__missing__` may give those of tools that the
    manifest gets later.  register: send the manifest first, and go on when it is accepted.
    concurrency: the number of handlers at a time; other runs wait.
    stop: once it is set, no run begins, and the function returns when all begun runs are answered;
    when cancelled, it ends at once, and begun runs are delivered again.  So it does at Ctrl-C, and
    returns, so that `asyncio.run` raises no KeyboardInterrupt.
    settings: from the environment by default.  on_ready: called when the inbox is read.
    on_answered: called with the id of each run whose final reply is on the log, or that has ended
    without one; the run may be begun again after that call, but not while this process lives.

    A run is delivered at least once: when this process is killed, another one, or this one
    restarted, begins the run again.  Raises ManifestRejected, UsageError, BrokerUnavailable.
    """
    parsed_manifest = read_manifest(manifest)
    handlers = _handlers(parsed_manifest, handler, tools or {})
    if concurrency < 1:
        raise UsageError(f"an agent cannot work on {concurrency} runs at a time", advice="")
    service_settings = Settings.load() if settings is None else settings
    with end_at_interrupt():
        async with Client(settings=service_settings) as client:
            if register:
                await client.register(parsed_manifest, wait=math.inf)
            agent_id = parsed_manifest.metadata.name
            async with _open_group(service_settings, agent_id) as group:
                server = AgentServer(agent_id, client, group, handlers, concurrency, on_answered)
                await server.run(stop, on_ready)


@asynccontextmanager
async def _open_group(settings: Settings, agent_id: str) -> AsyncIterator[Group]:
    """Join the inbox as a member of an agent's group."""
    log = await asyncio.to_thread(connect, settings)
    try:
        yield log.group(group_of(settings, agent_id), full_name(SUMMIT_INBOX, settings.prefix))
    finally:
        await asyncio.to_thread(log.close)


def group_of(settings: Settings, agent_id: str) -> str:
    """Return the consumer group that all processes of an agent share."""
    return f"{settings.prefix}{AGENTS_GROUPS}{agent_id}"


def _handlers(
    manifest: summit.SummitManifest, handler: Handler, tools: Mapping[str, Handler]
) -> Handlers:
    declared = {tool.name for tool in manifest.spec.tools}
    if declared != tools.keys():
        differing = ", ".join(sorted(declared ^ tools.keys()))
        raise UsageError(
            f"the manifest and the agent name different tools: {differing}",
            advice="Give one function for each tool of `spec.tools`.",
        )
    return Handlers(handler, tools)


class AgentServer:
    """One process of an agent, with its runs."""

    def __init__(
        self,
        agent_id: str,
        client: Caller,
        group: Group,
        handlers: Handlers,
        concurrency: int,
        on_answered: Callable[[str], object] = lambda run_id: None,
    ) -> None:
        self._on_answered = on_answered
        self._key = agent_id.encode()
        self._client, self._group, self._handlers = client, group, handlers
        self._free, self._max_tasks = concurrency, concurrency + MAX_UNACKNOWLEDGED
        self._intake = Intake()
        self._jobs: dict[str, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._error: BaseException | None = None
        self._poller = ThreadPoolExecutor(1, "summit-inbox")
        self._threads = ThreadPoolExecutor(concurrency, "summit-run")

    async def run(self, stop: Stop | None, on_ready: Callable[[], object]) -> None:
        """Serve until `stop` is set and all begun runs are answered."""
        loop, ready = asyncio.get_running_loop(), False
        try:
            while not (self._stopping and not self._tasks):
                polled = await loop.run_in_executor(self._poller, self._group.poll, POLL_S)
                self._stopping = self._stopping or (stop is not None and stop.is_set())
                self._apply(polled)
                self._begin_runs()
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

    def _apply(self, polled: Polled) -> None:
        self._intake.remove_partitions(polled.lost)
        self._intake.add_partitions(polled.taken)
        for record in polled.records:
            self._read(record)
        self._intake.mark_read_to_end(polled.ends)

    def _read(self, record: Record) -> None:
        """Queue or stop a run; skip records of other agents and records that are no calls."""
        call = value_json(SUMMIT_INBOX, record) if record.key == self._key else None
        if not isinstance(call, dict) or "delivery" not in call:
            self._intake.add_record(record)
            return
        run_id, delivery = call["params"]["runId"], call["delivery"]
        if delivery["kind"] == "stop":
            self._intake.add_record(record)
            if self._intake.stop(run_id):
                self._jobs[run_id].stop()
        else:
            tp = TopicPartition(record.topic, record.partition)
            self._intake.add_run(
                InboxRecord(tp, run_id, call, record, parse_ms(delivery["dueAt"]) or 0)
            )

    def _begin_runs(self) -> None:
        """Begin runs while there is room, and pass on the committable offsets."""
        while self._has_room() and (inbox_record := self._intake.next_run()):
            self._free -= 1
            job = self._jobs[inbox_record.run_id] = Job(
                inbox_record, self._client, self._handlers, self._threads
            )
            task = asyncio.create_task(self._carry_out(inbox_record.run_id, job))
            self._tasks.add(task)
            task.add_done_callback(self._on_task_end)
        for tp, offset in self._intake.committable_offsets():
            self._group.done(tp, offset)

    def _has_room(self) -> bool:
        return self._free > 0 and len(self._tasks) < self._max_tasks and not self._stopping

    async def _carry_out(self, run_id: str, job: Job) -> None:
        """Carry out a run; the next one begins while this one's reply is being sent."""
        try:
            try:
                reply = await job.handle()
            finally:
                self._free += 1
            self._begin_runs()
            await job.finish(reply)
            self._on_answered(run_id)
        finally:
            del self._jobs[run_id]
        self._intake.finish(run_id)

    def _on_task_end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        self._error = self._error or task.exception()
        if self._error is None:
            self._begin_runs()
