"""Calls of Summit over a log, with the real processors behind: who waits, and what is found."""

from __future__ import annotations

import asyncio
import math
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from streams.agents.summit.__main__ import manifest_of
from streams.agents.summit.words import counted
from streams.client import summit_kafka
from streams.client.summit_kafka import KafkaSummitTransport
from streams.client.summit_watch import RunWatcher
from streams.engine.log import Log
from streams.engine.records import Output, TopicPartition, position
from streams.errors import BrokerUnavailable, Gone, HeadraceError
from streams.log.record_json import value_json
from streams.summit.errors import CallRejected, RunPending, VerdictPending
from streams.views.reads import ReadOnlyStore
from tests.unit.client.loops import run_alone
from tests.unit.views.bench import Bench
from topology.summit import SUMMIT_EVENTS

Json = dict[str, Any]
PREFIX = "acme."
AGENT, TEXT = "word-stats", "to be or not to be"


class Site:
    """A system in memory.  It decides what is sent at once, unless it is held."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.held = bench, False
        self.transport = KafkaSummitTransport(bench.log, PREFIX, 30, self._send, self)

    async def _send(self, topic: str, key: str, value: Json | None, traceparent: str | None) -> str:
        if value is None:
            null = Output(PREFIX + topic, key.encode(), None)
            (record_position,) = [position(record) for record in self.bench.log.append([null])]
        else:
            (record_position,) = self.bench.append(topic, value)
        if not self.held:
            self.bench.host.run()
        return record_position

    async def read(self, look: Callable[[ReadOnlyStore], Any], after: str | None = None) -> Any:
        self.bench.view.catch_up(0)
        return look(self.bench.view)

    async def register(self) -> Json:
        value = manifest_of(AGENT).to_json()
        return await self.transport.send_command("summit.manifests", AGENT, value, 10)

    def reply(self, run_id: str, output: Any, **more: Any) -> None:
        now = "2026-03-02T09:00:00.410Z"
        reply = {
            "replyId": "final",
            "runId": run_id,
            "agentId": AGENT,
            "kind": "result",
            "output": output,
            "metrics": {"tokens": 0, "cost_usd": 0, "latency_ms": 3},
            "provenance": {"model": "none", "timestamp": now},
            **more,
        }
        self.bench.send("summit.replies", reply)


def tell(folder: Path, story: Callable[[Site], Awaitable[None]]) -> None:
    bench = Bench(folder, prefix=PREFIX)

    async def run_story() -> None:
        site = Site(bench)
        try:
            await story(site)
        finally:
            await site.transport.close()

    try:
        run_alone(run_story())
    finally:
        bench.close()
    assert "summit-watch" not in {thread.name for thread in threading.enumerate()}


def call(run_id: str, inputs: Json | None = None, context: Json | None = None, **more: Any) -> Json:
    params: Json = {"agentId": AGENT, "runId": run_id, "inputs": inputs or {"text": TEXT}}
    if context is not None:
        params["context"] = context
    return {"jsonrpc": "2.0", "id": 1, "method": "agent.invoke", "params": params, **more}


@asynccontextmanager
async def calling(site: Site, request: Json, wait_s: float = 20) -> AsyncIterator[Any]:
    """A call that is on its way, and known to the service."""
    ended = asyncio.create_task(site.transport.ended(request, wait_s, None))
    count = len(site.bench.records("summit.calls"))
    while len(site.bench.records("summit.calls")) == count:
        await asyncio.sleep(0)
    yield ended


def test_a_verdict_is_found_by_its_position(tmp_path: Path) -> None:
    async def story(site: Site) -> None:
        first, second = await site.register(), await site.register()
        assert (first["rule"], second["rule"]) == ("manifest.accepted", "manifest.duplicate")
        gone = await site.transport.send_command("summit.manifests", AGENT, None, 10)
        assert gone["rule"] == "manifest.withdrawn"

    tell(tmp_path, story)


def test_who_gives_up_while_the_log_is_opened_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`tell` looks for the thread that would be left."""
    began, go = threading.Event(), threading.Event()

    def slow(log: Log, prefix: str) -> RunWatcher:
        began.set()
        assert go.wait(60)
        return RunWatcher(log, prefix)

    monkeypatch.setattr(summit_kafka, "RunWatcher", slow)

    async def story(site: Site) -> None:
        giving_up = asyncio.create_task(
            site.transport.send_command("summit.manifests", AGENT, None, 10)
        )
        assert await asyncio.to_thread(began.wait, 60)
        giving_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await giving_up
        go.set()

    tell(tmp_path, story)


