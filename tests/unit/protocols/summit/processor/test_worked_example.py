"""The worked example of the Summit guide, 2.7, with the ids and hashes that it prints."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from schemas import uuid5_url
from streams.engine.processor import Message
from streams.engine.records import LogRecord
from tests.unit.protocols.summit.processor.support import Bench, Json, Sent, manifest
from topology.core import LINEAGE_EDGES, RTES_RAW
from topology.summit import SUMMIT_CALLS, SUMMIT_EVENTS, SUMMIT_MANIFESTS, SUMMIT_REPLIES

NINE_MS = int(datetime(2026, 3, 2, 9, tzinfo=UTC).timestamp() * 1000)
PARTITIONS, PARTITION, OFFSET = 31, 4, 118
"""So many partitions put the run's key where the example has it."""
MANIFEST_HASH = "6b669a549e94716e8aa5293e548855cdd6cb4d55a6fee90ca2a6d5262c19a6aa"
CALL_HASH = "9e00fa75e8e2388d85f4dee0f6368b1726a536a228a7e0effe1f22a24670eba7"
INPUT_HASH = "6be91a01069830a5b6973015f9bdf0ca05a38e243c4eb826dd395277df62ac26"
REPLY_HASH = "d7a387cd495ab0299f85e158390fff645a2076691757d8593580fc98f79f474a"
OUTPUT_HASH = "2fdf6267708dc3394e9a2346251605fc37b4f3d582b82ba2ff6b80b1a91ee46d"
TRACE_EDGE = "65ea83f9c08dd6bcde5aa21342dc4fda690b32c0c50c5d6d306cbbb157bdb549"

CALL: Json = {
    "jsonrpc": "2.0",
    "id": "q-31",
    "method": "agent.invoke",
    "caller": "desk-7",
    "params": {
        "agentId": "word-stats",
        "runId": "run-7f2",
        "inputs": {"text": "to be or not to be"},
        "context": {"traceId": "tr-9c", "budget": {"usd": 0, "seconds": 20}},
    },
}
REPLY: Json = {
    "replyId": "final",
    "runId": "run-7f2",
    "agentId": "word-stats",
    "kind": "result",
    "output": {"words": 6, "top": ["be", "to", "not"]},
    "metrics": {"tokens": 0, "latency_ms": 3, "cost_usd": 0},
    "provenance": {"model": "none", "timestamp": "2026-03-02T09:00:00.410Z"},
}


class Example:
    """The example's three records, and what each of them caused."""

    def __init__(self) -> None:
        self.bench = Bench(partitions=PARTITIONS, agents=False)
        self.bench.now = NINE_MS - 1000
        registered = self.bench.record(SUMMIT_MANIFESTS, manifest())
        self.manifest = self.bench.decide(registered)
        self.manifest_position = registered.record
        self.call = self._put(SUMMIT_CALLS, CALL, OFFSET, NINE_MS)
        self.reply = self._put(SUMMIT_REPLIES, REPLY, 7, NINE_MS + 412)

    def _put(self, topic: Any, value: Json, offset: int, at: int) -> list[Sent]:
        message: Message = self.bench.record(topic, value, at)
        assert message.record.partition == PARTITION
        assert isinstance(message.record, LogRecord)
        placed = message.record._replace(offset=offset)
        return self.bench.decide(message._replace(record=placed))

    def fact(self, sent: list[Sent]) -> Json:
        (fact,) = self.bench.of(SUMMIT_EVENTS, sent)
        return fact.json


@pytest.fixture(scope="module")
def example() -> Example:
    return Example()


def test_the_manifest(example: Example) -> None:
    fact = example.fact(example.manifest)
    assert (fact["rule"], fact["contentHash"]) == ("manifest.accepted", MANIFEST_HASH)


