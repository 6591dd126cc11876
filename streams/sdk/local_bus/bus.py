"""The bus class that programs create.

Source: SAP guide, 6.3.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from bisect import insort_left, insort_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from schemas import Problem, uuid5_url
from schemas.sap import SapResult, SapTask, delivery_rank
from streams.engine.records import position
from streams.sdk.local_bus import handling
from streams.sdk.local_bus.agents import Agent, Agents, Handler, Unroutable
from streams.sdk.local_bus.engine import Engine
from streams.sdk.local_bus.envelopes import (
    RESULT,
    SIGNAL,
    TASK,
    Ingress,
    checked,
    ids_of,
    message_id,
    plain,
    reason_of,
    recordable,
    refused,
)
from streams.sdk.local_bus.options import FilePath, settings_of
from streams.sdk.local_bus.receipts import Ack, Nack, of_ack
from streams.sdk.local_bus.rows import Json, Row, Rows, Written, decode_visible
from streams.sdk.local_bus.transcript import Entry, Transcript
from topology.sap import SAP_ACKS, SAP_INBOX

Clock = Callable[[], float]
Observer = Callable[[Entry], Any]
_INLINE, _MANUAL = "inline", "manual"


class LocalBus:
    """SAP in this process, without Kafka: the real processors on a log in memory.

        bus = LocalBus(clock=lambda: now_ms, transcript="run.jsonl")
        bus.register("summariser", ["report.summarise"], lambda task: {"text": "…"})
        receipt = bus.dispatch(task)
        bus.outcome(task.taskId)

    Ids and decisions are those of a deployment with one partition that is fed the same records at
    the same times.

    clock: gives milliseconds since the epoch, and is the only source of time.
    transcript: a Transcript, or the path of its file.
    constitution, authorization: paths of files; the shipped constitution, and no restriction.
    deliver: `inline` hands a task to its agent before `dispatch` returns, `manual` leaves that to
      `deliver_pending()`.
    settings: of headrace, by name, as `sap_rate=6`; the environment is not read.

    Not for several threads at once.  Raises SettingsError, TranscriptBroken.
    """

    def __init__(
        self,
        clock: Clock,
        transcript: Transcript | str | os.PathLike[str] | None = None,
        constitution: FilePath = None,
        authorization: FilePath = None,
        deliver: str = _INLINE,
        **settings: Any,
    ) -> None:
        if deliver not in (_INLINE, _MANUAL):
            raise ValueError(f"deliver is {_INLINE} or {_MANUAL}, not {deliver!r}")
        self._clock = clock
        self._inline = deliver == _INLINE
        self._settings = settings_of(constitution, authorization, settings)
        self._own_transcript = not isinstance(transcript, Transcript)
        self.transcript = (
            transcript if isinstance(transcript, Transcript) else Transcript(transcript)
        )
        self._engine = Engine(self._settings)
        self._agents = Agents()
        self._rows = Rows()
        self._observers: list[Observer] = []
        self._pending: list[Json] = []
        self._acks: dict[str, Json] = {}
        self._reports: dict[str, int] = {}
        self.observer_errors = 0
        """The number of times that an observer raised."""

    def register(
        self,
        agentId: str,
        capabilities: Iterable[str],
        handler: Handler,
        available: bool = True,
    ) -> None:
        """Register an agent.  Raises ValueError for an agentId that is taken.

        handler: takes a SapTask and returns a SapResult, or a JSON value that becomes the output
        of a SUCCEEDED, VALID Result; it may be async.  One that raises gives a FAILED Result.
        """
        self._agents.add(agentId, capabilities, handler, available)

    def set_available(self, agentId: str, flag: bool) -> None:
        """Set whether an agent takes tasks.  Raises KeyError for one that is not registered."""
        self._agents.set_available(agentId, flag)

    def observe(self, callback: Observer) -> None:
        """Call it with every entry of the transcript; what it raises is counted, no more."""
        self._observers.append(callback)

    def dispatch(self, task: SapTask | Mapping[str, Any]) -> Ack | Nack:
        """Send a task.  An Ack says that it was taken on, not that it is done."""
        receipt = self._take(TASK, task)
        self._deliver_inline()
        return receipt

    async def dispatch_async(self, task: SapTask | Mapping[str, Any]) -> Ack | Nack:
        """Send a task as `dispatch` does, and await handlers that are async."""
        receipt = self._take(TASK, task)
        if self._inline:
            await self.deliver_pending_async()
        return receipt

    def report(self, result: SapResult | Mapping[str, Any]) -> Ack | Nack:
        """Send a Result on behalf of its producer."""
        receipt = self._take(RESULT, result)
        self._deliver_inline()
        return receipt

    def signal(self, signal: Any) -> Ack | Nack:
        """Send a Signal on behalf of its operator."""
        receipt = self._take(SIGNAL, signal)
        self._deliver_inline()
        return receipt

    def tick(self) -> None:
        """Fire the timers that are due by the clock."""
        self._engine.move(self._read_clock(), inclusive=True)
        self._drain()
        self._deliver_inline()

    def outcome(self, taskId: str) -> SapResult | None:
        """Return the last outcome of a task, None if it has none."""
        outcomes = self._rows.outcomes(taskId)
        return outcomes[-1] if outcomes else None

    def outcomes(self, taskId: str) -> list[SapResult]:
        """Return all outcomes of a task, in order."""
        return self._rows.outcomes(taskId)

    def task(self, taskId: str) -> Row | None:
        """Return the row of a task (SapTaskState, as JSON), None for an unknown task."""
        return self._rows.task(taskId)

    def cache(self, cacheKey: str) -> list[Row]:
        """Return the records of a cache key (SapCacheRecord, as JSON), by version."""
        return self._rows.cache(cacheKey)

    def deliver_pending(self) -> int:
        """Hand every waiting task to an available agent and return how many were handed over.

        The most urgent first (`telemetry.priority`), else in the order of the log.
        Async handlers are run to their end; where an event loop runs already, their tasks wait for
        `deliver_pending_async`.
        """
        count = 0
        while (delivery := self._next_delivery(awaiting=not _loop_runs())) is not None:
            agent, task = delivery
            with self._answering(agent, task) as answer:
                answer(_await_value(agent.handler(SapTask.from_json(task))))
            count += 1
        return count

    async def deliver_pending_async(self) -> int:
        """Deliver tasks as `deliver_pending` does, and await handlers that are async.

        A task whose handler is cancelled with this call waits again.
        """
        count = 0
        while (delivery := self._next_delivery(awaiting=True)) is not None:
            agent, task = delivery
            with self._answering(agent, task) as answer:
                value = agent.handler(SapTask.from_json(task))
                answer(await value if inspect.isawaitable(value) else value)
            count += 1
        return count

    def close(self) -> None:
        """Let go of everything; a transcript that was given open stays open.  Idempotent."""
        self._engine.close()
        if self._own_transcript:
            self.transcript.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def _take(self, door: Ingress, envelope: Any) -> Ack | Nack:
        """Check and route an envelope, and put it on the log.

        The processors are idle when this returns.
        """
        now, value = self._read_clock(), plain(envelope)
        self._engine.move(now, inclusive=False)
        self._drain()
        entry = self._enter(door, value, now)
        id = message_id(door, value, uuid5_url(f"headrace:sap:bus/{entry['seq']}:0"))
        output = checked(door, value, now, self._settings)
        if isinstance(output, list):
            return self._refuse(refused(door, value, output, reason_of(output[0]), id), value, now)
        if door is TASK and isinstance(away := self._agents.route(value), Unroutable):
            problem = Problem(away.rule, away.path, away.reason)
            return self._refuse(refused(door, value, [problem], away.reason, id), value, now)
        command_position = position(self._engine.append(output, now))
        self._drain()
        return of_ack(self._acks.pop(command_position), id)

    def _refuse(self, nack: Nack, value: Any, now: int) -> Nack:
        self._record(now, "ack", *ids_of(value), recordable(nack.to_json()))
        return nack

    def _read_clock(self) -> int:
        return int(self._clock())

    def _enter(self, door: Ingress, value: Any, now: int) -> Entry:
        ids = ids_of(value)
        if door is RESULT and ids[0] is not None:
            self._reports[ids[0]] = self._reports.get(ids[0], 0) + 1
        return self._record(now, door.kind, *ids, recordable(value))

    def _drain(self) -> None:
        """Store what the processors have written since, and append it to the transcript."""
        for record in self._engine.taken():
            written = decode_visible(record, self._settings.prefix)
            if written is not None:
                self._keep(written)

    def _keep(self, written: Written) -> None:
        self._rows.keep(written)
        if written.topic is SAP_ACKS:
            self._acks[written.value["position"]] = written.value
        elif written.topic is SAP_INBOX:
            insort_right(self._pending, written.value, key=delivery_rank)
        kind = written.entry_kind
        if kind is not None:
            ids = written.task_id, written.correlation_id
            self._record(written.at, kind, *ids, written.value)

    def _record(
        self, at: int, kind: str, task_id: str | None, correlation_id: str | None, body: Any
    ) -> Entry:
        entry = self.transcript.append(at, kind, task_id, correlation_id, body)
        for observer in self._observers:
            try:
                observer(entry)
            except Exception:
                self.observer_errors += 1
        return entry

    def _deliver_inline(self) -> None:
        if self._inline:
            self.deliver_pending()

    def _next_delivery(self, *, awaiting: bool) -> tuple[Agent, Json] | None:
        """Remove and return the first waiting task that can be handed over now, with its agent.

        awaiting: whether async handlers can be run.
        """
        for index, task in enumerate(self._pending):
            agent = self._agents.route(task)
            if isinstance(agent, Agent) and (awaiting or not agent.is_async):
                del self._pending[index]
                return agent, task
        return None

    @contextmanager
    def _answering(self, agent: Agent, task: Json) -> Iterator[Callable[[Any], None]]:
        """Report what the handler gives in the block, or that it has failed."""
        task_id = task["taskId"].lower()
        before, values = self._reports.get(task_id, 0), list[Any]()
        try:
            yield values.append
        except Exception as exc:
            self._take(RESULT, handling.of_error(exc, agent, task, self._read_clock()))
            return
        except BaseException:  # given up, not failed: whoever delivers next hands it over again
            insort_left(self._pending, task, key=delivery_rank)
            raise
        reported = self._reports.get(task_id, 0) > before
        if values[0] is None and reported:
            return  # it has reported for itself
        self._take(RESULT, self._result(values[0], agent, task))

    def _result(self, value: Any, agent: Agent, task: Json) -> Json:
        """Return the Result for a handler's value; a Result that is not valid becomes a failure."""
        now = self._read_clock()
        result = handling.of_value(value, agent, task, now)
        output = checked(RESULT, result, now, self._settings)
        if not isinstance(output, list):
            return result
        message = f"the handler's Result is not valid: {output[0].path} {output[0].message}"
        return handling.failed(message, agent, task, now)


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _await_value(value: Any) -> Any:
    """Return a value; run an awaitable to its end and return its result."""
    if not inspect.isawaitable(value):
        return value

    async def finish() -> Any:
        return await value

    return asyncio.run(finish())
