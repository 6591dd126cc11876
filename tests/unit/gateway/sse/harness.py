"""A hub over a log in memory, and clients that read its streams as browsers do."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import uuid
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from typing import Any, NamedTuple

from schemas import encode
from streams.engine.log import NewTopic
from streams.engine.memory import MemoryLog
from streams.engine.records import Output, TopicPartition
from streams.gateway.live_tail import TailHub, TailRequest
from streams.gateway.live_tail.stream import Stream
from streams.log.filters import Filters
from streams.settings import Settings
from topology.keys import partition_of
from topology.saop import RTES_EVENTS

PATIENCE_S = 50.0
PULSE, TRANSITION = "SANDBOX_PULSE", "TASK_TRANSITION"
_PAYLOADS: dict[str, tuple[str, dict[str, Any]]] = {
    PULSE: ("headrace.rtes.SandboxPulse", {"line": "", "masked": False}),
    TRANSITION: (
        "headrace.rtes.TaskTransition",
        {"task_id": "t", "from_state": "PENDING", "to_state": "IN_PROGRESS", "git_hash": None},
    ),
}


class Frame(NamedTuple):
    """One event as the wire has it; what it does not name is None."""

    id: str | None = None
    data: Any = None
    event: str | None = None
    comment: str | None = None


def frames_of(text: bytes) -> list[Frame]:
    """text: whole frames."""
    assert text.endswith(b"\n\n"), text[-80:]
    frames = []
    for block in re.split(r"\n\n+", text.decode().strip("\n")):
        members: dict[str, Any] = {}
        for line in block.split("\n"):
            name, _, value = line.partition(": ")
            members[name or "comment"] = value
        if line_data := members.get("data"):
            members["data"] = json.loads(line_data)
        frames.append(Frame(**members))
    return frames


class Bench:
    """The topic `rtes.events`, written as the rtes processor does."""

    def __init__(self, partitions: int = 2, **settings: Any) -> None:
        self.settings = Settings(partitions=partitions, **settings)
        self.log = MemoryLog(lambda: 1_767_225_600_000)
        self.partitions = partitions
        self.sequences: Counter[str] = Counter()
        self.create()

    def create(self) -> None:
        self.sequences.clear()
        self.log.create([NewTopic(RTES_EVENTS.name, self.partitions, {})])

    def recreate(self) -> None:
        self.log.delete(RTES_EVENTS.name)
        self.create()

    def record(
        self, session_id: str, kind: str = PULSE, task_id: str | None = None, line: str = ""
    ) -> Output:
        self.sequences[session_id] += 1
        name, payload = _PAYLOADS[kind]
        payload = {**payload, "timestamp": "2026-01-01T00:00:00Z"}
        if kind == PULSE:
            payload["line"] = line
        value: dict[str, Any] = {
            "event_id": str(uuid.uuid4()),
            "session_id": session_id,
            "payload": (name, payload),
            "origin": None,
            "sequence": self.sequences[session_id],
            "recorded_at": 1_767_225_600_000,
            "rule": "recorded",
            "task_id": task_id,
            "profile": None,
            "flags": [],
            "masked_arguments": 0,
            "dropped_keys": 0,
            "rewind_id": None,
            "cause": "rtes.raw/0/0",
        }
        key = session_id.encode()
        return Output(RTES_EVENTS.name, key, encode(RTES_EVENTS.record or "", value))

    def commit(self, *records: Output) -> None:
        """One transaction, with its markers."""
        producer = self.log.producer("rtes")
        producer.open()
        producer.commit(records)

    def send(self, session_id: str, count: int = 1, **more: Any) -> None:
        self.commit(*[self.record(session_id, **more) for _ in range(count)])

    def number(self, session_id: str) -> int:
        """The partition of a session."""
        return partition_of(session_id.encode(), self.partitions)

    @property
    def tps(self) -> list[TopicPartition]:
        return [TopicPartition(RTES_EVENTS.name, number) for number in range(self.partitions)]

    def truncate(self, session_id: str, start: int) -> None:
        """Forget what lies before that offset of the session's partition."""
        self.log.truncate(self.tps[self.number(session_id)], start)

    @contextlib.asynccontextmanager
    async def hub(self, **more: Any) -> AsyncIterator[TailHub]:
        hub = TailHub(self.log, self.settings, **more)
        hub.start()
        try:
            yield hub
        finally:
            await hub.stop(0.02)


class Client:
    """Reads one stream frame by frame, and remembers the last id."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.cursor = ""
        self._chunks: AsyncGenerator[bytes, None] = stream.chunks()
        self._frames: list[Frame] = []

    async def frame(self) -> Frame | None:
        """The next one; None at the end of the stream."""
        while not self._frames:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    self._frames = frames_of(await anext(self._chunks))
            except StopAsyncIteration:
                return None
        frame = self._frames.pop(0)
        if frame.id is not None:
            self.cursor = frame.id
        return frame

    async def records(self, count: int) -> list[Any]:
        """So many RtesRecords."""
        records: list[Any] = []
        while len(records) < count:
            frame = await self.frame()
            assert frame is not None, "the stream has ended"
            assert frame.event is None, frame
            if frame.data is not None:
                records.append(frame.data)
        return records

    async def read_to_end(self) -> list[Frame]:
        """What comes up to the end of the stream."""
        frames = []
        while (frame := await self.frame()) is not None:
            frames.append(frame)
        return frames

    async def close(self) -> None:
        await self._chunks.aclose()
        self.stream.close()


async def connect(
    hub: TailHub, filters: Filters | None = None, start: str = "latest", cursor: str | None = None
) -> Client:
    """Open a stream and take the id that it opens with."""
    client = Client(await hub.open(TailRequest(filters or Filters(), start, cursor)))
    opening = await client.frame()
    assert opening is not None
    assert opening == Frame(id=client.cursor)
    return client


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 60))


def places(records: list[Any]) -> list[tuple[str, int]]:
    return [(record["session_id"], record["sequence"]) for record in records]
