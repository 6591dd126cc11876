"""One decision: what it rests on, what it writes, and the ids it gives out."""

from __future__ import annotations

from typing import Any

from schemas import uuid5_url
from streams.engine.processor import AvroValue, Timer, Work
from streams.processing import graph
from streams.processing.decision import timer_data
from streams.protocols.sap.constitution import Constitution
from topology.declarations import Topic
from topology.sap import SAP_VERDICTS


class Scene:
    """now: ms.  cause: the position of the lookup, or the name of the timer, being decided."""

    __slots__ = ("_given", "cause", "constitution", "now", "traceparent", "work")

    def __init__(
        self,
        work: Work,
        constitution: Constitution,
        cause: str,
        now: int,
        traceparent: bytes | None = None,
    ) -> None:
        work.cause = cause
        self.work = work
        self.constitution = constitution
        self.cause = cause
        self.now = now
        self.traceparent = traceparent
        self._given = 0

    def setting(self, name: str) -> Any:
        return self.work.settings[f"SAP_{name}"]

    def tell(self, task_id: str, verdict: AvroValue) -> None:
        """Send a verdict; its id, time and constitution are given here."""
        verdict_id = uuid5_url(f"headrace:sap:{self.cause}:{self._given}")
        self._given += 1
        own = {"at": self.now, "verdictId": verdict_id, "constitution": self.constitution.label}
        self._send(SAP_VERDICTS, task_id, {**verdict, **own}, verdict_id)

    def set_timer(self, due_ms: int, kind: str, key: str) -> None:
        """A timer that hands the trace context on to what it causes."""
        self.work.set_timer(Timer(due_ms, kind, key, timer_data(self.traceparent)))

    def draw(self, source: str, relation: str, target: str) -> None:
        """Send one edge of the lineage graph."""
        edge = (source, relation, target)
        graph.draw(edge, self.now, self.cause, self.work, self.traceparent)

    def _send(self, topic: Topic, key: str, value: AvroValue, id: str) -> None:
        self.work.send(
            topic,
            key,
            value,
            id=id,
            at=self.now,
            cause=self.cause,
            traceparent=self.traceparent,
        )