def test_a_log_that_did_not_open_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(log: Log, prefix: str) -> RunWatcher:
        raise BrokerUnavailable("it is gone")

    async def story(site: Site) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(summit_kafka, "RunWatcher", away)
            with pytest.raises(BrokerUnavailable):
                await site.register()
        assert (await site.register())["rule"] == "manifest.accepted"

    tell(tmp_path, story)


def test_a_verdict_that_is_late(tmp_path: Path) -> None:
    async def story(site: Site) -> None:
        site.held = True
        with pytest.raises(VerdictPending) as caught:
            await site.transport.send_command("summit.manifests", AGENT, None, 0.01)
        assert str(caught.value.position).startswith("acme.summit.manifests/")

    tell(tmp_path, story)


def test_a_run_is_awaited_to_its_end(tmp_path: Path) -> None:
    async def story(site: Site) -> None:
        await site.register()
        async with calling(site, call("run-1")) as ended:
            site.reply("run-1", counted(TEXT, 3))
            assert await ended == {
                "status": "completed",
                "output": {"words": 6, "top": ["be", "to", "not"]},
                "metrics": {"tokens": 0, "latency_ms": 3, "cost_usd": 0},
                "provenance": {"model": "none", "timestamp": "2026-03-02T09:00:00.410Z"},
            }

    tell(tmp_path, story)


def test_a_run_that_failed_has_a_result_too(tmp_path: Path) -> None:
    async def story(site: Site) -> None:
        await site.register()
        async with calling(site, call("run-1")) as ended:
            site.reply("run-1", {"words": "six"})
            result = await ended
            assert (result["status"], result["error"]["code"]) == ("failed", -32010)
            assert "output" not in result

    tell(tmp_path, story)


@pytest.mark.parametrize("output", [None, "to-be", [1, {"a": None}], False])
def test_a_tool_may_give_any_json(tmp_path: Path, output: Any) -> None:
    tool_call = {"id": "c-1", "name": "slugify", "arguments": {"title": "To be"}}
    params = {"agentId": AGENT, "runId": "run-1", "toolCall": tool_call}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tool.call", "params": params}

    async def story(site: Site) -> None:
        await site.register()
        async with calling(site, request) as ended:
            site.reply("run-1", output)
            assert await ended == {"id": "c-1", "output": output}
        assert await site.transport.ended(request, 20, None) == {"id": "c-1", "output": output}

    tell(tmp_path, story)


def test_a_call_whose_reply_is_kept_no_more(tmp_path: Path) -> None:
    async def story(site: Site) -> None:
        await site.register()
        async with calling(site, call("run-1")) as ended:
            site.reply("run-1", counted(TEXT, 3))
            await ended
        (reply,) = site.bench.records("summit.replies")
        place = TopicPartition(reply.topic, reply.partition)
        site.bench.log.slots(place)[reply.offset] = None
        with pytest.raises(Gone, match=re.escape(position(reply))):
            await site.transport.ended(call("run-1"), 20, None)

    tell(tmp_path, story)


@pytest.mark.parametrize("later", [False, True])
def test_a_call_made_again_gives_the_result_of_the_first(tmp_path: Path, later: bool) -> None:
    """Of a run that has ended before, or that ends while both wait."""

    async def story(site: Site) -> None:
        await site.register()
        async with calling(site, call("run-1")) as first:
            if later:
                async with calling(site, call("run-1", id=2)) as second:
                    site.reply("run-1", counted(TEXT, 3))
                    assert await first == await second
            else:
                site.reply("run-1", counted(TEXT, 3))
                assert await first == await site.transport.ended(
                    call("run-1", id="other"), 20, None
                )

    tell(tmp_path, story)


def test_a_failed_run_called_again_gives_its_result(tmp_path: Path) -> None:
    async def story(site: Site) -> None:
        await site.register()
        async with calling(site, call("run-1")) as first:
            site.reply("run-1", {"words": "six"})
            assert await first == await site.transport.ended(call("run-1"), 20, None)

    tell(tmp_path, story)


@pytest.mark.parametrize(("known", "status"), [(True, "queued"), (False, None)])
def test_a_wait_that_is_over(tmp_path: Path, known: bool, status: str | None) -> None:
    async def story(site: Site) -> None:
        await site.register()
        site.held = not known
        with pytest.raises(RunPending) as caught:
            await site.transport.ended(call("run-1"), 0.5, None)
        assert (caught.value.run_id, caught.value.status) == ("run-1", status)
        assert str(caught.value.position).startswith("acme.summit.calls/")

    tell(tmp_path, story)


