"""Push configurations: where the events of a task are posted, as subscriptions on the log.

The id of a subscription is made of who asked, the agent, the task and the configuration's id, so
that a configuration that is set again replaces itself.  Source: A2A page, Push notifications.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from operator import itemgetter
from typing import Any

from schemas import canonical_json, sha256_hex, uuid5_url
from streams.access.callers import Caller
from streams.doors.a2a.door import Context
from streams.doors.a2a.errors import A2aError, not_found, unavailable
from streams.doors.a2a.protocol import Json
from streams.doors.a2a.tasks import find_run
from streams.doors.push.addresses import UrlRefused
from streams.doors.push.cursors import write_cursor
from streams.doors.push.sealing import SecretUnreadable
from streams.doors.push.service import PushService
from streams.doors.push.subscriptions import Subscription
from streams.engine.log import Log
from streams.engine.records import TopicPartition
from streams.errors import InfrastructureError
from topology.summit import SUMMIT_EVENTS
from topology.topics import full_name

DOOR = "a2a"
MAX_CONFIGS = 10
_MAX_ID = 256
_MAX_PAGE = 100
_HEADER_VALUE = re.compile(r"[!-~]([ -~]{0,4094}[!-~])?")


async def create(context: Context, request: Json) -> Json:
    """Set a configuration of a task that has not ended.  Raises A2aError."""
    push, task_id = _require_push(context), str(request["taskId"])
    row = await _find_run(context, task_id)
    if row["finishedAt"] is not None:
        raise A2aError("a2a.task_ended", "the task has ended", "/taskId", task_id=task_id)
    written, _ = await _write(context, push, task_id, request, "")
    return _show(push, written)


async def get(context: Context, request: Json) -> Json:
    """Return a configuration without its secrets.  Raises A2aError."""
    push, task_id = _require_push(context), str(request["taskId"])
    await _find_run(context, task_id)
    for each in await _list_live(context, push, task_id):
        if each.arguments["configId"] == request["id"]:
            return _show(push, each)
    raise not_found(task_id)


async def list_configs(context: Context, request: Json) -> Json:
    """Return a page of the caller's configurations of a task, by id.  Raises A2aError."""
    push, task_id = _require_push(context), str(request["taskId"])
    await _find_run(context, task_id)
    size = request.get("pageSize", _MAX_PAGE)
    if not 1 <= size <= _MAX_PAGE:
        raise A2aError("a2a.page_size", f"pageSize is 1 to {_MAX_PAGE}", "/pageSize")
    after = request.get("pageToken", "")
    configs = [_show(push, each) for each in await _list_live(context, push, task_id)]
    remaining = [each for each in sorted(configs, key=itemgetter("id")) if each["id"] > after]
    page = remaining[:size]
    following = page[-1]["id"] if len(remaining) > size else ""
    return {"configs": page, "nextPageToken": following}


async def delete(context: Context, request: Json) -> None:
    """Remove a configuration, if it is there.  Raises A2aError."""
    push, task_id = _require_push(context), str(request["taskId"])
    await _find_run(context, task_id)
    id = subscription_id(context.caller, context.agent_id, task_id, str(request["id"]))
    await _catch_up(push)
    if push.store.entry(id).subscription is not None:
        try:
            await push.store.remove(id)
        except InfrastructureError as exc:
            raise unavailable(exc.message, task_id=task_id) from exc


class Enclosed:
    """The configuration inside a message: set before the call, and taken back if that is refused.

    No event can come before it, since the task is not there yet.
    """

    def __init__(self, context: Context, task_id: str, config: Json) -> None:
        self._context, self._task_id, self._config = context, task_id, config
        self._push = _require_push(context)
        self._written: Subscription | None = None
        self._before: Subscription | None = None

    async def set(self) -> None:
        """Write it.  Raises A2aError."""
        path = "/configuration/taskPushNotificationConfig"
        self._written, self._before = await _write(
            self._context, self._push, self._task_id, self._config, path
        )

    async def take_back(self) -> None:
        """Restore what was there before; if that fails, it ends by itself after an hour."""
        if self._written is None:
            return
        with suppress(InfrastructureError):
            if self._before is None:
                await self._push.store.remove(self._written.id)
            else:
                await self._push.store.put(self._before)


def enclosed(context: Context, task_id: str, request: Json) -> Enclosed | None:
    """Return the configuration inside a message, None without one.  Raises A2aError."""
    config = request.get("configuration", {}).get("taskPushNotificationConfig")
    return None if config is None else Enclosed(context, task_id, config)


def subscription_id(caller: Caller | None, agent_id: str, task_id: str, config_id: str) -> str:
    """Return the id of the subscription that a configuration is."""
    principal = "" if caller is None else caller.principal
    text = canonical_json([principal, agent_id, task_id, config_id])
    return f"a2a_{sha256_hex(text)[:32]}"


