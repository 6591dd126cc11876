"""A run as its handler sees it: one object per run, with nothing shared between runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Coroutine
from concurrent.futures import Future
from datetime import datetime
from typing import Any, Protocol, TypeVar

from streams.summit.serving.account import Account

Json = dict[str, Any]
T = TypeVar("T")


class RunHost(Protocol):
    """The sender of a run's messages."""

    def progress(self, reply: Json) -> Awaitable[None]:
        """Send a progress reply at once; the awaitable ends when it is on the log."""

    async def call_agent(self, method: str, params: Json) -> Json:
        """Start a run of another agent and wait for its end."""


class RunFacts:
    """The members that both kinds of run objects share.

    run_id, agent_id: those of this run.  caller, trace_id, parent_run_id, budget: from the call,
    None if it has none; budget is an object with `usd`, `tokens`, `seconds`.  due_at: when the
    service ends the run, UTC.  traceparent: W3C trace context of the call, None without one.
    """

    def __init__(self, call: Json, traceparent: str | None = None) -> None:
        params, context = call["params"], call["params"].get("context") or {}
        self.run_id: str = params["runId"]
        self.agent_id: str = params["agentId"]
        self.caller: str | None = call.get("caller")
        self.trace_id: str | None = context.get("traceId")
        self.parent_run_id: str | None = context.get("parentRunId")
        self.budget: Json | None = context.get("budget")
        self.due_at: datetime = datetime.fromisoformat(call["delivery"]["dueAt"])
        self.traceparent = traceparent
        self.account = Account(self.budget)
        self._lock = threading.Lock()
        self._sub_runs = 0
        self._progress_replies = 0

    def charge(self, tokens: int = 0, cost_usd: float = 0.0) -> None:
        """Add to the totals of this run, which its replies carry.

        Raises BudgetExceeded when a total exceeds the budget; if the handler does not catch it, it
        becomes an error reply with status `budget_exceeded`.
        """
        self.account.charge(tokens, cost_usd)

    def _progress_reply(self, message: str | None) -> Json:
        with self._lock:
            self._progress_replies += 1
            reply = {"replyId": f"p{self._progress_replies}", "metrics": self.account.totals()}
        return reply if message is None else {**reply, "message": message}

    def _sub_run_params(self, agent_id: str, budget: Json | None) -> Json:
        """Return the params of the next sub-run; a repeated delivery makes the same ids again."""
        with self._lock:
            self._sub_runs += 1
            run_id = f"{self.run_id}.{self._sub_runs}"
        context: Json = {"parentRunId": self.run_id}
        if self.trace_id is not None:
            context["traceId"] = self.trace_id
        if budget is not None:
            context["budget"] = budget
        return {"agentId": agent_id, "runId": run_id, "context": context}

    def _invocation(self, agent_id: str, inputs: Json, budget: Json | None) -> tuple[str, Json]:
        return "agent.invoke", {**self._sub_run_params(agent_id, budget), "inputs": inputs}

    def _tool_call(
        self, agent_id: str, name: str, arguments: Json, budget: Json | None
    ) -> tuple[str, Json]:
        params = self._sub_run_params(agent_id, budget)
        call = {"id": params["runId"], "name": name, "arguments": arguments}
        return "tool.call", {**params, "toolCall": call}


class Run(RunFacts):
    """The run of an async handler.

    stopped: set when the run has ended elsewhere; the handler is cancelled then.
    """

    def __init__(self, call: Json, host: RunHost, traceparent: str | None = None) -> None:
        super().__init__(call, traceparent)
        self.stopped = asyncio.Event()
        self._host = host

    def progress(self, message: str | None = None) -> Awaitable[None]:
        """Send the totals so far, and a message.

        Await the result to wait until it is on the log; that is optional.
        """
        return self._host.progress(self._progress_reply(message))

    def invoke(
        self, agent_id: str, inputs: Json, budget: Json | None = None
    ) -> Coroutine[Any, Any, Json]:
        """Run another agent as a child of this run, and return the RunResult.

        Raises CallRejected.
        """
        return self._host.call_agent(*self._invocation(agent_id, inputs, budget))

    def call_tool(
        self, agent_id: str, name: str, arguments: Json, budget: Json | None = None
    ) -> Coroutine[Any, Any, Json]:
        """Call a tool of another agent, and return the ToolResult.  Raises CallRejected."""
        return self._host.call_agent(*self._tool_call(agent_id, name, arguments, budget))

    def stop(self) -> None:
        self.stopped.set()


class ThreadRun(RunFacts):
    """The run of a handler in a thread: like `Run`, with blocking calls.

    stopped: set when the run has ended elsewhere; a call that waits then raises CancelledError
    of `concurrent.futures`.
    """

    def __init__(
        self,
        call: Json,
        host: RunHost,
        loop: asyncio.AbstractEventLoop,
        traceparent: str | None = None,
    ) -> None:
        super().__init__(call, traceparent)
        self.stopped = threading.Event()
        self._host, self._loop = host, loop
        self._waiting: set[Future[Any]] = set()

    def progress(self, message: str | None = None) -> None:
        """Send the totals so far, and a message; return when it is on the log."""
        self._wait(_await_progress(self._host, self._progress_reply(message)))

    def invoke(self, agent_id: str, inputs: Json, budget: Json | None = None) -> Json:
        """Run another agent as a child of this run, and return the RunResult.

        Raises CallRejected.
        """
        return self._wait(self._host.call_agent(*self._invocation(agent_id, inputs, budget)))

    def call_tool(
        self, agent_id: str, name: str, arguments: Json, budget: Json | None = None
    ) -> Json:
        """Call a tool of another agent, and return the ToolResult.  Raises CallRejected."""
        return self._wait(
            self._host.call_agent(*self._tool_call(agent_id, name, arguments, budget))
        )

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        with self._lock:
            self._waiting.add(future)
        if self.stopped.is_set():
            future.cancel()
        try:
            return future.result()
        finally:
            with self._lock:
                self._waiting.discard(future)

    def stop(self) -> None:
        self.stopped.set()
        with self._lock:
            futures = list(self._waiting)
        for future in futures:
            future.cancel()


async def _await_progress(host: RunHost, reply: Json) -> None:
    await host.progress(reply)
