"""The deliveries of one subscription: in order, one at a time, each until it is taken."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from streams.doors.push.posting import GONE, TOO_LARGE, Posted, Poster
from streams.doors.push.sealing import Sealer, SecretUnreadable
from streams.doors.push.store import Store
from streams.doors.push.subscriptions import Delivery, Entry, State, Subscription
from streams.errors import HeadraceError, InfrastructureError

DELIVERED, FAILED, GIVEN_UP, REFUSED = "delivered", "failed", "too_large", "gone"
"""The results of attempts."""
SECRET_UNREADABLE = "secret_unreadable"
_SPREAD = 0.2

_log = logging.getLogger(__name__)


class Pace(NamedTuple):
    """The pauses of deliveries, in seconds.

    first, longest: between attempts, doubled each time.  suspended_after: how long all attempts
    fail until they end.  look: how often it is checked that a principal may still have events.
    kept_after_end: how long the records of what has ended are kept.
    idle_write: how often it is written how far a subscription without events is.
    after_fault: before a door that has failed is tried again.  tick: between looks at what is due.
    """

    first: float = 1.0
    longest: float = 300.0
    suspended_after: float = 86_400.0
    look: float = 60.0
    kept_after_end: float = 86_400.0
    idle_write: float = 60.0
    after_fault: float = 10.0
    tick: float = 1.0

    def pause_s(self, attempts: int) -> float:
        """Return the seconds before the next attempt, after so many that have failed."""
        doubled = min(self.first * 2.0 ** min(attempts, 30), self.longest)
        return doubled * random.uniform(1 - _SPREAD, 1 + _SPREAD)


PACE = Pace()


class Message(NamedTuple):
    """One POST.

    cursor: where deliveries go on once it is taken, None for the present place.
    headers: makes those of one attempt, since signatures have a time.  at: of the event, in ms.
    """

    content: bytes
    headers: Callable[[], Mapping[str, str]]
    cursor: str | None = None
    at: int | None = None


class Door(Protocol):
    """The side of a door that knows what its subscriptions are owed."""

    async def run(self, outlet: Courier) -> str | None:
        """Deliver what a subscription is owed, from the outlet's cursor on.

        Returns the reason why nothing more will come, None if the gateway stops.
        """

    def may_receive(self, subscription: Subscription) -> bool:
        """Return whether the principal may still have the events."""

    def farewell(self, outlet: Courier) -> Message | None:
        """Return what is posted once to whom events are refused from now on."""


@dataclass(frozen=True)
class SenderContext:
    """The means that all couriers of one gateway share.

    clock: returns ms since the epoch.  count: counts an attempt, by door and result.
    """

    store: Store
    poster: Poster
    sealer: Sealer
    clock: Callable[[], int]
    count: Callable[[str, str], None]
    pace: Pace = PACE


class _Over(Exception):
    """No further delivery is made."""


class Courier:
    """Delivers for one revision of a subscription, until it ends or is taken away.

    subscription: as it was asked for last.  row: the state that was written last.
    pending_at: the time of the event that is being delivered, ms, None without one.
    """

    def __init__(self, context: SenderContext, entry: Entry) -> None:
        assert entry.subscription is not None
        self.subscription = entry.subscription
        self._context = context
        self._refreshed = asyncio.Event()
        self._written_at = context.clock()
        self.pending_at: int | None = None
        self.row = entry.current or Delivery(
            entry.subscription.id,
            entry.subscription.revision,
            entry.cursor,
            State.ACTIVE,
            self._written_at,
        )
        if self.row.state is not State.ACTIVE:
            self.row = self.row._replace(
                state=State.ACTIVE, attempts=0, failing_since=None, reason=None
            )

    @property
    def cursor(self) -> str:
        """Return where deliveries go on."""
        return self.row.cursor

    def now(self) -> int:
        """Return the time, in ms since the epoch."""
        return self._context.clock()

    def refresh(self, subscription: Subscription) -> None:
        """Take over what the subscription says now, and try again at once."""
        if subscription != self.subscription:
            self.subscription = subscription
            self._refreshed.set()

    def secrets(self) -> Sequence[bytes]:
        """Return the secrets that sign now, the newest first.  Raises SecretUnreadable."""
        current, open_secret = self.subscription, self._context.sealer.open
        secrets = [open_secret(current.secret, current.id)]
        until = current.previous_until
        if (
            current.previous_secret is not None
            and until is not None
            and until > self._context.clock()
        ):
            secrets.append(open_secret(current.previous_secret, current.id))
        return secrets

    async def run(self, door: Door) -> None:
        """Deliver until nothing more will come, or it is suspended or cancelled."""
        last_warning = ""
        while True:
            try:
                reason = await door.run(self)
                if reason is not None:
                    await self.end(reason)
                    return
            except _Over:
                return
            except HeadraceError as exc:
                if exc.message != last_warning:
                    _log.warning("deliveries for %s pause: %s", self.row.id, exc)
                last_warning = exc.message
            except Exception:
                _log.exception("deliveries for %s pause", self.row.id)
            await asyncio.sleep(self._context.pace.after_fault)

    async def deliver(self, message: Message) -> None:
        """Post a message until it is taken or given up, and write that."""
        self.pending_at = message.at
        while True:
            posted = await self._attempt(message)
            now = self._context.clock()
            if posted.is_success or posted.status == TOO_LARGE:
                self._count(DELIVERED if posted.is_success else GIVEN_UP)
                await self._write(
                    cursor=message.cursor or self.cursor,
                    attempts=0,
                    failing_since=None,
                    last_delivery_at=now if posted.is_success else self.row.last_delivery_at,
                    last_error=posted.fault,
                )
                self.pending_at = None
                return
            if posted.status == GONE:
                self._count(REFUSED)
                await self._write(last_error=posted.fault, state=State.ENDED, reason="gone")
                raise _Over
            self._count(FAILED)
            await self._note_failure(posted.fault, now)

    async def move(self, cursor: str) -> None:
        """Note that nothing is owed before a cursor; written once a minute."""
        if cursor == self.cursor:
            return
        self.row = self.row._replace(cursor=cursor)
        if self._context.clock() - self._written_at >= self._context.pace.idle_write * 1000:
            await self._write()

    async def end(self, reason: str) -> None:
        """Write that no further delivery is made."""
        await self._write(state=State.ENDED, reason=reason)

    async def post_once(self, message: Message) -> None:
        """Post a message, whether it is taken or not."""
        posted = await self._attempt(message)
        self._count(DELIVERED if posted.is_success else FAILED)

    async def _attempt(self, message: Message) -> Posted:
        try:
            headers = message.headers()
        except SecretUnreadable:
            return Posted(None, SECRET_UNREADABLE)
        return await self._context.poster.post(self.subscription.url, message.content, headers)

    async def _note_failure(self, fault: str | None, now: int) -> None:
        """Write a failed attempt, and wait for the next.  Raises _Over if it is suspended."""
        since = now if self.row.failing_since is None else self.row.failing_since
        attempts = self.row.attempts
        is_hopeless = now - since >= self._context.pace.suspended_after * 1000
        self._refreshed.clear()
        await self._write(
            attempts=attempts + 1,
            failing_since=since,
            last_error=fault,
            state=State.SUSPENDED if is_hopeless else State.ACTIVE,
            reason="failing" if is_hopeless else None,
        )
        if is_hopeless:
            raise _Over
        try:
            async with asyncio.timeout(self._context.pace.pause_s(attempts)):
                await self._refreshed.wait()
        except TimeoutError:
            return

    async def _write(self, **changes: Any) -> None:
        """Write the state until Kafka has it: what was delivered must be known."""
        now = self._context.clock()
        self.row = self.row._replace(at=now, **changes)
        while True:
            try:
                await self._context.store.put_delivery(self.row)
                self._written_at = now
                return
            except InfrastructureError as exc:
                _log.warning("a delivery for %s is not written: %s", self.row.id, exc.message)
                await asyncio.sleep(1.0)

    def _count(self, result: str) -> None:
        self._context.count(self.subscription.door, result)
