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
"""A callback for each envelope that was sent or received."""
_LOOK_S = 0.1
_RETRY_S = 1.0
_OPEN = ("submitted", "working")
_LIMIT = 100


async def ask(
    gateway: str, task_request: Envelope, wait_s: int, tell: Tell, token: str | None = None
) -> Json:
    """Send a request, wait for the end of its task, and return the last reply's payload.

    Raises ASAPConnectionError, ASAPTimeoutError, ASAPRemoteError.
    """
    async with ASAPClient(gateway, sender=task_request.sender, token=token) as client:
        tell("sent", task_request)
        while True:
            reply = await client.send_task(task_request, wait=wait_s)
            if isinstance(reply, TaskResponse) or reply.status.is_terminal():
                return reply.model_dump(mode="json")


class Worker:
    """A worker on the open tasks of an agent, including those that another process has left.

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
        """Work on tasks until cancelled; can be called once."""
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
                    await self._begin_new(client, http, group)

    async def _begin_new(
        self, client: ASAPClient, http: httpx.AsyncClient, group: asyncio.TaskGroup
    ) -> None:
        """Query the open tasks and begin the new ones."""
        try:
            for task_id in await self._open_tasks(http):
                if (task_request := await self._fetch_request(http, task_id)) is not None:
                    self._taken.add(task_id)
                    group.create_task(self._work(client, task_request))
            await asyncio.sleep(_LOOK_S)
        except httpx.HTTPError:
            await asyncio.sleep(_RETRY_S)

    async def _open_tasks(self, http: httpx.AsyncClient) -> list[str]:
        """Return the open tasks that this worker has not begun."""
        task_ids = []
        for status in _OPEN:
            query: dict[str, str | int] = {
                "worker": self._urn,
                "status": status,
                "limit": _LIMIT,
            }
            answer = (await http.get("/v1/asap/tasks", params=query)).raise_for_status()
            task_ids += [each["task"]["id"] for each in answer.json()["tasks"]]
        return [task_id for task_id in task_ids if task_id not in self._taken]

    async def _fetch_request(self, http: httpx.AsyncClient, task_id: str) -> Envelope | None:
        """Return the TaskRequest; None while the view has the task but not its first event."""
        path = f"/v1/asap/tasks/{task_id}/events"
        answer = (await http.get(path, params={"limit": 1})).raise_for_status()
        events = answer.json()["events"]
        if not events:
            return None
        task_request = Envelope.model_validate(events[0]["envelope"])
        self._tell("received", task_request)
        return task_request

    async def _work(self, client: ASAPClient, task_request: Envelope) -> None:
        for envelope in work(task_request, await self._load_state(task_request.id)):
            await asyncio.sleep(self._pace_s)
            if not await self._send(client, envelope):
                return

    async def _load_state(self, task_id: str) -> State:
        """Return the state from the latest snapshot, of this process or one before it."""
        while True:
            try:
                saved = await asyncio.to_thread(self._store.get, task_id)
            except (ASAPConnectionError, ASAPTimeoutError):
                await asyncio.sleep(_RETRY_S)
            else:
                return resumed(None if saved is None else saved.data)

    async def _send(self, client: ASAPClient, envelope: Envelope) -> bool:
        """Send an envelope and return whether it was accepted.

        It has the same id each time, so that sending it again is safe.
        """
        while True:
            try:
                await client.send(envelope)
            except ASAPRemoteError as exc:
                if exc.code != INTERNAL_ERROR:  # refused: it was cancelled, or has timed out
                    return False
                await asyncio.sleep(_RETRY_S)
            except (ASAPConnectionError, ASAPTimeoutError):
                await asyncio.sleep(_RETRY_S)
            else:
                self._tell("sent", envelope)
                return True
