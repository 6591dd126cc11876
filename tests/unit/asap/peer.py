"""A peer of a client: a transport that answers as it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx

from schemas.asap import Envelope
from streams import ASAPClient
from tests.unit.asap.support import BASE, Json, envelope, envelope_json

Answer = Callable[[httpx.Request], httpx.Response]


class Peer:
    """Answers with what is next in the list, the last of which stays."""

    def __init__(self, *answers: Any) -> None:
        self.requests: list[httpx.Request] = []
        self.bodies: list[Json] = []
        self._answers = list(answers)
        self.transport = httpx.MockTransport(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if request.content:
            self.bodies.append(json.loads(request.content))
        next_ = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(next_, Exception):
            raise next_
        response = next_(request) if callable(next_) else next_
        assert isinstance(response, httpx.Response)
        return response

    def client(self, **more: Any) -> ASAPClient:
        return ASAPClient(BASE, transport=self.transport, **more)


def reply(request: httpx.Request, payload_type: str = "TaskResponse", **more: Any) -> Json:
    request_envelope = json.loads(request.content)["params"]["envelope"]
    return envelope_json(
        payload_type,
        sender=request_envelope["recipient"],
        recipient=request_envelope["sender"],
        **{"correlation_id": request_envelope["id"], **more},
    )


def success(**more: Any) -> Answer:
    """The answer of a server; more: of the reply."""

    def answer(request: httpx.Request) -> httpx.Response:
        id = json.loads(request.content)["id"]
        result = {"envelope": reply(request, **more)}
        return httpx.Response(200, json={"jsonrpc": "2.0", "result": result, "id": id})

    return answer


def failure(code: int, message: str = "no", data: Any = None) -> httpx.Response:
    error = {"code": code, "message": message, "data": data}
    return httpx.Response(200, json={"jsonrpc": "2.0", "error": error, "id": "req-1"})


def send(client: ASAPClient, of: Envelope | None = None) -> Envelope:
    async def once() -> Envelope:
        async with client:
            return await client.send(of or envelope())

    return asyncio.run(once())
