"""The context of one decision of SAP: its cause, its time, the constitution and new ids."""

from __future__ import annotations

from typing import Any

from schemas import sap, uuid5_url
from streams.engine.processor import ProcessorContext
from streams.processing.decision import Decision
from streams.protocols.sap.constitution import constitution_of


class DecisionContext(Decision):
    """The context of a decision of the task or cache processor: also settings and constitution."""

    __slots__ = ("_ids", "constitution")

    def __init__(
        self, ctx: ProcessorContext, cause: str, at: int, traceparent: bytes | None
    ) -> None:
        super().__init__(ctx, cause, at, traceparent)
        self.constitution = constitution_of(ctx.settings)
        self._ids = 0

    def next_id(self) -> str:
        """Return the next id of this decision."""
        id = uuid5_url(f"headrace:sap:{self.cause}:{self._ids}")
        self._ids += 1
        return id

    def setting(self, name: str) -> Any:
        return self.work.settings[f"SAP_{name}"]

    def time(self) -> str:
        """Return the decision's time in the protocol's form, truncated to the second."""
        return sap.protocol_time(self.at)