def test_a_repeated_call_that_is_not_answered_in_time_knows_the_state(tmp_path: Path) -> None:
    async def story(site: Site) -> None:
        await site.register()
        for _ in range(2):
            with pytest.raises(RunPending) as caught:
                await site.transport.ended(call("run-1"), 0.5, None)
            assert caught.value.status == "queued"

    tell(tmp_path, story)


def other(agent_id: str) -> Json:
    made = call("run-2")
    return {**made, "params": {**made["params"], "agentId": agent_id}}


@pytest.mark.parametrize(
    ("request_", "rule", "code", "member"),
    [
        (call("run-2", {"text": 5}), "inputs.schema", -32602, "errors"),
        (call("run-1", {"text": "other"}), "run.conflict", -32003, "position"),
        (other("nobody"), "agent.unknown", -32004, "runId"),
    ],
)
def test_a_call_that_is_rejected(
    tmp_path: Path, request_: Json, rule: str, code: int, member: str
) -> None:
    async def story(site: Site) -> None:
        await site.register()
        with pytest.raises(RunPending):
            await site.transport.ended(call("run-1"), 0, None)
        with pytest.raises(CallRejected) as caught:
            await site.transport.ended(request_, 20, None)
        assert (caught.value.rule, caught.value.rpc_code) == (rule, code)
        assert caught.value.data[member]

    tell(tmp_path, story)


def test_many_wait_at_once_each_for_its_own(tmp_path: Path) -> None:
    async def story(site: Site) -> None:
        await site.register()
        ids = [f"run-{n}" for n in range(50)]
        waiting = [asyncio.create_task(site.transport.ended(call(one), 20, None)) for one in ids]
        while len(site.bench.records("summit.calls")) < len(ids):
            await asyncio.sleep(0)
        for number, run_id in enumerate(ids):
            site.reply(run_id, {"words": number})
        results = await asyncio.gather(*waiting)
        assert [one["output"]["words"] for one in results] == list(range(50))

    tell(tmp_path, story)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (BrokerUnavailable("it is gone"), "it is gone"),
        (ValueError("odd"), r"cannot be read on: .*odd"),
    ],
    ids=["foreseen", "not foreseen"],
)
def test_who_waits_is_told_when_reading_fails_and_the_next_reads_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    async def story(site: Site) -> None:
        await site.register()
        waiting = asyncio.create_task(site.transport.ended(call("run-1"), math.inf, None))
        while not site.bench.records("summit.calls"):
            await asyncio.sleep(0)
        assert site.transport._watch is not None
        watch = await site.transport._watch

        def poll(timeout_s: float, max_records: int = 0) -> Any:
            raise error

        monkeypatch.setattr(watch._reader, "poll", poll)
        with pytest.raises(HeadraceError, match=message):
            await waiting
        async with calling(site, call("run-1")) as again:
            site.reply("run-1", counted(TEXT, 3))
            assert (await again)["status"] == "completed"

    tell(tmp_path, story)


def test_a_cancel_that_comes_too_late_has_a_verdict_of_its_own(tmp_path: Path) -> None:
    """It brings about the timeout first, and the fact of that names it as its cause."""

    async def story(site: Site) -> None:
        await site.register()
        budget = {"context": {"budget": {"seconds": 1}}}
        with pytest.raises(RunPending):
            await site.transport.ended(call("run-1", {"text": TEXT}, **budget), 0, None)
        site.bench.now += 1500
        request = {"jsonrpc": "2.0", "method": "agent.cancel", "params": {"runId": "run-1"}}
        event = await site.transport.send_command("summit.calls", "run-1", request, 20)
        assert (event["subject"], event["rule"]) == ("call", "run.terminal")
        facts = [value_json(SUMMIT_EVENTS, one) for one in site.bench.records("summit.events")]
        assert [fact["rule"] for fact in facts if fact["cause"] == event["cause"]] == [
            "budget.seconds",
            "run.terminal",
        ]

    tell(tmp_path, story)


def test_the_status_of_a_run_and_of_an_agent(tmp_path: Path) -> None:
    async def story(site: Site) -> None:
        await site.register()
        with pytest.raises(RunPending):
            await site.transport.ended(call("run-1"), 0, None)
        assert (await site.transport.status({"runId": "run-1"}))["status"] == "queued"
        assert (await site.transport.status({"agentId": AGENT}))["runs"]["queued"] == 1
        for params, rule in (({"runId": "no"}, "run.unknown"), ({}, "params.shape")):
            with pytest.raises(CallRejected) as caught:
                await site.transport.status(params)
            assert caught.value.rule == rule

    tell(tmp_path, story)
