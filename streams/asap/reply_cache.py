"""A cache of replies by idempotency key, for repeated requests (ASAP guide, 6.2)."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import NamedTuple

from schemas import sha256_hex
from schemas.asap import Envelope, MalformedEnvelopeError, envelope_hash, json_form

MAX_REPLIES = 10_000
LIFETIME_S = 24 * 3600.0
Key = tuple[str, str, str]


class _CachedReply(NamedTuple):
    since: float
    reply: Future[Envelope]


class ReplyCache:
    """The latest replies, each for a day.  clock: seconds, from any start.

    Requests may come from several event loops.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[Key, _CachedReply] = OrderedDict()

    async def get_or_make(
        self, envelope: Envelope, key: str | None, make: Callable[[], Awaitable[Envelope]]
    ) -> Envelope:
        """Return the reply, made once for all requests with this envelope and this key.

        A request that comes while the first is in progress waits for its reply.  A failure is
        raised to all that wait, and is not cached.
        """
        if key is None:
            return await make()
        cache_key: Key = (key, envelope.sender, _hash(envelope))
        reply, first = self._find_or_reserve(cache_key)
        if not first:
            return await asyncio.wrap_future(reply)
        try:
            result = await make()
        except BaseException as exc:
            self._forget(cache_key)
            reply.set_exception(exc if isinstance(exc, Exception) else ConnectionAbortedError())
            raise
        reply.set_result(result)
        return result

    def _find_or_reserve(self, key: Key) -> tuple[Future[Envelope], bool]:
        """Return the future of the reply, and whether the caller has to make the reply."""
        now = self._clock()
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and now - entry.since <= LIFETIME_S:
                return entry.reply, False
            self._entries.pop(key, None)
            reply: Future[Envelope] = Future()
            reply.set_running_or_notify_cancel()  # a cancelled waiter must not cancel it
            self._entries[key] = _CachedReply(now, reply)
            while len(self._entries) > MAX_REPLIES:
                self._entries.popitem(last=False)
            return reply, True

    def _forget(self, key: Key) -> None:
        with self._lock:
            self._entries.pop(key, None)


def _hash(envelope: Envelope) -> str:
    """Return the canonical hash of an envelope; without a canonical form, the hash of its JSON."""
    try:
        return envelope_hash(envelope)
    except (MalformedEnvelopeError, ValueError):
        return sha256_hex(json.dumps(json_form(envelope), sort_keys=True).encode())
