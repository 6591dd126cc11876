"""The execution of one run, from its inbox record to the final reply on the log."""

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
"""How long a handler may take to clean up when the agent stops."""
_NOTHING_SPENT: Json = {"tokens": 0, "cost_usd": 0}


@dataclass(frozen=True)
class Handlers:
    """The functions of an agent: the handler of its runs, and its tools by name."""

    invoke: Handler
    tools: Mapping[str, Handler]

    def select(self, call: Json) -> tuple[Handler, Any]:
        """Return the handler of a call and its argument.

        Raises LookupError for an unknown tool.
        """
        params = call["params"]
        if call["delivery"]["kind"] == "invoke":
            return self.invoke, params["inputs"]
        name, arguments = params["toolCall"]["name"], params["toolCall"]["arguments"]
        try:
            return self.tools[name], arguments
        except KeyError:
            raise LookupError(f"this agent has no tool {name} any more") from None


class Caller(Protocol):
    """The methods of a client that a run needs."""

    async def send(self, topic: str, values: Any, *, traceparent: str | None, attempts: int) -> Any:
        """See `streams.Client.send`."""

    async def ended(
        self,
        method: str,
        params: Json,
        *,
        caller: str | None,
        wait: float | None,
        traceparent: str | None,
    ) -> Json:
        """See `streams.Client.ended`."""


class Job:
    """One run; used in one event loop.  threads: for handlers that are not coroutine functions."""

    def __init__(
        self, inbox_record: InboxRecord, client: Caller, handlers: Handlers, threads: Executor
    ) -> None:
        self._call, self._client = inbox_record.call, client
        self._handlers, self._threads = handlers, threads
        trace = header(inbox_record.record, TRACEPARENT)
        self._traceparent = None if trace is None else trace.decode(errors="replace")
        self._run: Run | ThreadRun | None = None
        self._handling: asyncio.Future[Any] | None = None
        self._started_s = time.monotonic()
        self._stopped = self._closed = False

    async def handle(self) -> Json:
        """Run the handler and return the final reply, which is not sent if the run was stopped."""
        if self._stopped:  # stopped before it began
            return self._error_reply(asyncio.CancelledError("the run has ended"))
        self._send_reply({"replyId": START, "kind": "progress", "metrics": dict(_NOTHING_SPENT)})
        return await self._run_handler()

    async def finish(self, reply: Json) -> None:
        """Send the final reply and wait until it is acknowledged, unless the run was stopped."""
        if not self._stopped:
            self._closed = True
            await self._send_final(reply)

    def stop(self) -> None:
        """Stop the run, which has ended elsewhere: no reply follows."""
        self._stopped = self._closed = True
        if self._run is not None:
            self._run.stop()
        if self._handling is not None and isinstance(self._run, Run):
            self._handling.cancel()

    async def _run_handler(self) -> Json:
        """Return the final reply for what the handler returns or raises."""
        try:
            handling = self._handling = self._start_handler()
        except Exception as exc:  # no such tool, or the handler cannot be started
            return self._error_reply(exc)
        try:
            await asyncio.wait({handling})
        except asyncio.CancelledError:  # the agent stops
            self.stop()
            if isinstance(self._run, Run):
                await asyncio.wait({handling}, timeout=_GRACE_S)
            raise
        if handling.cancelled():
            return self._error_reply(asyncio.CancelledError("the handler was cancelled"))
        if (error := handling.exception()) is not None:
            return self._error_reply(error)
        try:
            return result_reply(handling.result(), *self._measurements())
        except Exception as exc:  # the handler returned no valid result
            return self._error_reply(exc)

    def _start_handler(self) -> asyncio.Future[Any]:
        handler, argument = self._handlers.select(self._call)
        if _is_async(handler):
            run = self._run = Run(self._call, self, self._traceparent)
            return asyncio.ensure_future(handler(argument, run))
        loop = asyncio.get_running_loop()
        blocking = self._run = ThreadRun(self._call, self, loop, self._traceparent)
        return loop.run_in_executor(self._threads, handler, argument, blocking)

    def _measurements(self) -> tuple[Json, float, str]:
        """Return the charges, the latency in ms and the time."""
        charged = self._run.account.totals() if self._run else dict(_NOTHING_SPENT)
        latency = round((time.monotonic() - self._started_s) * 1000, 3)
        return charged, latency, iso(time.time_ns() // 1_000_000).decode()

    def _error_reply(self, error: BaseException) -> Json:
        return error_reply(error, *self._measurements())

    async def _send_final(self, reply: Json) -> None:
        """Send the final reply; if the service would not accept it, send an error reply instead."""
        try:
            await self._send_reply({"replyId": FINAL, **reply})
        except (InvalidInput, OutputTooLarge) as exc:
            await self._send_reply({"replyId": FINAL, **self._error_reply(exc)})

    def _send_reply(self, reply: Json) -> asyncio.Task[Any]:
        """Send a reply; the task ends when it is acknowledged.

        Replies are sent in the order of the calls.
        """
        ids = {name: self._call["params"][name] for name in ("runId", "agentId")}
        sending = self._client.send(
            SUMMIT_REPLIES.name, {**ids, **reply}, traceparent=self._traceparent, attempts=FOR_EVER
        )
        task = asyncio.ensure_future(sending)
        task.add_done_callback(_retrieve_exception)
        return task

    def progress(self, reply: Json) -> Awaitable[None]:
        """Send a progress reply.  Raises InvalidInput for an invalid one."""
        if self._closed:
            return _completed()
        ids = {name: self._call["params"][name] for name in ("runId", "agentId")}
        progress_reply = {"kind": "progress", **reply}
        if problems := summit.check_reply({**ids, **progress_reply}):
            raise InvalidInput(problems)
        return self._send_reply(progress_reply)

    async def call_agent(self, method: str, params: Json) -> Json:
        """Start another agent's run and wait for its end; a retry refers to the same run."""
        agent_id = self._call["params"]["agentId"]
        while True:
            try:
                return await self._client.ended(
                    method, params, caller=agent_id, wait=math.inf, traceparent=self._traceparent
                )
            except (BrokerUnavailable, ProduceUnknown):
                await asyncio.sleep(_PAUSE_S)


def _is_async(handler: Handler) -> bool:
    method = type(handler).__call__  # of an object with `__call__`
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(method)


def _retrieve_exception(sending: asyncio.Future[Any]) -> None:
    """Mark the error of a reply as seen.

    A progress reply that nobody awaits may fail silently: the next one carries the newer totals.
    """
    if not sending.cancelled():
        sending.exception()


def _completed() -> Awaitable[None]:
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done
