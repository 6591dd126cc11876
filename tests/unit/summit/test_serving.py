"""An agent at work: room, stops, redelivery and what is committed (Summit guide, 6.5)."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from streams.engine.records import LogRecord
from streams.summit.serving.intake import InboxRecord
from streams.summit.serving.job import Handlers, Job
from streams.summit.serving.run import ThreadRun
from tests.unit.summit.support import AGENT, DUE_MS, TP, Agent, Open, Sent, invoke, stop, words

Json = dict[str, Any]


def test_handlers_work_at_once_up_to_the_limit() -> None:
    handler = Open()

    async def story(agent: Agent) -> None:
        agent.inbox.put(*[invoke(f"run-{n}") for n in range(5)])
        await agent.until(lambda: len(handler.runs) == 2)
        agent.inbox.put(invoke("run-9"))
        assert len(handler.runs) == 2
        handler.go.set()
        await agent.await_finals(*[f"run-{n}" for n in (0, 1, 2, 3, 4, 9)])
        assert list(handler.runs) == [f"run-{n}" for n in (0, 1, 2, 3, 4, 9)]

    Agent(handler, concurrency=2).tell(story)


def test_a_stop_cancels_an_async_handler_and_no_reply_follows() -> None:
    handler = Open()

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1"))
        await agent.until(lambda: "run-1" in handler.runs)
        assert not handler.runs["run-1"].stopped.is_set()
        agent.inbox.put(stop("run-1"))
        await agent.committed(2)
        await agent.until(lambda: handler.cancelled)
        assert handler.runs["run-1"].stopped.is_set()
        agent.inbox.put(invoke("run-2"))
        handler.go.set()
        await agent.await_finals("run-2")
        assert [reply["replyId"] for reply in agent.sent.of("run-1")] == ["start"]

    Agent(handler).tell(story)


def test_a_stop_tells_a_handler_in_a_thread_and_no_reply_follows() -> None:
    began, stops = threading.Event(), []

    def handler(inputs: Json, run: ThreadRun) -> Json:
        began.set()
        stops.append(run.stopped.wait(60))
        run.progress("too late")
        return {}

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1"))
        await agent.until(began.is_set)
        agent.inbox.put(stop("run-1"))
        await agent.committed(2)
        await agent.until(lambda: stops)
        agent.inbox.put(invoke("run-2"), stop("run-2"))
        await agent.committed(4)
        assert [reply["replyId"] for reply in agent.sent.of("run-1")] == ["start"]

    Agent(handler).tell(story)
    assert stops == [True]


def test_a_run_stopped_before_it_is_picked_up_is_not_begun() -> None:
    handler = Open()

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1"), invoke("run-2"), stop("run-2"), invoke("run-3"))
        await agent.until(lambda: "run-1" in handler.runs)
        handler.go.set()
        await agent.await_finals("run-3")
        await agent.committed(4)
        assert agent.sent.of("run-2") == []
        assert "run-2" not in handler.runs

    Agent(handler, concurrency=1).tell(story)


def test_a_run_stopped_before_its_first_step_is_not_begun() -> None:
    record = LogRecord(*TP, 0, 1000, AGENT.encode(), b"", ())
    letter = InboxRecord(TP, "run-1", invoke("run-1"), record, DUE_MS)
    handler, sent = Open(), Sent()

    async def story() -> Json:
        with ThreadPoolExecutor(1) as threads:
            job = Job(letter, sent, Handlers(handler, {}), threads)
            working = asyncio.create_task(job.handle())
            job.stop()
            reply = await working
            await job.finish(reply)
            return reply

    assert asyncio.run(story())["kind"] == "error"
    assert (handler.runs, sent.replies) == ({}, [])


def test_an_offset_is_done_when_all_before_it_are_acknowledged() -> None:
    async def story(agent: Agent) -> None:
        agent.sent.held = asyncio.Event()
        agent.inbox.put(invoke("run-1", {"text": "a"}))
        await agent.await_finals("run-1")
        agent.inbox.put(stop("other"))
        await agent.until(lambda: agent.sent.final("run-1"))
        assert agent.inbox.committed == 0, "it is sent, and not acknowledged"
        agent.sent.held.set()
        await agent.committed(2)

    Agent(words).tell(story)


def test_the_next_begins_while_a_reply_is_on_its_way() -> None:
    async def story(agent: Agent) -> None:
        agent.sent.held = asyncio.Event()
        agent.inbox.put(invoke("run-1", {"text": "a"}), invoke("run-2", {"text": "b"}))
        await agent.await_finals("run-1", "run-2")
        assert agent.inbox.committed == 0
        agent.sent.held.set()
        await agent.committed(2)

    Agent(words, concurrency=1).tell(story)


def test_a_run_delivered_twice_is_answered_once() -> None:
    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1", {"text": "a"}), invoke("run-1", {"text": "a"}))
        agent.inbox.put(invoke("run-1", {"text": "a"}))
        await agent.committed(3)
        agent.inbox.put(invoke("run-1", {"text": "a"}))
        await agent.committed(4)
        assert len(agent.sent.replies) == 2

    Agent(words).tell(story)


def test_records_of_others_and_what_is_no_call_are_passed_over() -> None:
    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1", {"text": "a"}), key="word-stats-2")
        agent.inbox.put_raw(b"\x00no avro", None)
        await agent.committed(3)
        assert agent.sent.replies == []

    Agent(words).tell(story)


def test_stopping_answers_what_was_begun_and_begins_nothing_more() -> None:
    handler = Open()

    async def story(agent: Agent) -> None:
        agent.inbox.put(invoke("run-1"), invoke("run-2"))
        await agent.until(lambda: "run-1" in handler.runs)
        agent.stop.set = True
        await agent.until(lambda: agent.stop.seen)
        handler.go.set()

    agent = Agent(handler, concurrency=1)
    agent.tell(story)
    assert agent.sent.final("run-1")["output"] == {"run": "run-1"}
    assert (list(handler.runs), agent.inbox.committed) == (["run-1"], 1)


def test_a_cancelled_agent_leaves_at_once_and_answers_nothing() -> None:
    handler = Open()
    agent = Agent(handler)

    async def play() -> None:
        serving = asyncio.create_task(agent.serving().run(None, lambda: None))
        agent.inbox.put(invoke("run-1"))
        await agent.until(lambda: "run-1" in handler.runs)
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving

    asyncio.run(play())
    assert handler.cancelled == ["run-1"]
    assert handler.runs["run-1"].stopped.is_set()
    assert [reply["replyId"] for reply in agent.sent.replies] == ["start"]
    assert (agent.inbox.committed, agent.inbox.closed) == (0, True)
