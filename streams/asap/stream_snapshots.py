"""The snapshot store on the log (ASAP guide, 4.4): what a worker saves outlives it."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from schemas.asap import (
    EXT_SNAPSHOT,
    ASAPError,
    Envelope,
    Manifest,
    StateRestore,
    StateSnapshot,
    TaskAlreadyCompletedError,
    TaskNotFoundError,
    TaskStatus,
    TaskUpdate,
    UpdateType,
    make_envelope,
)
from streams.asap.errors import ASAPConnectionError, ASAPRemoteError
from streams.asap.exchange import (
    Backoff,
    PreparedRequest,
    Result,
    bearer,
    check_status,
    normalize_url,
    read_result,
    response_or_pause,
)
from streams.asap.jsonrpc import MANIFEST_PATH, PATH
from streams.asap.snapshots import SNAPSHOT_NOT_FOUND, snapshot_not_found

_BACKOFF = (3, 0.1, 5.0)
_NOT_FOUND = "asap:task/not_found"
_COMPLETED = "asap:task/already_completed"
Json = dict[str, Any]


class StreamSnapshotStore:
    """A `SnapshotStore` behind a gateway of headrace.

    base_url: of the gateway.  agent: the URN of the task's worker; no other agent may save.
    timeout: of one attempt, in seconds.
    A write returns once it is decided; later reads of this store see it.  A refusal is raised
    as the ASAPError with its code.  Raises ASAPConnectionError, ASAPTimeoutError too; a save
    without a response may have been accepted.
    """

    def __init__(
        self, base_url: str, agent: str, token: str | None = None, timeout: float = 60.0
    ) -> None:
        self.base_url = normalize_url(base_url)
        self.agent = agent
        self.timeout = timeout
        self._token = token
        self._backoff = Backoff(*_BACKOFF, random.Random())
        self._http = httpx.Client(timeout=timeout, headers=bearer(token), trust_env=False)
        self._numbers = itertools.count(1)
        self._service: str | None = None
        self._last_positions: dict[str, str] = {}

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def save(self, snapshot: StateSnapshot) -> None:
        members = snapshot.model_dump(mode="json")
        names = ("data", "checkpoint", "version", "id", "created_at")
        self._change(snapshot.task_id, {name: members[name] for name in names})

    def get(self, task_id: str, version: int | None = None) -> StateSnapshot | None:
        return self._snapshot(task_id, "latest" if version is None else str(version))

    def list_versions(self, task_id: str) -> list[int]:
        return [each["version"] for each in self._list(task_id)]

    def delete(self, task_id: str, version: int | None = None) -> bool:
        which = {} if version is None else {"version": version}
        try:
            change = self._change(task_id, {"delete": True, **which})
        except TaskNotFoundError:
            return False
        return bool(self._fact(task_id, change)["figures"]["deleted"])

    def create_snapshot(
        self, task_id: str, data: dict[str, Any], checkpoint: bool = False
    ) -> StateSnapshot:
        """Save the data as the next version; the service assigns its number."""
        change = self._change(task_id, {"data": data, "checkpoint": checkpoint})
        version = self._fact(task_id, change)["snapshot_version"]
        snapshot = self._snapshot(task_id, str(version))
        if snapshot is None:
            raise ASAPConnectionError(f"the snapshot of {task_id} was deleted before it was read")
        return snapshot

    def get_by_id(self, task_id: str, snapshot_id: str) -> StateSnapshot | None:
        """Return the snapshot with this id; of several the highest version."""
        versions = [e["version"] for e in self._list(task_id) if e["id"] == snapshot_id]
        return self._snapshot(task_id, str(versions[-1])) if versions else None

    def latest_checkpoint(self, task_id: str) -> StateSnapshot | None:
        return self._snapshot(task_id, "checkpoint")

    def restore(self, task_id: str, snapshot_id: str) -> StateSnapshot:
        """Save the data of an old version as a new one.

        Raises ASAPError `asap:task/snapshot_not_found`, TaskAlreadyCompletedError.
        """
        payload = StateRestore(task_id=task_id, snapshot_id=snapshot_id)
        try:
            result = self._send(task_id, make_envelope(payload, **self._parties()))
        except ASAPError as exc:
            if exc.code in (SNAPSHOT_NOT_FOUND, _NOT_FOUND):
                raise snapshot_not_found(task_id, snapshot_id) from exc
            raise
        extensions = result.envelope.extensions or {}
        return StateSnapshot.model_validate(extensions[EXT_SNAPSHOT])

    def _change(self, task_id: str, change: Json) -> str:
        """Send it; the id of its envelope."""
        update = TaskUpdate(
            task_id=task_id, update_type=UpdateType.PROGRESS, status=TaskStatus.WORKING
        )
        envelope = make_envelope(update, **self._parties(), extensions={EXT_SNAPSHOT: change})
        self._send(task_id, envelope)
        return envelope.id

    def _fact(self, task_id: str, envelope_id: str) -> Json:
        """Return the AsapEvent that accepted an envelope."""
        path = f"/v1/asap/envelopes/{quote(envelope_id, safe='')}"
        response = self._read(path, task_id, sender=self.agent)
        events = [] if response is None else response["events"]
        return next(event for event in events if event["verdict"] == "accepted")

    def _parties(self) -> dict[str, str]:
        return {"sender": self.agent, "recipient": self._service_urn()}

    def _service_urn(self) -> str:
        if self._service is None:
            response = self._attempts("GET", MANIFEST_PATH, {}, None)
            check_status(response)
            self._service = Manifest.model_validate_json(response.content).id
        return self._service

    def _send(self, task_id: str, envelope: Envelope) -> Result:
        sending = PreparedRequest.of(envelope, f"req-{next(self._numbers)}", None, self._token)
        response = self._attempts("POST", PATH, sending.headers, sending.body)
        check_status(response)
        try:
            result = read_result(response)
        except ASAPRemoteError as exc:
            raise self._exception_for(task_id, exc) from exc
        self._last_positions[task_id] = str(result.more["position"])
        return result

    def _exception_for(self, task_id: str, exc: ASAPRemoteError) -> Exception:
        """Return the exception for a refusal."""
        code, data = exc.asap_error, exc.data if isinstance(exc.data, dict) else {}
        details = {name: data[name] for name in ("rule", "position") if name in data}
        if code is None:
            return exc
        if code == _NOT_FOUND:
            return TaskNotFoundError(task_id, details)
        if code == _COMPLETED:
            return TaskAlreadyCompletedError(task_id, self._status(task_id), details)
        return ASAPError(code, str(data.get("error", exc.message)), details)

    def _status(self, task_id: str) -> str:
        response = self._read(f"/v1/asap/tasks/{quote(task_id, safe='')}", task_id)
        return "unknown" if response is None else str(response["task"]["status"])

    def _snapshot(self, task_id: str, which: str) -> StateSnapshot | None:
        snapshot = self._read(
            f"/v1/asap/tasks/{quote(task_id, safe='')}/snapshots/{which}", task_id
        )
        return None if snapshot is None else StateSnapshot.model_validate(snapshot)

    def _list(self, task_id: str) -> list[Json]:
        response = self._read(f"/v1/asap/tasks/{quote(task_id, safe='')}/snapshots", task_id)
        return [] if response is None else response["snapshots"]

    def _read(self, path: str, task_id: str, **query: str) -> Json | None:
        """Return a view's response after this store's own writes; None for a 404."""
        after = self._last_positions.get(task_id)
        if after is not None:
            query["after"] = after
        response = self._attempts("GET", path, {}, None, query)
        if response.status_code == 404:
            return None
        check_status(response)
        value: Json = response.json()
        return value

    def _attempts(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
        query: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Return the first response with a status below 500."""
        url = self.base_url + path
        for attempt in itertools.count(1):
            try:
                outcome: httpx.Response | Exception = self._http.request(
                    method, url, content=body, headers=headers, params=query or None
                )
            except Exception as exc:
                outcome = exc
            response = response_or_pause(outcome, attempt, self._backoff, url, self.timeout)
            if isinstance(response, httpx.Response):
                return response
            time.sleep(response)
        raise AssertionError
