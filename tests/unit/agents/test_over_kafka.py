"""The example worker over Kafka, and what comes to it in quick succession."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

from schemas.asap import (
    Envelope,
    StateQuery,
    TaskCancel,
    TaskStatus,
    TaskUpdate,
    UpdateType,
    make_envelope,
    reply_to,
)
from streams.agents.asap.indexer import request
from streams.agents.asap.over_kafka import InboxRecord, Worker
from streams.client import Client
from streams.settings import Settings

PLANNER, INDEXER = "urn:asap:agent:planner", "urn:asap:agent:indexer:eu"


class Sent:
    """In place of a client: what goes out."""

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []
        self.traces: list[str | None] = []

    async def send(self, topic: str, value: Any, *, traceparent: str | None, attempts: int) -> None:
        self.envelopes.append(Envelope.model_validate(value))
        self.traces.append(traceparent)


def letter(envelope: Envelope, trace: str | None = None) -> InboxRecord:
    return InboxRecord(envelope, "0:0", trace)


def test_a_task_cancelled_before_its_first_step_is_left(tmp_path: Path) -> None:
    task_request, sent = request(PLANNER, INDEXER, "c-1", 3, "tr-1"), Sent()
    worker = Worker(Settings(), INDEXER, tmp_path / "place", 0, lambda hop, envelope: None)

    async def story() -> None:
        hr = cast("Client", sent)
        async with asyncio.TaskGroup() as group:
            await worker._take(hr, letter(task_request), group)
            (query,) = sent.envelopes
            assert isinstance(query.typed_payload(), StateQuery)
            update = TaskUpdate(
                task_id=task_request.id,
                update_type=UpdateType.STATUS_CHANGE,
                status=TaskStatus.SUBMITTED,
            )
            await worker._take(hr, letter(reply_to(query, update)), group)
            cancel = TaskCancel(task_id=task_request.id)
            cancellation = make_envelope(cancel, sender=PLANNER, recipient=INDEXER)
            await worker._take(hr, letter(cancellation), group)

    asyncio.run(story())
    assert len(sent.envelopes) == 1, "nothing was done"
    assert worker._working == {}, "so that its place in the inbox is written again"


def test_all_that_is_sent_about_a_task_belongs_to_its_trace(tmp_path: Path) -> None:
    task_request, sent, trace = request(PLANNER, INDEXER, "c-1", 1, "tr-1"), Sent(), "00-a-trace"
    worker = Worker(Settings(), INDEXER, tmp_path / "place", 0, lambda hop, envelope: None)

    async def story() -> None:
        hr = cast("Client", sent)
        async with asyncio.TaskGroup() as group:
            await worker._take(hr, letter(task_request, trace), group)
            update = TaskUpdate(
                task_id=task_request.id,
                update_type=UpdateType.STATUS_CHANGE,
                status=TaskStatus.SUBMITTED,
            )
            await worker._take(hr, letter(reply_to(sent.envelopes[0], update), "another"), group)

    asyncio.run(story())
    assert sent.envelopes[-1].canonical_type == "TaskResponse"
    assert set(sent.traces) == {trace}
