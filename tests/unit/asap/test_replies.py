"""Replies by idempotency key, where several wait for one (ASAP guide, 6.2)."""

from __future__ import annotations

import asyncio

import pytest

from schemas.asap import Envelope
from streams.asap.reply_cache import ReplyCache
from tests.unit.asap.support import envelope


def test_who_gives_up_waiting_leaves_the_reply_to_the_others() -> None:
    of, reply = envelope(), envelope("TaskResponse")

    async def story() -> None:
        replies, ready = ReplyCache(), asyncio.Event()

        async def make() -> Envelope:
            await ready.wait()
            return reply

        first, second, third = (
            asyncio.ensure_future(replies.get_or_make(of, "k", make)) for _ in range(3)
        )
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        ready.set()
        assert await first is reply
        assert await third is reply
        assert await replies.get_or_make(of, "k", make) is reply

    asyncio.run(story())
