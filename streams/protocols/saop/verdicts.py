"""The verdicts that the facts of SAOP and RTES say, for the rows about the whole service."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.projection import Projection
from schemas.rtes import rules as rtes_rules
from schemas.saop import rules as saop_rules
from streams.engine.records import Record
from streams.protocols.saop.lineage import rewind_node, session_node, task_node, turn_node
from streams.views.changes import WriteBatch
from streams.views.reads import ReadOnlyStore
from streams.views.service.counters import Counts
from streams.views.service.verdicts import (
    ACCEPTED,
    DUPLICATE,
    NONE,
    Counted,
    Explained,
    FactReading,
    Members,
    Subject,
    first_message,
)
from topology.saop import (
    RTES_EVENTS,
    RTES_REJECTIONS,
    SAOP_CONTROL_LOG,
    SAOP_ESCALATIONS,
    SAOP_REWIND_LOG,
    SAOP_VERDICTS,
)

_MEANINGS = {rule.code: rule.meaning for rule in (*rtes_rules.ALL, *saop_rules.ALL)}
_LAPSE = "lapse"


def message_of(fact: Members) -> str | None:
    """Return what the first problem says, or what the rule means."""
    return first_message(fact, _MEANINGS)


def _count_turn(record: Record, verdict: Members, rows: WriteBatch) -> Counted:
    return Counted(verdict["at"], verdict["verdict"], verdict["rule"], verdict["agent_id"])


def _explain_turn(record: Record, verdict: Members) -> Explained:
    task_id, index = verdict["task_id"], verdict["turn_index"]
    node, title = None, "turn"
    if task_id is not None:
        node, title = task_node(task_id), f"turn {index} of {task_id}"
    if task_id is not None and index is not None and verdict["verdict"] == DUPLICATE:
        node = turn_node(task_id, index)
    return Explained(message_of(verdict), verdict["fault"], node, title)


def _count_rewind(record: Record, fact: Members, rows: WriteBatch) -> Counted:
    verdict = NONE if fact["phase"] == _LAPSE else fact["verdict"]
    return Counted(fact["at"], verdict, fact["rule"])


def _explain_rewind(record: Record, fact: Members) -> Explained:
    rewind_id = fact["rewind_id"].lower()
    title = f"{fact['phase']} of rewind {rewind_id[:8]}"
    return Explained(message_of(fact), fact["fault"], rewind_node(rewind_id), title)


def _count_control(record: Record, fact: Members, rows: WriteBatch) -> Counted:
    return Counted(fact["at"], fact["verdict"], fact["rule"])


def _explain_control(record: Record, fact: Members) -> Explained:
    title = f"{fact['action']} of task {fact['task_id']}"
    return Explained(message_of(fact), fact["fault"], task_node(fact["task_id"]), title)


def _count_event(record: Record, event: Members, rows: WriteBatch) -> Counted | None:
    """Count an event that an agent sent."""
    if event["origin"] is not None:
        return None
    return Counted(event["recorded_at"], ACCEPTED, event["rule"])


def _count_rejection(record: Record, fact: Members, rows: WriteBatch) -> Counted:
    return Counted(fact["at"], fact["verdict"], fact["rule"])


def _explain_rejection(record: Record, fact: Members) -> Explained:
    session_id = fact["session_id"]
    node = None if session_id is None else session_node(session_id)
    return Explained(message_of(fact), fact["fault"], node, fact["type"] or "event")


def _count_escalation(record: Record, escalation: Members, rows: WriteBatch) -> Counted:
    return Counted(escalation["at"], NONE, escalation["detector"])


def count_escalations(view: ReadOnlyStore, counts: Counts) -> int:
    """Return how many escalations are in the window."""
    return sum(count for (topic, *_), count in counts.items() if topic == SAOP_ESCALATIONS.name)


VERDICT_FACTS: Mapping[str, FactReading] = {
    SAOP_VERDICTS.name: FactReading(
        subject=Subject.COMMANDS,
        projection=Projection(
            SAOP_VERDICTS.record or "",
            ("verdict", "rule", "fault", "task_id", "turn_index", "agent_id", "errors", "at"),
        ),
        count=_count_turn,
        explain=_explain_turn,
    ),
    SAOP_REWIND_LOG.name: FactReading(
        subject=Subject.COMMANDS,
        projection=Projection(
            SAOP_REWIND_LOG.record or "", ("rewind_id", "phase", "verdict", "rule", "fault", "at")
        ),
        count=_count_rewind,
        explain=_explain_rewind,
    ),
    SAOP_CONTROL_LOG.name: FactReading(
        subject=Subject.COMMANDS,
        projection=Projection(
            SAOP_CONTROL_LOG.record or "", ("task_id", "action", "verdict", "rule", "fault", "at")
        ),
        count=_count_control,
        explain=_explain_control,
    ),
    RTES_EVENTS.name: FactReading(
        subject=Subject.EVENTS,
        projection=Projection(RTES_EVENTS.record or "", ("origin", "recorded_at", "rule")),
        count=_count_event,
    ),
    RTES_REJECTIONS.name: FactReading(
        subject=Subject.EVENTS,
        projection=Projection(
            RTES_REJECTIONS.record or "",
            ("verdict", "rule", "fault", "session_id", "type", "errors", "at"),
        ),
        count=_count_rejection,
        explain=_explain_rejection,
    ),
    SAOP_ESCALATIONS.name: FactReading(
        subject=Subject.SERVICE,
        projection=Projection(SAOP_ESCALATIONS.record or "", ("detector", "at")),
        count=_count_escalation,
    ),
}
"""By fact topic."""
