"""The example worker over HTTP, at a gateway that is behind or in trouble."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fastapi import FastAPI, Request

from schemas.asap import INTERNAL_ERROR, Envelope
from streams.agents.asap import over_http
from streams.agents.asap.indexer import request
from tests.unit.asap.served import served

PLANNER, INDEXER = "urn:asap:agent:planner", "urn:asap:agent:indexer:eu"
Json = dict[str, Any]


class Late:
    """Lists a task before its first event, and takes the second envelope of all that come."""

    def __init__(self) -> None:
        self.asked = request(PLANNER, INDEXER, "c-1", 0, "tr-1")
        self.looks = 0
        self.sent: list[Json] = []
        self.app = FastAPI()
        self.app.get("/v1/asap/tasks")(self.tasks)
        self.app.get("/v1/asap/tasks/{task_id}/events")(self.events)
        self.app.get("/v1/asap/tasks/{task_id}/snapshots/latest", status_code=404)(self.latest)
        self.app.post("/asap")(self.take)

    async def tasks(self, status: str) -> Json:
        task = {"task": {"id": self.asked.id}}
        return {"tasks": [task] if status == "submitted" else [], "cursor": None}

    async def events(self, task_id: str) -> Json:
        self.looks += 1
        event = {"envelope": self.asked.model_dump(mode="json")}
        return {"events": [event] if self.looks > 1 else []}

    async def latest(self, task_id: str) -> Json:
        return {}

    async def take(self, call: Request) -> Json:
        body = await call.json()
        self.sent.append(body["params"]["envelope"])
        if len(self.sent) == 1:
            return {"error": {"code": INTERNAL_ERROR, "message": "Internal error"}}
        return {"result": {"envelope": self.sent[-1]}}


def test_a_worker_waits_for_a_gateway_that_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_http, "_RETRY_S", 0.01)
    late, hops = Late(), []

    async def story(url: str) -> None:
        done = asyncio.Event()

        def tell(hop: str, envelope: Envelope) -> None:
            hops.append((hop, envelope.id))
            if hop == "sent":
                done.set()

        worker = asyncio.ensure_future(over_http.Worker(url, INDEXER, 0, tell).run(lambda: None))
        await asyncio.wait_for(done.wait(), 60)
        worker.cancel()
        with pytest.raises(asyncio.CancelledError):
            await worker

    with served(late.app) as url:
        asyncio.run(story(url))
    assert late.looks == 2
    first, second = late.sent
    assert first == second, "what was not taken is sent again as it was"
    assert hops == [("received", late.asked.id), ("sent", first["id"])]
