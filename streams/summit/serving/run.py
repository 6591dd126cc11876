"""A run as its handler sees it: one object for each, nothing is shared between runs."""

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
    """What carries a run's messages."""

    def progress(self, reply: Json) -> Awaitable[None]:
        """On its way at once; awaited, it is on the log."""

    async def ended(self, method: str, params: Json) -> Json:
        """Make a run of another agent and wait for its end."""


class RunFacts:
    """What both kinds of a run object have.

    run_id, agent_id: of this run.  caller, trace_id, parent_run_id, budget: as the call says, None
    where it does not; budget is an object with `usd`, `tokens`, `seconds`.  due_at: when the
    service ends the run, UTC.
    """

    def __init__(self, call: Json) -> None:
        params, context = call["params"], call["params"].get("context") or {}
        self.run_id: str = params["runId"]
        self.agent_id: str = params["agentId"]
        self.caller: str | None = call.get("caller")
        self.trace_id: str | None = context.get("traceId")
        self.parent_run_id: str | None = context.get("parentRunId")
        self.budget: Json | None = context.get("budget")
        self.due_at: datetime = datetime.fromisoformat(call["delivery"]["dueAt"])
        self.account = Account(self.budget)
        self._lock = threading.Lock()
        self._made = 0
        self._reported = 0

    def charge(self, tokens: int = 0, cost_usd: float = 0.0) -> None:
        """Adds to the totals of this run, which its replies carry.

        Raises BudgetExceeded when the total breaks the budget; left alone it becomes an error
        reply with status `budget_exceeded`.
        """
        self.account.charge(tokens, cost_usd)

    def _report(self, message: str | None) -> Json:
        with self._lock:
            self._reported += 1
            reply = {"replyId": f"p{self._reported}", "metrics": self.account.totals()}
        return reply if message is None else {**reply, "message": message}

    def _params(self, agent_id: str, budget: Json | None) -> Json:
        """Of the next sub-run: a delivery that is repeated asks for the same ones."""
        with self._lock:
            self._made += 1
            run_id = f"{self.run_id}.{self._made}"
        context: Json = {"parentRunId": self.run_id}
        if self.trace_id is not None:
            context["traceId"] = self.trace_id
        if budget is not None:
            context["budget"] = budget
        return {"agentId": agent_id, "runId": run_id, "context": context}

    def _invocation(self, agent_id: str, inputs: Json, budget: Json | None) -> tuple[str, Json]:
        return "agent.invoke", {**self._params(agent_id, budget), "inputs": inputs}

    def _tool_call(
        self, agent_id: str, name: str, arguments: Json, budget: Json | None
    ) -> tuple[str, Json]:
        params = self._params(agent_id, budget)
        call = {"id": params["runId"], "name": name, "arguments": arguments}
        return "tool.call", {**params, "toolCall": call}


class Run(RunFacts):
    """Of an async handler.  stopped: set when the run has ended elsewhere; the handler is
    cancelled then."""

    def __init__(self, call: Json, desk: RunHost) -> None:
        super().__init__(call)
        self.stopped = asyncio.Event()
        self._desk = desk

    def progress(self, message: str | None = None) -> Awaitable[None]:
        """Sends the totals so far, and a message.  Awaited, it is on the log; it need not be."""
        return self._desk.progress(self._report(message))

    def invoke(
        self, agent_id: str, inputs: Json, budget: Json | None = None
    ) -> Coroutine[Any, Any, Json]:
        """The RunResult of another agent's run, whose parent is this run.

        Raises CallRejected.
        """
        return self._desk.ended(*self._invocation(agent_id, inputs, budget))

    def call_tool(
        self, agent_id: str, name: str, arguments: Json, budget: Json | None = None
    ) -> Coroutine[Any, Any, Json]:
        """The ToolResult of another agent's tool.  Raises CallRejected."""
        return self._desk.ended(*self._tool_call(agent_id, name, arguments, budget))

    def stop(self) -> None:
        self.stopped.set()


class ThreadRun(RunFacts):
    """Of a handler in a thread: as `Run`, with calls that block.

    stopped: set when the run has ended elsewhere; a call that waits then raises CancelledError
    of `concurrent.futures`.
    """

    def __init__(self, call: Json, desk: RunHost, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(call)
        self.stopped = threading.Event()
        self._desk, self._loop = desk, loop
        self._waiting: set[Future[Any]] = set()

    def progress(self, message: str | None = None) -> None:
        """Sends the totals so far, and a message; returns when it is on the log."""
        self._wait(_awaited(self._desk, self._report(message)))

    def invoke(self, agent_id: str, inputs: Json, budget: Json | None = None) -> Json:
        """The RunResult of another agent's run, whose parent is this run.

        Raises CallRejected.
        """
        return self._wait(self._desk.ended(*self._invocation(agent_id, inputs, budget)))

    def call_tool(
        self, agent_id: str, name: str, arguments: Json, budget: Json | None = None
    ) -> Json:
        """The ToolResult of another agent's tool.  Raises CallRejected."""
        return self._wait(self._desk.ended(*self._tool_call(agent_id, name, arguments, budget)))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        waiting = asyncio.run_coroutine_threadsafe(work, self._loop)
        with self._lock:
            self._waiting.add(waiting)
        if self.stopped.is_set():
            waiting.cancel()
        try:
            return waiting.result()
        finally:
            with self._lock:
                self._waiting.discard(waiting)

    def stop(self) -> None:
        self.stopped.set()
        with self._lock:
            waiting = list(self._waiting)
        for future in waiting:
            future.cancel()


async def _awaited(desk: RunHost, reply: Json) -> None:
    await desk.progress(reply)
