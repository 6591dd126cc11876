"""Webhooks: `events/subscribe` and `events/unsubscribe`.

A subscription is on the log, so any gateway answers for it.  Source: MCP page, Webhooks.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import secrets
from typing import Any

import mcp.types as types
from pydantic import Field

from schemas import canonical_json, sha256_hex
from schemas.formats import iso_ms
from streams.access.callers import Caller
from streams.api.problems import error_response
from streams.api.route import Refused
from streams.doors.mcp.door import Door
from streams.doors.mcp.event_types import Arguments, EventType
from streams.doors.mcp.events import WEBHOOK, check_request, offers_webhooks
from streams.doors.mcp.polling import find_begin, oldest_of
from streams.doors.mcp.results import Json, ToolRefused, refused, refused_by
from streams.doors.mcp.signatures import JSON_TYPE, SUBSCRIPTION_ID, sign
from streams.doors.mcp.wire import refusal_error
from streams.doors.push.addresses import UrlRefused
from streams.doors.push.posting import ADDRESS_REFUSED, Posted, category_of
from streams.doors.push.sealing import SecretUnreadable
from streams.doors.push.service import PushService
from streams.doors.push.subscriptions import Entry, State, Subscription
from streams.errors import HeadraceError
from streams.gateway.caller import get_caller
from streams.gateway.endpoints import require_broker
from streams.gateway.log_reads import read_log

DOOR = "mcp"
MIN_TTL_MS = 60_000
OVERLAP_MS = 600_000
"""How long a secret signs beside the one that replaces it."""
VERIFIED_MS = 86_400_000
"""How long an address that has answered a challenge is not asked again."""
_SECRET_PREFIX = "whsec_"
_SECRET_BYTES = (24, 64)
_CHALLENGE_BYTES = 32
_REASONS = ("connection_refused", "timeout", "tls_error", "http_4xx", "http_5xx")
_CHALLENGE_FAILED = "challenge_failed"


class SubscribeParams(types.RequestParams):
    """The parameters of `events/subscribe`."""

    name: str
    arguments: dict[str, Any] | None = None
    delivery: dict[str, Any]
    cursor: str | None = None
    max_age_ms: int | None = Field(default=None, alias="maxAgeMs", ge=0)
    ttl_ms: int | None = Field(default=None, alias="ttlMs", ge=0)


class UnsubscribeParams(types.RequestParams):
    """The parameters of `events/unsubscribe`."""

    name: str
    arguments: dict[str, Any] | None = None
    delivery: dict[str, Any]


async def subscribe(door: Door, params: SubscribeParams) -> Json:
    """Post events to an address from now on, or go on doing so.  Raises MCPError."""
    try:
        kind, narrowed = check_request(params.name, params.arguments or {})
        push, caller = _require_webhooks(door, params.delivery)
        return await _Request(door, push, caller, params).grant(kind, narrowed)
    except _Limited as exc:
        raise refusal_error(exc, limit="subscriptions", max=exc.limit) from exc
    except _Unverified as exc:
        raise refusal_error(exc, reason=exc.reason) from exc
    except ToolRefused as exc:
        rule = exc.body.get("rule")
        mode = {"feature": "deliveryMode", "value": params.delivery.get("mode")}
        raise refusal_error(exc, **(mode if rule == "event_mode" else {})) from exc
    except Refused as exc:
        raise refusal_error(refused_by(exc.response)) from exc
    except HeadraceError as exc:
        raise refusal_error(refused_by(error_response(exc))) from exc


async def unsubscribe(door: Door, params: UnsubscribeParams) -> Json:
    """End a subscription.  Raises MCPError."""
    push, caller = door.push, get_caller()
    try:
        if push is not None and caller is not None:
            url = str(params.delivery.get("url"))
            id = subscription_id(caller.principal, url, params.name, params.arguments or {})
            await push.store.catch_up()
            if push.store.entry(id).is_live(push.clock()):
                await push.store.remove(id)
                return {}
    except HeadraceError as exc:
        raise refusal_error(refused_by(error_response(exc))) from exc
    detail = "the caller has no subscription like this"
    raise refusal_error(refused(404, detail, "subscription_unknown"))


def subscription_id(principal: str, url: str, name: str, arguments: Arguments) -> str:
    """Return the id of who wants which events where."""
    text = canonical_json([principal, url, name, dict(arguments)])
    return f"sub_{sha256_hex(text)[:32]}"


class _Limited(ToolRefused):
    """The principal has as many subscriptions as it may have."""

    def __init__(self, limit: int) -> None:
        detail = f"the caller has {limit} webhooks, as many as it may have"
        super().__init__(refused(429, detail, "webhook_limit").body)
        self.limit = limit


class _Unverified(ToolRefused):
    """The address did not answer its challenge."""

    def __init__(self, reason: str) -> None:
        detail = f"the address has not answered the challenge: {reason}"
        super().__init__(refused(422, detail, "webhook_challenge", "/delivery/url").body)
        self.reason = reason


class _Request:
    """One request for a subscription."""

    def __init__(
        self, door: Door, push: PushService, caller: Caller, params: SubscribeParams
    ) -> None:
        self._door, self._push, self._params = door, push, params
        self._principal = caller.principal
        self._arguments = params.arguments or {}
        self._url = _read_url(params.delivery)
        self._secret = read_secret(params.delivery.get("secret"))
        self._id = subscription_id(self._principal, self._url, params.name, self._arguments)

    async def grant(self, kind: EventType, narrowed: Arguments) -> Json:
        """Write the subscription, and return the answer.  Raises ToolRefused, HeadraceError."""
        push = self._push
        try:
            await push.poster.check(self._url)
        except UrlRefused as exc:
            raise refused(422, str(exc), "webhook_url", "/delivery/url") from exc
        await push.store.catch_up()
        now, entry = push.clock(), push.store.entry(self._id)
        is_live = entry.is_live(now)
        if is_live:
            cursor, truncated = entry.cursor, False
        else:
            self._check_limit(now)
            cursor, truncated = await self._find_begin(kind, narrowed)
        verified_at = self._find_verification(now)
        if verified_at is None:
            await self._challenge()
            verified_at = push.clock()
        subscription = self._make(entry, is_live, cursor, verified_at)
        await push.store.put(subscription)
        assert subscription.refresh_before is not None
        answer: Json = {
            "id": self._id,
            "refreshBefore": iso_ms(subscription.refresh_before),
            "cursor": cursor,
            "truncated": truncated,
        }
        return {**answer, "deliveryStatus": _status_of(entry)} if is_live else answer

    def _check_limit(self, now: int) -> None:
        """Raise _Limited if there are as many subscriptions as may be."""
        limit = self._door.settings.mcp_webhooks
        count = sum(
            1
            for each in self._push.store.entries().values()
            if each.subscription is not None
            and (each.subscription.door, each.subscription.principal) == (DOOR, self._principal)
            and each.is_live(now)
        )
        if count >= limit:
            raise _Limited(limit)

    async def _find_begin(self, kind: EventType, narrowed: Arguments) -> tuple[str, bool]:
        """Return the cursor where deliveries begin.  Raises ToolRefused, Refused, HeadraceError."""
        gateway, params = self._door.gateway, self._params
        require_broker(gateway)
        oldest = oldest_of(gateway, params.max_age_ms)
        return await read_log(
            gateway, lambda: find_begin(gateway, kind, narrowed, params.cursor, oldest)
        )

    def _find_verification(self, now: int) -> int | None:
        """Return when the address has last answered this principal, None if that is long ago."""
        times = [
            each.subscription.verified_at or 0
            for each in self._push.store.entries().values()
            if each.subscription is not None
            and (each.subscription.principal, each.subscription.url) == (self._principal, self._url)
        ]
        latest = max(times, default=0)
        return latest if now - latest < VERIFIED_MS else None

    async def _challenge(self) -> None:
        """Let the address prove that it wants events.  Raises _Unverified, ToolRefused."""
        challenge = secrets.token_urlsafe(_CHALLENGE_BYTES)
        content = json.dumps({"type": "verification", "challenge": challenge}).encode()
        id = f"verification_{secrets.token_hex(16)}"
        headers = {
            **sign([self._secret], id, content, self._push.clock()),
            "content-type": JSON_TYPE,
            SUBSCRIPTION_ID: self._id,
        }
        posted = await self._push.poster.post(self._url, content, headers, reads_answer=True)
        if posted.error == ADDRESS_REFUSED:
            detail = "the host is at no address that events may be posted to"
            raise refused(422, detail, "webhook_url", "/delivery/url")
        if not posted.is_success:
            reason = category_of(posted.fault)
            raise _Unverified(reason if reason in _REASONS else _CHALLENGE_FAILED)
        if not _has_answered(posted, challenge):
            raise _Unverified(_CHALLENGE_FAILED)

    def _make(self, entry: Entry, is_live: bool, cursor: str, verified_at: int) -> Subscription:
        """Return the subscription as it is from now on."""
        push, existing = self._push, entry.subscription if is_live else None
        now = push.clock()
        longest = self._door.settings.mcp_webhook_ttl_s * 1000
        ttl = longest if self._params.ttl_ms is None else min(self._params.ttl_ms, longest)
        previous, until = self._overlap(existing, now)
        return Subscription(
            id=self._id,
            revision=entry.last_revision + 1 if existing is None else existing.revision,
            door=DOOR,
            principal=self._principal,
            name=self._params.name,
            arguments_json=canonical_json(self._arguments).decode(),
            url=self._url,
            secret=push.sealer.seal(self._secret, self._id),
            previous_secret=previous,
            previous_until=until,
            since_cursor=cursor if existing is None else existing.since_cursor,
            verified_at=verified_at,
            granted_at=entry.next_grant(now),
            refresh_before=now + max(ttl, MIN_TTL_MS),
        )

    def _overlap(self, existing: Subscription | None, now: int) -> tuple[bytes | None, int | None]:
        """Return the secret that signs beside the new one, sealed, and until when."""
        if existing is None:
            return None, None
        try:
            is_same = self._push.sealer.open(existing.secret, existing.id) == self._secret
        except SecretUnreadable:
            return None, None
        if is_same:
            return existing.previous_secret, existing.previous_until
        return existing.secret, now + OVERLAP_MS


def _require_webhooks(door: Door, delivery: Json) -> tuple[PushService, Caller]:
    """Return what posts events, and who asks for it.  Raises ToolRefused."""
    push, caller, mode = door.push, get_caller(), delivery.get("mode")
    if push is None or not offers_webhooks(door) or mode != WEBHOOK:
        detail = "events are not delivered so here; call events/poll, or open events/stream"
        raise refused(422, detail, "event_mode", "/delivery/mode")
    if caller is None:
        raise refused(403, "a webhook belongs to the principal of a token", "event_forbidden")
    return push, caller


def _read_url(delivery: Json) -> str:
    """Return the address.  Raises ToolRefused."""
    url = delivery.get("url")
    if not isinstance(url, str):
        raise refused(422, "the URL of a webhook is a text", "webhook_url", "/delivery/url")
    return url


def read_secret(text: Any) -> bytes:
    """Return the bytes of a signing secret.  Raises ToolRefused."""
    low, high = _SECRET_BYTES
    if isinstance(text, str) and text.startswith(_SECRET_PREFIX):
        try:
            secret = base64.b64decode(text.removeprefix(_SECRET_PREFIX), validate=True)
        except (binascii.Error, ValueError):
            secret = b""
        if low <= len(secret) <= high:
            return secret
    detail = f"the secret is {_SECRET_PREFIX} and the base64 of {low} to {high} bytes"
    raise refused(422, detail, "webhook_secret", "/delivery/secret")


def _has_answered(posted: Posted, challenge: str) -> bool:
    """Return whether the body of an answer repeats the challenge."""
    try:
        answer = json.loads(posted.body)
    except (ValueError, RecursionError):
        return False
    text = answer.get("challenge") if isinstance(answer, dict) else None
    return isinstance(text, str) and hmac.compare_digest(text.encode(), challenge.encode())


def _status_of(entry: Entry) -> Json:
    """Return the state of the deliveries before the refresh."""
    delivery = entry.current
    if delivery is None:
        return {"active": True, "lastDeliveryAt": None, "lastError": None, "failedSince": None}
    return {
        "active": delivery.state is State.ACTIVE,
        "lastDeliveryAt": _time(delivery.last_delivery_at),
        "lastError": category_of(delivery.last_error),
        "failedSince": _time(delivery.failing_since),
    }


def _time(ms: int | None) -> str | None:
    return None if ms is None else iso_ms(ms)
