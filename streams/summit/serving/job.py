"""One run at work: from its inbox record to the final reply on the log."""

from __future__ import annotations

import asyncio
import inspect
import math
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Protocol

from schemas import summit
from streams.engine.headers import TRACEPARENT, iso
from streams.engine.records import header
from streams.errors import BrokerUnavailable, InvalidInput, OutputTooLarge, ProduceUnknown
from streams.summit.serving.handlers import FINAL, START, error_reply, result_reply
from streams.summit.serving.intake import InboxRecord
from streams.summit.serving.run import Run, ThreadRun
from topology.summit import SUMMIT_REPLIES

Json = dict[str, Any]
Handler = Callable[[Any, Any], Any]
"""Takes the inputs (or the arguments) and the run; a coroutine function, or one for a thread."""
FOR_EVER = sys.maxsize
_PAUSE_S = 1.0
_GRACE_S = 5.0
"""How long a handler may take to clean up when the agent ends."""
_NOTHING_SPENT: Json = {"tokens": 0, "cost_usd": 0}


@dataclass(frozen=True)
class Handlers:
    """What an agent does: with runs of its own, and with its tools by name."""

    invoke: Handler
    tools: Mapping[str, Handler]

    def of(self, call: Json) -> tuple[Handler, Any]:
        """The handler and what it is given.  Raises LookupError for a tool that is not there."""
        params = call["params"]
        if call["delivery"]["kind"] == "invoke":
            return self.invoke, params["inputs"]
        asked = params["toolCall"]
        if asked["name"] not in self.tools:
            raise LookupError(f"this agent has no tool {asked['name']} any more")
        return self.tools[asked["name"]], asked["arguments"]


class Caller(Protocol):
    """The members of a client that a run needs."""

    async def send(self, topic: str, values: Any, *, traceparent: str | None, attempts: int) -> Any:
        """As `streams.Client.send`."""

    async def ended(
        self,
        method: str,
        params: Json,
        *,
        caller: str | None,
        wait: float | None,
        traceparent: str | None,
    ) -> Json:
        """As `streams.Client.ended`."""


class Job:
    """Made and used in one event loop.  threads: for handlers that are no coroutine functions."""

    def __init__(
        self, letter: InboxRecord, hr: Caller, handlers: Handlers, threads: Executor
    ) -> None:
        self._call, self._hr = letter.call, hr
        self._handlers, self._threads = handlers, threads
        trace = header(letter.record, TRACEPARENT)
        self._trace = None if trace is None else trace.decode(errors="replace")
        self._run: Run | ThreadRun | None = None
        self._handling: asyncio.Future[Any] | None = None
        self._began = time.monotonic()
        self._stopped = self._closed = False

    async def handled(self) -> Json:
        """The final reply; one that nobody is to see if the run was stopped."""
        if self._stopped:  # before it was the turn of this
            return self._failed(asyncio.CancelledError("the run has ended"))
        self._sent({"replyId": START, "kind": "progress", "metrics": dict(_NOTHING_SPENT)})
        return await self._reply()

    async def answer(self, reply: Json) -> None:
        """Returns when it is acknowledged, or at once if the run was stopped."""
        if not self._stopped:
            self._closed = True
            await self._finish(reply)

    def stop(self) -> None:
        """The run has ended elsewhere: no reply follows."""
        self._stopped = self._closed = True
        if self._run is not None:
            self._run.stop()
        if self._handling is not None and isinstance(self._run, Run):
            self._handling.cancel()

    async def _reply(self) -> Json:
        """The final one, by what the handler came to."""
        try:
            handling = self._handling = self._begin()
        except Exception as exc:  # it has no handler, or that begins badly
            return self._failed(exc)
        try:
            await asyncio.wait({handling})
        except asyncio.CancelledError:  # the agent ends
            self.stop()
            if isinstance(self._run, Run):
                await asyncio.wait({handling}, timeout=_GRACE_S)
            raise
        if handling.cancelled():
            return self._failed(asyncio.CancelledError("the handler was cancelled"))
        if (error := handling.exception()) is not None:
            return self._failed(error)
        try:
            return result_reply(handling.result(), *self._measured())
        except Exception as exc:  # what it returned is no result
            return self._failed(exc)

    def _begin(self) -> asyncio.Future[Any]:
        handler, given = self._handlers.of(self._call)
        if _is_async(handler):
            run = self._run = Run(self._call, self)
            return asyncio.ensure_future(handler(given, run))
        loop = asyncio.get_running_loop()
        blocking = self._run = ThreadRun(self._call, self, loop)
        return loop.run_in_executor(self._threads, handler, given, blocking)

    def _measured(self) -> tuple[Json, float, str]:
        """Charges, latency in ms, time."""
        charged = self._run.account.totals() if self._run else dict(_NOTHING_SPENT)
        latency = round((time.monotonic() - self._began) * 1000, 3)
        return charged, latency, iso(time.time_ns() // 1_000_000).decode()

    def _failed(self, error: BaseException) -> Json:
        return error_reply(error, *self._measured())

    async def _finish(self, reply: Json) -> None:
        """A reply that the service would not take is an error of the handler."""
        try:
            await self._sent({"replyId": FINAL, **reply})
        except (InvalidInput, OutputTooLarge) as exc:
            await self._sent({"replyId": FINAL, **self._failed(exc)})

    def _sent(self, reply: Json) -> asyncio.Task[Any]:
        """Replies leave in the order of these calls; the task ends when it is acknowledged."""
        ids = {name: self._call["params"][name] for name in ("runId", "agentId")}
        sending = self._hr.send(
            SUMMIT_REPLIES.name, {**ids, **reply}, traceparent=self._trace, attempts=FOR_EVER
        )
        task = asyncio.ensure_future(sending)
        task.add_done_callback(_looked_at)
        return task

    def progress(self, reply: Json) -> Awaitable[None]:
        """Raises InvalidInput for a message that is none."""
        if self._closed:
            return _nothing()
        ids = {name: self._call["params"][name] for name in ("runId", "agentId")}
        whole = {"kind": "progress", **reply}
        if problems := summit.check_reply({**ids, **whole}):
            raise InvalidInput(problems)
        return self._sent(whole)

    async def ended(self, method: str, params: Json) -> Json:
        """Asking again is safe: it is the same run."""
        own = self._call["params"]["agentId"]
        while True:
            try:
                return await self._hr.ended(
                    method, params, caller=own, wait=math.inf, traceparent=self._trace
                )
            except (BrokerUnavailable, ProduceUnknown):
                await asyncio.sleep(_PAUSE_S)


def _is_async(handler: Handler) -> bool:
    called = type(handler).__call__  # of an object that is one
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(called)


def _looked_at(sending: asyncio.Future[Any]) -> None:
    """A progress report that nobody awaits may fail in silence: the next one says more."""
    if not sending.cancelled():
        sending.exception()


def _nothing() -> Awaitable[None]:
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done
