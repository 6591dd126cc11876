"""Replies by idempotency key, for sends that come again (asap spec 6.2)."""

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

MOST = 10_000
LIFETIME_S = 24 * 3600.0
Key = tuple[str, str, str]


class _Kept(NamedTuple):
    since: float
    reply: Future[Envelope]


class Replies:
    """The latest ones, each for a day.  clock: seconds, from any start.

    Sends may come from several event loops.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()

    async def once(
        self, envelope: Envelope, key: str | None, make: Callable[[], Awaitable[Envelope]]
    ) -> Envelope:
        """The reply, made once for all sends of this envelope with this key.

        A send that comes while the first is being answered waits for that one's reply.  A failure
        is told to all who wait, and is not kept.
        """
        if key is None:
            return await make()
        own: Key = (key, envelope.sender, _hash(envelope))
        reply, first = self._entered(own)
        if not first:
            return await asyncio.wrap_future(reply)
        try:
            made = await make()
        except BaseException as exc:
            self._forget(own)
            reply.set_exception(exc if isinstance(exc, Exception) else ConnectionAbortedError())
            raise
        reply.set_result(made)
        return made

    def _entered(self, key: Key) -> tuple[Future[Envelope], bool]:
        """What will hold the reply, and whether it is to be made now."""
        now = self._clock()
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and now - kept.since <= LIFETIME_S:
                return kept.reply, False
            self._kept.pop(key, None)
            reply: Future[Envelope] = Future()
            reply.set_running_or_notify_cancel()  # who waits for it and gives up leaves it as it is
            self._kept[key] = _Kept(now, reply)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
            return reply, True

    def _forget(self, key: Key) -> None:
        with self._lock:
            self._kept.pop(key, None)


def _hash(envelope: Envelope) -> str:
    """The canonical hash; where there is none, one over what was sent."""
    try:
        return envelope_hash(envelope)
    except (MalformedEnvelopeError, ValueError):
        return sha256_hex(json.dumps(json_form(envelope), sort_keys=True).encode())
