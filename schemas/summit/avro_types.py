"""The Avro types of members that the Python type does not determine, for annotations of models."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from schemas.summit import words


class AvroType(NamedTuple):
    """The Avro type of a member, if not null.

    names: one, or those of the branches of a union.
    """

    names: tuple[str, ...]
    logical: str | None = None

    def schema(self) -> Any:
        """Return the type as in the source of a record."""
        first, *others = self.names
        if self.logical is not None:
            return {"type": first, "logicalType": self.logical}
        return [first, *others] if others else first


class Doc(NamedTuple):
    """The description of a member in its record."""

    text: str


class Enumeration(NamedTuple):
    """An Avro enum.  doc: its description."""

    name: str
    symbols: tuple[str, ...]
    doc: str


Time = Annotated[str, AvroType(("long",), "timestamp-millis")]
Int = Annotated[int, AvroType(("int",))]
Fault = Annotated[str, AvroType(("headrace.core.Fault",))]
AgentState = Annotated[
    str,
    Enumeration("AgentState", (words.REGISTERED, words.WITHDRAWN), "Whether an agent takes calls."),
]
DeliveryKind = Annotated[
    str,
    Enumeration("DeliveryKind", (words.INVOKE, words.TOOL, words.STOP), "What an inbox record is."),
]
EventSubject = Annotated[
    str,
    Enumeration(
        "EventSubject",
        ("manifest", "call", "reply", "timer", "judge", "tree"),
        "What a fact of Summit is about.",
    ),
]
EventVerdict = Annotated[
    str,
    Enumeration(
        "EventVerdict",
        ("accepted", "duplicate", "rejected", "fired"),
        "What became of a record, or that a timer fired.",
    ),
]
ReplyKind = Annotated[
    str,
    Enumeration("ReplyKind", words.REPLY_KINDS, "What a reply is; result and error are final."),
]
RunKind = Annotated[
    str,
    Enumeration(
        "RunKind", (words.INVOKE, words.TOOL), "What made a run: agent.invoke or tool.call."
    ),
]
RunState = Annotated[str, Enumeration("RunState", words.STATES, "Where a run stands.")]
TreeKind = Annotated[
    str,
    Enumeration("TreeKind", (words.LINK, words.SPEND, words.STOP), "What a tree record says."),
]
VerificationStatus = Annotated[
    str,
    Enumeration(
        "VerificationStatus",
        words.VERIFICATION_STATUSES,
        "What came of a verification, from mild to strict.",
    ),
]
