"""The verdicts that facts of `asap.events` say, for the rows about the whole service."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.projection import Projection
from streams.engine.records import Record
from streams.views.changes import WriteBatch
from streams.views.service.verdicts import (
    NONE,
    Counted,
    Explained,
    FactReading,
    Members,
    Subject,
)
from topology.asap import ASAP_EVENTS
from topology.keys import composite

FACTS = Projection(
    ASAP_EVENTS.record or "",
    (
        *("kind", "verdict", "rule", "fault", "detail", "at", "task_id", "call_key", "sequence"),
        *("envelope_id", "payload_type", "sender", "cause"),
    ),
)


def _count(record: Record, fact: Members, rows: WriteBatch) -> Counted:
    if fact["verdict"] is None:
        return Counted(fact["at"], NONE, fact["rule"])
    return Counted(fact["at"], fact["verdict"], fact["rule"], fact["sender"])


def _explain(record: Record, fact: Members) -> Explained:
    node, title = _thing(record, fact)
    return Explained(fact["detail"], fact["fault"], node, title)


def _thing(record: Record, fact: Members) -> tuple[str | None, str]:
    """Return the node and the title of what the fact is about."""
    if fact["kind"] == "manifest":
        return None, f"manifest of {(record.key or b'').decode(errors='replace')}"
    word = fact["payload_type"] or "envelope"
    if fact["task_id"] is not None:
        return f"asap:task:{composite(fact['task_id'])}", f"{word} of {fact['task_id']}"
    if fact["call_key"] is not None:
        return f"asap:call:{composite(fact['call_key'])}", f"{word} {fact['call_key']}"
    if fact["envelope_id"] is None:
        return None, word
    return f"asap:envelope:{composite(fact['envelope_id'])}", f"{word} {fact['envelope_id']}"


VERDICT_FACTS: Mapping[str, FactReading] = {
    ASAP_EVENTS.name: FactReading(
        subject=Subject.COMMANDS, projection=FACTS, count=_count, explain=_explain
    )
}
"""By fact topic."""
