"""An agent with an inbox and a client that are made up, in one event loop."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Awaitable, Callable
from typing import Any

from schemas import encode, from_json
from schemas.formats import iso_ms
from streams.engine.kafka_group import Polled
from streams.engine.records import LogRecord, Record, TopicPartition
from streams.summit.serving.job import Handler, Handlers
from streams.summit.serving.run import Run
from streams.summit.serving.serve import AgentServer
from topology.summit import SUMMIT_INBOX

Json = dict[str, Any]
AGENT = "word-stats"
TP = TopicPartition("summit.inbox", 0)
DUE_MS = 600_000
PATIENCE_S = 60


def invoke(run_id: str, inputs: Json | None = None, context: Json | None = None) -> Json:
    """As it stands in the inbox."""
    params: Json = {"agentId": AGENT, "runId": run_id, "inputs": inputs or {}}
    return delivered("agent.invoke", "invoke", {**params, **_given(context)})


def tool(run_id: str, name: str, arguments: Json, context: Json | None = None) -> Json:
    call = {"id": f"c-{run_id}", "name": name, "arguments": arguments}
    params: Json = {"agentId": AGENT, "runId": run_id, "toolCall": call}
    return delivered("tool.call", "tool", {**params, **_given(context)})


def stop(run_id: str) -> Json:
    made = delivered("agent.cancel", "stop", {"agentId": AGENT, "runId": run_id})
    made["delivery"]["reason"] = "cancel.accepted"
    del made["id"], made["caller"]
    return made


def _given(context: Json | None) -> Json:
    return {} if context is None else {"context": context}


def delivered(method: str, kind: str, params: Json) -> Json:
    delivery = {
        "kind": kind,
        "agentVersion": "1.2.0",
        "manifestHash": "0" * 64,
        "callPosition": "summit.calls/0/7",
        "dueAt": iso_ms(DUE_MS),
    }
    call = {"jsonrpc": "2.0", "id": "q-1", "method": method, "params": params, "caller": "desk-7"}
    return {**call, "delivery": delivery}


class Inbox:
    """In place of a consumer group; it has one partition from the beginning."""

    def __init__(self) -> None:
        self._polls: queue.Queue[Polled] = queue.Queue()
        self._offset = 0
        self.committed = 0
        self.closed = False
        self._polls.put(Polled([], {TP}, set(), {TP: 0}, True))

    def put(self, *calls: Json, key: str = AGENT, headers: Any = ()) -> None:
        """They come with one poll."""
        self.put_raw(*[self.encoded(call) for call in calls], key=key, headers=headers)

    def encoded(self, call: Json) -> bytes:
        record = SUMMIT_INBOX.record or ""
        return encode(record, from_json(record, call))

    def put_raw(self, *values: bytes | None, key: str = AGENT, headers: Any = ()) -> None:
        records: list[Record] = []
        for value in values:
            place = (*TP, self._offset)
            records.append(LogRecord(*place, 1000, key.encode(), value, headers))
            self._offset += 1
        self._polls.put(Polled(records, set(), set(), {}, True))

    def poll(self, timeout_s: float) -> Polled:
        try:
            return self._polls.get(timeout=0.005)
        except queue.Empty:
            return Polled([], set(), set(), {}, True)

    def done(self, tp: TopicPartition, offset: int) -> None:
        assert offset > self.committed
        self.committed = offset

    def close(self) -> None:
        self.closed = True


class Sent:
    """In place of a client: what goes out.  results: of sub-runs, by run id."""

    def __init__(self) -> None:
        self.replies: list[Json] = []
        self.calls: list[tuple[str, Json, str | None]] = []
        self.results: dict[str, Json | Exception] = {}
        self.held: asyncio.Event | None = None
        self.traces: list[str | None] = []
        self.refuse: Callable[[Json], Exception | None] = lambda reply: None

    async def send(self, topic: str, values: Any, *, traceparent: str | None, attempts: int) -> str:
        assert topic == "summit.replies"
        assert attempts > 1000, "a reply is not given up"
        if (error := self.refuse(values)) is not None:
            raise error
        self.replies.append(values)
        self.traces.append(traceparent)
        if self.held is not None:
            await self.held.wait()
        return "summit.replies/0/0"

    async def ended(
        self,
        method: str,
        params: Json,
        *,
        caller: str | None,
        wait: float | None,
        traceparent: str | None,
    ) -> Json:
        self.calls.append((method, params, caller))
        self.traces.append(traceparent)
        if params["runId"] not in self.results:
            await asyncio.Event().wait()
        result = self.results[params["runId"]]
        if isinstance(result, Exception):
            raise result
        return result

    def of(self, run_id: str) -> list[Json]:
        return [reply for reply in self.replies if reply["runId"] == run_id]

    def final(self, run_id: str) -> Json:
        (final_reply,) = [reply for reply in self.of(run_id) if reply["replyId"] == "final"]
        return final_reply


class Stop:
    """seen: whether the agent knows."""

    def __init__(self) -> None:
        self.set = self.seen = False

    def is_set(self) -> bool:
        self.seen = self.set
        return self.set


class Agent:
    """One that serves while a story is told."""

    def __init__(self, handler: Handler, concurrency: int = 4, **tools: Handler) -> None:
        self.inbox, self.sent, self.stop = Inbox(), Sent(), Stop()
        self._handlers, self._concurrency = Handlers(handler, tools), concurrency

    def serving(self) -> AgentServer:
        return AgentServer(AGENT, self.sent, self.inbox, self._handlers, self._concurrency)

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                await asyncio.sleep(0.001)

    async def await_finals(self, *run_ids: str) -> None:
        """Their final replies are there."""
        finals = {(run_id, "final") for run_id in run_ids}
        await self.until(
            lambda: finals <= {(reply["runId"], reply["replyId"]) for reply in self.sent.replies}
        )

    async def committed(self, offset: int) -> None:
        await self.until(lambda: self.inbox.committed == offset)

    def tell(self, story: Callable[[Agent], Awaitable[None]]) -> None:
        """The agent ends with the story."""

        async def play() -> None:
            serving = asyncio.create_task(self.serving().run(self.stop, lambda: None))
            telling = asyncio.ensure_future(story(self))
            await asyncio.wait({serving, telling}, return_when=asyncio.FIRST_COMPLETED)
            if telling.done():
                telling.result()
            if serving.done():
                serving.result()
            self.stop.set = True
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.gather(telling, serving)

        asyncio.run(play())
        assert self.inbox.closed


async def words(inputs: Json, run: Run) -> Json:
    return {"words": len(inputs["text"].split())}


class Open:
    """A handler that waits until it is let go."""

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.go = asyncio.Event()
        self.cancelled: list[str] = []

    async def __call__(self, inputs: Json, run: Run) -> Json:
        self.runs[run.run_id] = run
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.append(run.run_id)
            raise
        return {"run": run.run_id}
