"""Thought streams: each takes chunks until its final one, and belongs to a task (SAOP guide, 4.5).

Turn numbers restart with each task of a session, so a stream belongs to one agent's turn in one
task.  Chunks name no task: they are linked while exactly one task is active.  While none is active,
a chunk belongs to the latest stream of its agent and turn, as a late chunk of the previous task.
Therefore the row of that latest stream is also stored under a key without the task.
"""

from __future__ import annotations

from functools import partial

from schemas.rtes import rules
from schemas.rtes.models import OTEL
from streams.engine.processor import AvroValue
from streams.protocols.saop.rtes.event import Event, Recording, Refusal
from streams.protocols.saop.rtes.session import THOUGHTS, SessionState, recall, remember
from topology.keys import composite
from topology.machine import step
from topology.machines.rtes_thought import MACHINE, ThoughtEvent, ThoughtState
from topology.saop import RTES_THOUGHTS


def latest_key(session_id: str, payload: AvroValue) -> str:
    """Return the key of the latest stream of an agent's turn.  payload: ThoughtStream."""
    return composite(session_id, payload["agent_id"], str(payload["turn_index"]))


def stream_key(session_id: str, payload: AvroValue, link: str | None) -> str:
    """Return the key of the stream of an agent's turn in one task, or in none."""
    linked = ("none",) if link is None else ("task", link)
    return composite(session_id, payload["agent_id"], str(payload["turn_index"]), *linked)


def record_chunk(event: Event, session: SessionState) -> Recording | Refusal:
    """Record a chunk, unless its stream has its final one.

    An event made of a span is the whole thought, so no stream is stored for it.
    """
    if event.origin == OTEL:
        return Recording()
    payload = event.payload
    latest = _stream_row(latest_key(session.session_id, payload), session)
    link = _link(event, latest, session)
    key = stream_key(session.session_id, payload, link)
    row = _stream_row(key, session)
    state = ThoughtState.NONE if row is None else ThoughtState(row["state"])
    chunk = ThoughtEvent.FINAL_CHUNK if payload["is_final"] else ThoughtEvent.CHUNK
    after = step(MACHINE, state, chunk)
    if after is None:
        assert row is not None
        evidence = {"task_id": link, "sequence": row["last_sequence"]}
        evidence |= {name: payload[name] for name in ("agent_id", "turn_index")}
        return Refusal(rules.THOUGHT_CLOSED, evidence, "/payload/turn_index")
    has_moved = after is not state
    is_newer = event.origin is None and (latest is None or latest["task_id"] != link)
    if not (has_moved or is_newer):
        return Recording(task_id=link)
    return Recording(task_id=link, apply=partial(_put_rows, session, event, key, row, after))


def _link(event: Event, latest: AvroValue | None, session: SessionState) -> str | None:
    if event.origin is not None:
        return None
    if not session.row["active_tasks"] and latest is not None:
        link: str | None = latest["task_id"]
        return link
    return session.active_task


def _stream_row(key: str, session: SessionState) -> AvroValue | None:
    """Return a stream's row; a closed stream is forgotten like an event id."""
    row = session.work.rows(RTES_THOUGHTS).get(key)
    if row is None or row["state"] == ThoughtState.OPEN:
        return row
    return recall(THOUGHTS, row, session)


def _put_rows(
    session: SessionState,
    event: Event,
    key: str,
    row: AvroValue | None,
    state: ThoughtState,
    record: AvroValue,
) -> None:
    if row is None or row["state"] != state:
        last = {"last_sequence": record["sequence"], "last_at": record["recorded_at"]}
        row = {"state": state, "task_id": record["task_id"], **last}
    latest = () if event.origin else (latest_key(session.session_id, event.payload),)
    for row_key in (key, *latest):
        if state is ThoughtState.OPEN:
            session.work.rows(RTES_THOUGHTS).put(row_key, row)
        else:
            remember(THOUGHTS, row_key, row, session.work)
