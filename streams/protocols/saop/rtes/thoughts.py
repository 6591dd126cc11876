"""A thought stream takes chunks until its final one, and belongs to a task (spec 4.5).

Turn numbers begin again with each task of a session, so a stream is one of an agent's turn in one
task.  Chunks name no task: they are linked while exactly one is active.  While none is, a chunk
belongs to the latest stream of its agent and turn, as a straggler of a task just left.  The row of
that latest stream is therefore found a second time, under a key without the task.
"""

from __future__ import annotations

from functools import partial

from schemas.rtes import rules
from streams.engine.processor import AvroValue
from streams.protocols.saop.rtes import windows
from streams.protocols.saop.rtes.findings import Finding
from streams.protocols.saop.rtes.inbound import Event
from streams.protocols.saop.rtes.rejections import Refusal
from streams.protocols.saop.rtes.scene import Scene
from topology.keys import composite
from topology.machine import step
from topology.machines.rtes_thought import MACHINE, ThoughtEvent, ThoughtState
from topology.saop import RTES_THOUGHTS


def latest_key(session_id: str, payload: AvroValue) -> str:
    """Where the latest stream of an agent's turn is found.  payload: ThoughtStream."""
    return composite(session_id, payload["agent_id"], str(payload["turn_index"]))


def stream_key(session_id: str, payload: AvroValue, link: str | None) -> str:
    """Where the stream of an agent's turn in one task, or in none, is found."""
    linked = ("none",) if link is None else ("task", link)
    return composite(session_id, payload["agent_id"], str(payload["turn_index"]), *linked)


def judge(event: Event, scene: Scene) -> Finding | Refusal:
    payload = event.payload
    latest = _known(latest_key(scene.session_id, payload), scene)
    link = _link(event, latest, scene)
    key = stream_key(scene.session_id, payload, link)
    row = _known(key, scene)
    state = ThoughtState.NONE if row is None else ThoughtState(row["state"])
    said = ThoughtEvent.FINAL_CHUNK if payload["is_final"] else ThoughtEvent.CHUNK
    after = step(MACHINE, state, said)
    if after is None:
        assert row is not None
        figures = {"task_id": link, "sequence": row["last_sequence"]}
        figures |= {name: payload[name] for name in ("agent_id", "turn_index")}
        return Refusal(rules.THOUGHT_CLOSED, figures, "/payload/turn_index")
    moved = after is not state
    newer = event.origin is None and (latest is None or latest["task_id"] != link)
    if not (moved or newer):
        return Finding(task_id=link)
    return Finding(task_id=link, keep=partial(_keep, scene, event, key, row, after))


def _link(event: Event, latest: AvroValue | None, scene: Scene) -> str | None:
    if event.origin is not None:
        return None
    if not scene.session["active_tasks"] and latest is not None:
        link: str | None = latest["task_id"]
        return link
    return scene.active_task


def _known(key: str, scene: Scene) -> AvroValue | None:
    """A stream's row; a closed stream is forgotten like an event id."""
    row = scene.work.rows(RTES_THOUGHTS).get(key)
    if row is None or row["state"] == ThoughtState.OPEN:
        return row
    return windows.known(windows.THOUGHTS, row, scene)


def _keep(
    scene: Scene,
    event: Event,
    key: str,
    row: AvroValue | None,
    state: ThoughtState,
    record: AvroValue,
) -> None:
    if row is None or row["state"] != state:
        last = {"last_sequence": record["sequence"], "last_at": record["recorded_at"]}
        row = {"state": state, "task_id": record["task_id"], **last}
    latest = () if event.origin else (latest_key(scene.session_id, event.payload),)
    for place in (key, *latest):
        if state is ThoughtState.OPEN:
            scene.work.rows(RTES_THOUGHTS).put(place, row)
        else:
            windows.remember(windows.THOUGHTS, place, row, scene.work)
