"""The clients that have come to the end of the log, found by the session they want."""

from __future__ import annotations

from collections.abc import Iterable

from streams.gateway.sse.events import Event
from streams.gateway.sse.subscriber import Subscriber


class Audience:
    def __init__(self) -> None:
        self._everyone: set[Subscriber] = set()
        self._by_session: dict[bytes, set[Subscriber]] = {}

    def join(self, subscriber: Subscriber) -> None:
        sessions = subscriber.filters.sessions
        if sessions is None:
            self._everyone.add(subscriber)
        for name in sessions or ():
            self._by_session.setdefault(name.encode(), set()).add(subscriber)

    def leave(self, subscriber: Subscriber) -> None:
        self._everyone.discard(subscriber)
        for key in [name.encode() for name in subscriber.filters.sessions or ()]:
            group = self._by_session.get(key, set())
            group.discard(subscriber)
            if not group:
                self._by_session.pop(key, None)

    def offer(self, events: Iterable[Event]) -> None:
        for event in events:
            for subscriber in self._everyone:
                subscriber.offer(event)
            for subscriber in self._by_session.get(event.record.key or b"", ()):
                subscriber.offer(event)
