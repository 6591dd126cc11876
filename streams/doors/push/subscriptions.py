"""Subscriptions, and how far their deliveries are, as records of two compacted topics.

A subscription is written by the gateway that was asked; the state of its deliveries by the one that
owns its partition.  So neither waits for the other, and what both say is compared by `revision`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

import orjson

from schemas import Undecodable, decode, encode
from topology.core import PUSH_DELIVERIES, PUSH_SUBSCRIPTIONS


class State(StrEnum):
    """The state of the deliveries of a subscription."""

    ACTIVE = "active"
    SUSPENDED = "suspended"  # they failed for long; goes on when it is asked for again
    ENDED = "ended"


class Subscription(NamedTuple):
    """PushSubscription.  Times are ms since the epoch.

    principal: empty where no tokens are needed.  secret, previous_secret: sealed.
    """

    id: str
    revision: int
    door: str
    principal: str
    name: str
    arguments_json: str
    url: str
    secret: bytes
    since_cursor: str
    granted_at: int
    previous_secret: bytes | None = None
    previous_until: int | None = None
    verified_at: int | None = None
    refresh_before: int | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        members: dict[str, Any] = orjson.loads(self.arguments_json)
        return members

    def is_expired(self, now: int) -> bool:
        return self.refresh_before is not None and self.refresh_before <= now

    def encode(self) -> bytes:
        return encode(PUSH_SUBSCRIPTIONS.record or "", self._asdict())


class Delivery(NamedTuple):
    """PushDelivery.  Times are ms since the epoch."""

    id: str
    revision: int
    cursor: str
    state: State
    at: int
    attempts: int = 0
    failing_since: int | None = None
    last_delivery_at: int | None = None
    last_error: str | None = None
    reason: str | None = None

    def encode(self) -> bytes:
        return encode(PUSH_DELIVERIES.record or "", {**self._asdict(), "state": self.state.value})


class Entry(NamedTuple):
    """The records of both topics with one id."""

    subscription: Subscription | None = None
    delivery: Delivery | None = None

    @property
    def current(self) -> Delivery | None:
        """Return the state of the deliveries of this revision, None if there was none yet."""
        subscription, delivery = self.subscription, self.delivery
        if subscription is None or delivery is None or delivery.revision < subscription.revision:
            return None
        return delivery

    @property
    def state(self) -> State:
        """Return the state: active also where it was asked for again after another was written."""
        delivery = self.current
        if delivery is None or self.subscription is None:
            return State.ACTIVE
        is_renewed = self.subscription.granted_at > delivery.at
        return State.ACTIVE if is_renewed else delivery.state

    @property
    def cursor(self) -> str:
        """Return where deliveries go on."""
        assert self.subscription is not None
        delivery = self.current
        return self.subscription.since_cursor if delivery is None else delivery.cursor

    @property
    def last_revision(self) -> int:
        """Return the last revision that either topic names, 0 without one."""
        return max((each.revision for each in self if each is not None), default=0)

    def next_grant(self, now: int) -> int:
        """Return the time of a grant made now: after the delivery's, whatever clock wrote that."""
        return now if self.delivery is None else max(now, self.delivery.at + 1)

    @property
    def is_open(self) -> bool:
        """Return whether it has not ended, whatever the time is."""
        return self.subscription is not None and self.state is not State.ENDED

    def is_live(self, now: int) -> bool:
        """Return whether there is a subscription that has not ended."""
        subscription = self.subscription
        return self.is_open and subscription is not None and not subscription.is_expired(now)


def read_subscription(value: bytes) -> Subscription | None:
    """Decode a record; None for one that no gateway has written."""
    try:
        return Subscription(**decode(value, PUSH_SUBSCRIPTIONS.record or "").value)
    except (Undecodable, TypeError):
        return None


def read_delivery(value: bytes) -> Delivery | None:
    """Decode a record; None for one that no gateway has written."""
    try:
        members = decode(value, PUSH_DELIVERIES.record or "").value
        return Delivery(**{**members, "state": State(members["state"])})
    except (Undecodable, TypeError, ValueError):
        return None
