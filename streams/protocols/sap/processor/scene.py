"""One decision: what it rests on, what it writes, and the ids it gives out."""

from __future__ import annotations

from typing import Any

from schemas import sap, uuid5_url
from streams.engine.processor import Work
from streams.processing.decision import Decision
from streams.protocols.sap.constitution import Constitution
from streams.protocols.sap.processor.authorization import Authorization, authorization_of


class Scene(Decision):
    """A decision of SAP, under the constitution that holds then."""

    __slots__ = ("_given", "authorization", "constitution")

    def __init__(
        self,
        work: Work,
        constitution: Constitution,
        cause: str,
        now: int,
        traceparent: bytes | None,
    ) -> None:
        super().__init__(work, cause, now, traceparent)
        self.constitution = constitution
        self.authorization: Authorization | None = authorization_of(work.settings)
        self._given = 0

    @property
    def now(self) -> int:
        """Ms."""
        return self.at

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
