"""The verdicts that the facts about spans say, for the rows about the whole service."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.otel import rules
from schemas.projection import Projection
from streams.engine.records import Record
from streams.protocols.otel.lineage import span_node
from streams.views.changes import WriteBatch
from streams.views.service.verdicts import (
    Counted,
    Explained,
    FactReading,
    Members,
    Subject,
    first_message,
)
from topology.otel import OTEL_EVENTS

_MEANINGS = {rule.code: rule.meaning for rule in rules.ALL}


def message_of(fact: Members) -> str | None:
    """Return what the first problem says, or what the rule means."""
    return first_message(fact, _MEANINGS)


def _count(record: Record, fact: Members, rows: WriteBatch) -> Counted:
    return Counted(fact["at"], fact["verdict"], fact["rule"], fact["agent"])


def _explain(record: Record, fact: Members) -> Explained:
    ids = (fact["trace_id"], fact["span_id"])
    node = span_node(*ids) if all(ids) else None
    return Explained(message_of(fact), fact["fault"], node, f"span {fact['span_id']}")


VERDICT_FACTS: Mapping[str, FactReading] = {
    OTEL_EVENTS.name: FactReading(
        subject=Subject.COMMANDS,
        projection=Projection(
            OTEL_EVENTS.record or "",
            ("verdict", "rule", "fault", "trace_id", "span_id", "agent", "errors", "at"),
        ),
        count=_count,
        explain=_explain,
    ),
}
"""By fact topic."""
