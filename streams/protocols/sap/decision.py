"""One decision of SAP: its cause and time, the constitution, and the ids it gives out."""

from __future__ import annotations

from typing import Any

from schemas import sap, uuid5_url
from streams.engine.processor import ProcessorContext
from streams.processing.decision import Decision
from streams.protocols.sap.constitution import constitution_of


class DecisionContext(Decision):
    """What the tasks' and the cache's decisions rest on, and what they write in its name."""

    __slots__ = ("_ids", "constitution")

    def __init__(
        self, work: ProcessorContext, cause: str, at: int, traceparent: bytes | None
    ) -> None:
        super().__init__(work, cause, at, traceparent)
        self.constitution = constitution_of(work.settings)
        self._ids = 0

    def next_id(self) -> str:
        """Return the next of the ids that this decision makes."""
        made = uuid5_url(f"headrace:sap:{self.cause}:{self._ids}")
        self._ids += 1
        return made

    def setting(self, name: str) -> Any:
        return self.work.settings[f"SAP_{name}"]

    def time(self) -> str:
        """Return the decision's time in the protocol's form, cut down to the second."""
        return sap.protocol_time(self.at)
