"""The handlers of event types: how each type is masked and decided.

Each type of `schemas.rtes.models.EVENT_TYPES` has one handler here.  A type without one, or a
handler that lacks a part, is an error when this module is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from schemas.catalogue import CATALOGUE
from schemas.rtes import models
from schemas.rtes.event_type import EventPayload
from schemas.rtes.models import (
    EVENT_TYPES,
    NAMES,
    EscalationRaised,
    SandboxPulse,
    TaskTransition,
    ThoughtStream,
    ToolCompleted,
    ToolInvoked,
)
from streams.engine.processor import AvroValue, Message, ProcessorContext
from streams.masking import Masker
from streams.processing.key_blocks import Blocks
from streams.protocols.saop.rtes.calls import call_key, record_completed, record_invoked
from streams.protocols.saop.rtes.event import Event, Json, Recording, Refusal
from streams.protocols.saop.rtes.masking import JsonArguments, MaskingRule, OutputLine
from streams.protocols.saop.rtes.session import SessionState, id_key
from streams.protocols.saop.rtes.tasks import move_task
from streams.protocols.saop.rtes.thoughts import latest_key, record_chunk, stream_key
from topology.core import RTES_RAW
from topology.declarations import Table
from topology.keys import composite
from topology.saop import (
    RTES_CALLS,
    RTES_IDS,
    RTES_SESSIONS,
    RTES_THOUGHTS,
    SAOP_TASKS_TABLE,
    saop_task_key,
)

Decide = Callable[[Event, SessionState], Recording | Refusal]
RowKeys = Callable[[AvroValue, AvroValue], Sequence[str]]
"""Takes an RtesEvent and its payload."""


@dataclass(frozen=True, kw_only=True)
class EventHandler:
    """The masking and the decision of events of one type.

    model: the payload's, as in EVENT_TYPES.  rows: a table and the keys of the rows that a decision
    needs, so that they are fetched for a whole batch; for speed only.
    """

    model: type[EventPayload]
    masking: MaskingRule
    decide: Decide
    rows: tuple[Table, RowKeys] | None = None


def record_output(event: Event, session: SessionState) -> Recording:
    """Record a line of output; no rule refuses one."""
    return Recording(task_id=None if event.origin else session.active_task)


def record_escalation(event: Event, session: SessionState) -> Recording:
    """Record an escalation, linked to the task that it is about."""
    return Recording(task_id=event.payload["task_id"])


def _task_keys(event: AvroValue, payload: AvroValue) -> Sequence[str]:
    return (saop_task_key(event["session_id"], payload["task_id"], event["origin"]),)


def _call_keys(event: AvroValue, payload: AvroValue) -> Sequence[str]:
    return (call_key(event["session_id"], event["origin"], payload["call_id"]),)


def _stream_keys(event: AvroValue, payload: AvroValue) -> Sequence[str]:
    session_id = event["session_id"]
    return latest_key(session_id, payload), stream_key(session_id, payload, None)


HANDLERS = (
    EventHandler(
        model=ThoughtStream,
        masking=MaskingRule(verbatim=("chunk",)),
        decide=record_chunk,
        rows=(RTES_THOUGHTS, _stream_keys),
    ),
    EventHandler(
        model=ToolInvoked,
        masking=JsonArguments("arguments"),
        decide=record_invoked,
        rows=(RTES_CALLS, _call_keys),
    ),
    EventHandler(
        model=ToolCompleted,
        masking=MaskingRule(),
        decide=record_completed,
        rows=(RTES_CALLS, _call_keys),
    ),
    EventHandler(
        model=TaskTransition,
        masking=MaskingRule(),
        decide=move_task,
        rows=(SAOP_TASKS_TABLE, _task_keys),
    ),
    EventHandler(
        model=SandboxPulse,
        masking=OutputLine("line", flag="masked"),
        decide=record_output,
    ),
    EventHandler(
        model=EscalationRaised,
        masking=JsonArguments("figures"),
        decide=record_escalation,
    ),
)
"""All handlers, in the order of EVENT_TYPES."""


def by_record(handlers: Sequence[EventHandler]) -> Mapping[str, EventHandler]:
    """Return the handlers by the Avro record of the payload.

    Raises TypeError with a sentence that names what a type of events lacks.
    """
    by_model = {handler.model: handler for handler in handlers}
    for each in EVENT_TYPES:
        if each.model not in by_model:
            raise TypeError(f"{each.name} has no EventHandler in HANDLERS of {__name__}.")
        if each.record not in _records_in_catalogue():
            raise TypeError(f"{each.name} is not in the catalogue: run `python -m schemas.build`.")
    for model in by_model.keys() - {each.model for each in EVENT_TYPES}:
        raise TypeError(
            f"{model.__name__} has an EventHandler and is not in EVENT_TYPES of {models.__name__}."
        )
    return {each.record: by_model[each.model] for each in EVENT_TYPES}


def _records_in_catalogue() -> set[str]:
    fields = CATALOGUE.latest("headrace.rtes.RtesEvent").schema["fields"]
    (union,) = (field["type"] for field in fields if field["name"] == "payload")
    return {f"{branch['namespace']}.{branch['name']}" for branch in union}


BY_RECORD = by_record(HANDLERS)
_BY_NAME = {NAMES[record]: handler for record, handler in BY_RECORD.items()}


def mask_at_edge(event: Json, masker: Masker, now_ms: int, blocks: Blocks) -> Json:
    """Return a valid event in its JSON form as it may be produced."""
    payload = event["payload"]
    changes = _BY_NAME[payload["type"]].masking.at_edge(event, masker, now_ms, blocks)
    return {**event, "payload": {**payload, **changes}} if changes else event


def load_rows(batch: Sequence[Message], ctx: ProcessorContext) -> None:
    """Fetch the rows that a batch will ask for, in one call per table."""
    sessions: list[str] = []
    ids: list[str] = []
    keys_by_table: dict[Table, list[str]] = {}
    for message in batch:
        event = message.value
        sessions.append(composite(event["session_id"]))
        if message.topic is not RTES_RAW:
            continue
        ids.append(id_key(event["session_id"], event["event_id"]))
        name, payload = event["payload"]
        rows = BY_RECORD[name].rows
        if rows is not None:
            table, keys_of = rows
            keys_by_table.setdefault(table, []).extend(keys_of(event, payload))
    ctx.rows(RTES_SESSIONS).load(sessions)
    ctx.rows(RTES_IDS).load(ids)
    for table, keys in keys_by_table.items():
        ctx.rows(table).load(keys)