def test_the_call(example: Example) -> None:
    fact = example.fact(example.call)
    assert fact["eventId"] == "summit.calls/4/118/0"
    assert fact["cause"] == "summit.calls/4/118"
    assert (fact["verdict"], fact["rule"]) == ("accepted", "call.accepted")
    assert fact["contentHash"] == CALL_HASH
    assert fact["inputs"] == {"text": "to be or not to be", "top": 3}
    assert (fact["manifestVersion"], fact["manifestHash"]) == ("1.2.0", MANIFEST_HASH)
    assert (fact["fromState"], fact["toState"], fact["runVersion"]) == ("none", "queued", 1)
    assert fact["figures"] == {"dueAt": NINE_MS + 20_000, "usd": 0}


def test_what_the_agent_reads(example: Example) -> None:
    (delivered,) = example.bench.inbox("word-stats")
    inputs = {"text": "to be or not to be", "top": 3}
    assert delivered == {
        **CALL,
        "params": {**CALL["params"], "inputs": inputs},
        "delivery": {
            "kind": "invoke",
            "agentVersion": "1.2.0",
            "manifestHash": MANIFEST_HASH,
            "callPosition": "summit.calls/4/118",
            "dueAt": "2026-03-02T09:00:20.000Z",
        },
    }


def test_the_run(example: Example) -> None:
    run = example.bench.run("run-7f2")
    assert (run["state"], run["reason"], run["version"]) == ("completed", "reply.result", 2)
    times = ("createdAt", "startedAt", "finishedAt", "updatedAt", "dueAt")
    assert [run[name] for name in times] == [
        "2026-03-02T09:00:00.000Z",
        *["2026-03-02T09:00:00.412Z"] * 3,
        "2026-03-02T09:00:20.000Z",
    ]
    assert run["metrics"] == {"tokens": 0, "cost_usd": 0, "latency_ms": 3}
    assert run["provenance"] == REPLY["provenance"]
    position = example.manifest_position
    assert run["evidence"] == {
        "callPosition": "summit.calls/4/118",
        "callHash": CALL_HASH,
        "inputHash": INPUT_HASH,
        "manifestVersion": "1.2.0",
        "manifestHash": MANIFEST_HASH,
        "manifestPosition": f"summit.manifests/{position.partition}/{position.offset}",
        "replyPosition": "summit.replies/4/7",
        "replyHash": REPLY_HASH,
        "outputHash": OUTPUT_HASH,
    }


def test_the_reply(example: Example) -> None:
    fact = example.fact(example.reply)
    assert (fact["verdict"], fact["rule"]) == ("accepted", "reply.result")
    assert fact["contentHash"] == REPLY_HASH
    assert fact["output"] == REPLY["output"]
    assert (fact["fromState"], fact["toState"], fact["runVersion"]) == ("queued", "completed", 2)
    assert fact["figures"] == {"cost_usd": 0, "usd": 0, "tokens": 0, "elapsed_ms": 412}
    assert example.bench.timers == {}


def test_what_rtes_hears(example: Example) -> None:
    events = example.bench.of(RTES_RAW)
    causes = ("summit.calls/4/118/0", "summit.replies/4/7/0")
    assert [e.id for e in events] == [uuid5_url(f"headrace:summit:{cause}:0") for cause in causes]
    assert [e.key for e in events] == ["tr-9c", "tr-9c"]
    assert [p["timestamp"] for _, p in example.bench.rtes_payloads()] == [
        "2026-03-02T09:00:00.000Z",
        "2026-03-02T09:00:00.412Z",
    ]
    assert [p["task_id"] for _, p in example.bench.rtes_payloads()] == ["run-7f2", "run-7f2"]
    assert example.bench.moves() == [("none", "queued"), ("queued", "completed")]


def test_the_lineage(example: Example) -> None:
    edges = example.bench.of(LINEAGE_EDGES)
    assert TRACE_EDGE in {one.id for one in edges}
    assert example.bench.edges() == [
        ("summit:run:run-7f2", "same_trace", "trace:tr-9c"),
        ("summit:run:run-7f2", "derived_from", "summit:manifest:word-stats/1.2.0"),
        ("summit:reply:run-7f2/final", "answers", "summit:run:run-7f2"),
    ]