def events_now(log: Log, prefix: str) -> str:
    """Return the cursor behind all events that are on the log now.  Raises BrokerUnavailable."""
    topic = full_name(SUMMIT_EVENTS, prefix)
    tps = [TopicPartition(topic, number) for number in range(log.topics()[topic].partitions)]
    ends = log.ends(tps)
    return write_cursor(DOOR, {SUMMIT_EVENTS.name: [ends[tp] for tp in tps]})


def _require_push(context: Context) -> PushService:
    push = context.door.push
    if push is None:
        raise A2aError("a2a.push_off", "the gateway sends no push notifications")
    return push


async def _find_run(context: Context, task_id: str) -> Json:
    """Return the row of a task that the caller may see.  Raises A2aError."""
    return await context.read(
        lambda view: find_run(view, task_id, context.agent_id, context.caller)
    )


async def _list_live(context: Context, push: PushService, task_id: str) -> list[Subscription]:
    """Return the caller's configurations of a task that have not ended.  Raises A2aError."""
    await _catch_up(push)
    principal = "" if context.caller is None else context.caller.principal
    return [
        each
        for each in _live_of(push, task_id)
        if each.principal == principal and each.arguments["agentId"] == context.agent_id
    ]


def _live_of(push: PushService, task_id: str) -> list[Subscription]:
    now = push.clock()
    return [
        entry.subscription
        for entry in push.store.entries().values()
        if entry.subscription is not None
        and (entry.subscription.door, entry.subscription.name) == (DOOR, task_id)
        and entry.is_live(now)
    ]


async def _write(
    context: Context, push: PushService, task_id: str, config: Json, path: str
) -> tuple[Subscription, Subscription | None]:
    """Write a configuration; return it, and the live one that it replaces.

    path: of the configuration in the request.  Raises A2aError.
    """
    url = config.get("url", "")
    config_id = config.get("id") or uuid5_url(f"headrace:a2a:push:{task_id}/{url}")
    if len(config_id) > _MAX_ID:
        raise A2aError("a2a.shape", f"id is at most {_MAX_ID} characters", f"{path}/id")
    secret = canonical_json(_read_secret(config, path))
    try:
        await push.poster.check(url)
    except UrlRefused as exc:
        raise A2aError("a2a.push_url", str(exc), f"{path}/url", task_id=task_id) from exc
    await _catch_up(push)
    id = subscription_id(context.caller, context.agent_id, task_id, config_id)
    others = sum(1 for each in _live_of(push, task_id) if each.id != id)
    if others >= MAX_CONFIGS:
        detail = f"the task has {others} push configurations already"
        raise A2aError("a2a.push_limit", detail, path or None, task_id=task_id)
    entry, now = push.store.entry(id), push.clock()
    existing = entry.subscription if entry.is_live(now) else None
    gateway = context.door.gateway
    try:
        since = (
            await asyncio.to_thread(events_now, gateway.log, gateway.settings.prefix)
            if existing is None
            else existing.since_cursor
        )
        subscription = Subscription(
            id=id,
            revision=entry.last_revision + 1 if existing is None else existing.revision,
            door=DOOR,
            principal="" if context.caller is None else context.caller.principal,
            name=task_id,
            arguments_json=canonical_json(
                {"agentId": context.agent_id, "configId": config_id}
            ).decode(),
            url=url,
            secret=push.sealer.seal(secret, id),
            since_cursor=since,
            granted_at=entry.next_grant(now),
        )
        await push.store.put(subscription)
    except InfrastructureError as exc:
        raise unavailable(exc.message, task_id=task_id) from exc
    return subscription, existing


async def _catch_up(push: PushService) -> None:
    """Read what is on the log.  Raises A2aError."""
    try:
        await push.store.catch_up()
    except InfrastructureError as exc:
        raise unavailable(exc.message) from exc


def _read_secret(config: Json, path: str) -> Json:
    """Return what receivers are shown of a configuration.  Raises A2aError."""
    authentication = config.get("authentication", {})
    values: dict[str, Any] = {
        "/token": config.get("token"),
        "/authentication/scheme": authentication.get("scheme"),
        "/authentication/credentials": authentication.get("credentials"),
    }
    for member, value in values.items():
        if value is not None and not _HEADER_VALUE.fullmatch(value):
            detail = "the value becomes a header: visible ASCII, at most 4096 characters"
            raise A2aError("a2a.shape", detail, f"{path}{member}")
    secret: Json = {}
    if config.get("token"):
        secret["token"] = config["token"]
    if authentication:
        secret["authentication"] = authentication
    return secret


def _show(push: PushService, subscription: Subscription) -> Json:
    """Return a configuration, TaskPushNotificationConfig, without token and credentials."""
    config: Json = {
        "taskId": subscription.name,
        "id": subscription.arguments["configId"],
        "url": subscription.url,
    }
    try:
        secret = json.loads(push.sealer.open(subscription.secret, subscription.id))
    except SecretUnreadable:
        return config
    scheme = secret.get("authentication", {}).get("scheme")
    return config if scheme is None else {**config, "authentication": {"scheme": scheme}}
