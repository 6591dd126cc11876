"""The example agents over HTTP alone: they send to `POST /asap` and ask the gateway's queries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx

from schemas.asap import INTERNAL_ERROR, Envelope, TaskResponse
from streams.access.callers import bearer
from streams.agents.asap.indexer import State, resumed, work
from streams.asap.client import ASAPClient
from streams.asap.errors import ASAPConnectionError, ASAPRemoteError, ASAPTimeoutError
from streams.asap.stream_snapshots import StreamSnapshotStore

Json = dict[str, Any]
Tell = Callable[[str, Envelope], None]
"""Is told what was sent or received."""
_LOOK_S = 0.1
_AWAY_S = 1.0
_OPEN = ("submitted", "working")
_MOST = 100


async def ask(
    gateway: str, asked: Envelope, wait_s: int, tell: Tell, token: str | None = None
) -> Json:
    """Send a request, and wait for the end of its task; the last reply's payload.

    Raises ASAPConnectionError, ASAPTimeoutError, ASAPRemoteError.
    """
    async with ASAPClient(gateway, sender=asked.sender, token=token) as client:
        tell("sent", asked)
        while True:
            reply = await client.send_task(asked, wait=wait_s)
            if isinstance(reply, TaskResponse) or reply.status.is_terminal():
                return reply.model_dump(mode="json")


class Worker:
    """Works on the open tasks of an agent, those that another process has left too.

    pace_s: how long a page takes.  token: for the gateway, if it needs one.
    """

    def __init__(
        self, gateway: str, urn: str, pace_s: float, tell: Tell, token: str | None = None
    ) -> None:
        self._gateway, self._urn, self._pace_s, self._tell = gateway, urn, pace_s, tell
        self._token = token
        self._store = StreamSnapshotStore(gateway, urn, token)
        self._taken: set[str] = set()

    async def run(self, on_ready: Callable[[], object]) -> None:
        """Until cancelled, once."""
        with self._store:
            async with (
                ASAPClient(self._gateway, sender=self._urn, token=self._token) as client,
                httpx.AsyncClient(
                    base_url=self._gateway, headers=bearer(self._token), trust_env=False
                ) as http,
                asyncio.TaskGroup() as group,
            ):
                on_ready()
                while True:
                    await self._look(client, http, group)

    async def _look(
        self, client: ASAPClient, http: httpx.AsyncClient, group: asyncio.TaskGroup
    ) -> None:
        """Begin what is new."""
        try:
            for task_id in await self._open(http):
                if (asked := await self._asked(http, task_id)) is not None:
                    self._taken.add(task_id)
                    group.create_task(self._work(client, asked))
            await asyncio.sleep(_LOOK_S)
        except httpx.HTTPError:
            await asyncio.sleep(_AWAY_S)

    async def _open(self, http: httpx.AsyncClient) -> list[str]:
        """Tasks that nobody here works on, or has done."""
        found = []
        for status in _OPEN:
            query: dict[str, str | int] = {
                "worker": self._urn,
                "status": status,
                "limit": _MOST,
            }
            answer = (await http.get("/v1/asap/tasks", params=query)).raise_for_status()
            found += [each["task"]["id"] for each in answer.json()["tasks"]]
        return [task_id for task_id in found if task_id not in self._taken]

    async def _asked(self, http: httpx.AsyncClient, task_id: str) -> Envelope | None:
        """The TaskRequest; None where the view has the task, and its first event not yet."""
        path = f"/v1/asap/tasks/{task_id}/events"
        answer = (await http.get(path, params={"limit": 1})).raise_for_status()
        events = answer.json()["events"]
        if not events:
            return None
        asked = Envelope.model_validate(events[0]["envelope"])
        self._tell("received", asked)
        return asked

    async def _work(self, client: ASAPClient, asked: Envelope) -> None:
        for envelope in work(asked, await self._state(asked.id)):
            await asyncio.sleep(self._pace_s)
            if not await self._sent(client, envelope):
                return

    async def _state(self, task_id: str) -> State:
        """Where this agent, or one before it, was."""
        while True:
            try:
                saved = await asyncio.to_thread(self._store.get, task_id)
            except (ASAPConnectionError, ASAPTimeoutError):
                await asyncio.sleep(_AWAY_S)
            else:
                return resumed(None if saved is None else saved.data)

    async def _sent(self, client: ASAPClient, envelope: Envelope) -> bool:
        """Whether it was taken; what has the same id is safe to send again."""
        while True:
            try:
                await client.send(envelope)
            except ASAPRemoteError as exc:
                if exc.code != INTERNAL_ERROR:  # refused: it was cancelled, or has timed out
                    return False
                await asyncio.sleep(_AWAY_S)
            except (ASAPConnectionError, ASAPTimeoutError):
                await asyncio.sleep(_AWAY_S)
            else:
                self._tell("sent", envelope)
                return True
