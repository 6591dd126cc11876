"""One decision: what it rests on, what it writes, and the ids it gives out."""

from __future__ import annotations

from typing import Any

from schemas import sap, uuid5_url
from streams.alignment import Constitution
from streams.engine.processor import AvroValue, Work
from streams.engine.records import Headers
from streams.processors import graph
from streams.processors.graph import Edge
from streams.processors.sap.authorization import Authorization, authorization_of
from topology.declarations import Topic


class Scene:
    """now: ms.  cause: the position of the record, or the name of the timer, being decided."""

    __slots__ = ("_given", "authorization", "cause", "constitution", "now", "traceparent", "work")

    def __init__(
        self,
        work: Work,
        constitution: Constitution,
        cause: str,
        now: int,
        traceparent: bytes | None,
    ) -> None:
        work.cause = cause
        self.work = work
        self.cause = cause
        self.now = now
        self.traceparent = traceparent
        self.constitution = constitution
        self.authorization: Authorization | None = authorization_of(work.settings)
        self._given = 0

    def next_id(self) -> str:
        """The next of the ids that this decision makes."""
        made = uuid5_url(f"headrace:sap:{self.cause}:{self._given}")
        self._given += 1
        return made

    def setting(self, name: str) -> Any:
        return self.work.settings[f"SAP_{name}"]

    def time(self) -> str:
        """Now in the protocol's form, cut down to the second."""
        return sap.protocol_time(self.now)

    def send(
        self, topic: Topic, key: str, value: AvroValue, id: str, headers: Headers = ()
    ) -> None:
        self.work.send(
            topic,
            key,
            value,
            id=id,
            at=self.now,
            cause=self.cause,
            traceparent=self.traceparent,
            headers=headers,
        )

    def draw(self, *edges: Edge) -> None:
        for edge in edges:
            graph.draw(edge, self.now, self.cause, self.work, self.traceparent)
