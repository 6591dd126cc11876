"""A push service over a log in memory, and a door whose events a test gives."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from streams.doors.push.addresses import AllowList
from streams.doors.push.courier import Courier, Message, Pace
from streams.doors.push.posting import Poster
from streams.doors.push.sender import Figures
from streams.doors.push.service import PushService
from streams.doors.push.subscriptions import Entry, Subscription
from streams.engine.memory import MemoryLog
from streams.ops.topics import create_topics
from streams.settings import Settings

KEY = "k" * 32
QUICK = Pace(first=0.01, longest=0.05, look=0.01, after_fault=0.01, tick=0.02)
LOOPBACK = AllowList.parse("127.0.0.0/8")


class Clock:
    """A clock that a test moves, in ms."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


class Counts:
    """The metrics of a service."""

    def __init__(self) -> None:
        self.attempts: Counter[tuple[str, str]] = Counter()
        self.figures = Figures({}, {})

    def count_push(self, door: str, result: str) -> None:
        self.attempts[door, result] += 1

    def set_push(self, figures: Figures) -> None:
        self.figures = figures


class NumberedDoor:
    """A door that owes the numbers from a cursor on, as far as it has got.

    ends: it has no further ones.  principals: those that may have events.
    """

    def __init__(self, last: int = 0) -> None:
        self.last, self.ends = last, False
        self.principals = {"kim"}
        self.began_at: list[int] = []
        self.fault: Exception | None = None

    async def run(self, outlet: Courier) -> str | None:
        self.began_at.append(int(outlet.cursor))
        while True:
            if self.fault is not None:
                raise self.fault
            number = int(outlet.cursor) + 1
            if number <= self.last:
                await outlet.deliver(self._message(outlet, str(number), str(number)))
            elif self.ends:
                return "done"
            else:
                await asyncio.sleep(0.005)

    def may_receive(self, subscription: Subscription) -> bool:
        return subscription.principal in self.principals

    def farewell(self, outlet: Courier) -> Message | None:
        return self._message(outlet, "farewell")

    def _message(self, outlet: Courier, text: str, cursor: str | None = None) -> Message:
        def headers() -> dict[str, str]:
            return {"x-secrets": b",".join(outlet.secrets()).decode()}

        return Message(text.encode(), headers, cursor, 0)


def new_log(clock: Callable[[], int]) -> MemoryLog:
    log = MemoryLog(clock)
    create_topics(log, settings())
    return log


def settings(**changes: Any) -> Settings:
    return replace(Settings(), partitions=2, gateway_key=KEY, **changes)


def new_service(
    log: MemoryLog,
    clock: Callable[[], int],
    counts: Counts | None = None,
    pace: Pace = QUICK,
    answer_s: float = 10,
) -> PushService:
    poster = Poster(LOOPBACK, answer_s=answer_s)
    return PushService(settings(), log, clock, counts or Counts(), poster=poster, pace=pace)


@asynccontextmanager
async def serving(service: PushService, door: NumberedDoor) -> AsyncIterator[PushService]:
    async with asyncio.timeout(60), service.run({"mcp": door}):
        yield service


def subscription(service: PushService, url: str, **changes: Any) -> Subscription:
    """Return a subscription of kim.  changes: to it."""
    id = changes.pop("id", "sub_1")
    secret = service.sealer.seal(changes.pop("secret", b"s1"), id)
    first = Subscription(id, 1, "mcp", "kim", "n", "{}", url, secret, "0", service.clock())
    return first._replace(**changes)


async def wait_for_entry(
    service: PushService, is_right: Callable[[Entry], bool], id: str = "sub_1"
) -> Entry:
    """Wait until the store has what is right for an id, and return it."""
    entry: Entry = await until(lambda: service.store.entry(id), is_right)
    return entry


async def until(look: Callable[[], Any], is_right: Callable[[Any], bool]) -> Any:
    while not is_right(value := look()):
        await asyncio.sleep(0.005)
    return value


def run(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(work())  # type: ignore[arg-type] # a coroutine


def bodies(requests: Sequence[Any]) -> list[str]:
    return [each.body.decode() for each in requests]
