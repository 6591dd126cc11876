"""The tasks of a session: their rows, which of them are worked on, and how a rewind finds them.

A rewind asks for all tasks of a session.  Rows can be read by key only, so the session keeps a
list of its own tasks, in rows of a few dozen: with one list the session's row would grow with it,
and that row is written with every event.
"""

from __future__ import annotations

from collections.abc import Mapping

from streams.engine.processor import AvroValue
from streams.protocols.saop.rtes import lineage
from streams.protocols.saop.rtes.scene import Scene
from streams.protocols.saop.rtes.transitions import evolve, standing
from topology.keys import composite
from topology.machines.task_profiles import PROFILES
from topology.saop import RTES_TASKS, SAOP_TASKS_TABLE, saop_task_key

_LISTED = 64
"""Tasks in one row of the list."""


def row_of(task_id: str, origin: str | None, scene: Scene) -> AvroValue | None:
    """The row that a transition of the task goes on from."""
    key = saop_task_key(scene.session_id, task_id, origin)
    return standing(scene.work.rows(SAOP_TASKS_TABLE).get(key), origin)


def own(scene: Scene) -> dict[str, AvroValue]:
    """The session's own tasks by id, in the order of their first transitions."""
    lists = scene.work.rows(RTES_TASKS)
    keys = [_list_key(scene, n) for n in range(-(-scene.session["tasks"] // _LISTED))]
    lists.load(keys)
    listed = [task for key in keys for task in (lists.get(key) or {"task_ids": ()})["task_ids"]]
    rows = scene.work.rows(SAOP_TASKS_TABLE)
    rows.load(saop_task_key(scene.session_id, task) for task in listed)
    found = {task: rows.get(saop_task_key(scene.session_id, task)) for task in listed}
    return {task: row for task, row in found.items() if row and row["origin"] is None}


def keep(record: AvroValue, traceparent: bytes | None, scene: Scene) -> AvroValue:
    """Follow a recorded transition; returns the task's row with it."""
    task_id, origin = record["task_id"], record["origin"]
    key = saop_task_key(scene.session_id, task_id, origin)
    rows = scene.work.rows(SAOP_TASKS_TABLE)
    before = rows.get(key)
    row = evolve(before, record)
    rows.put(key, row)
    if origin is None:
        scene.set_active(task_id, row["state"] in PROFILES[row["profile"]].active)
        if before is None:
            _list(task_id, scene)
            nodes = lineage.task_node(task_id), "part_of", lineage.session_node(scene.session_id)
            lineage.draw(*nodes, record["recorded_at"], traceparent, scene.work)
    elif _gives_way(before):
        scene.set_active(f"{origin}:{task_id}", active=False)
    return row


def _gives_way(before: Mapping[str, object] | None) -> bool:
    """Whether another protocol's task takes the place of one of the session's own."""
    return before is not None and before["origin"] is None


def _list(task_id: str, scene: Scene) -> None:
    """Add a task to the session's list."""
    lists, count = scene.work.rows(RTES_TASKS), scene.session["tasks"]
    key = _list_key(scene, count // _LISTED)
    listed = (lists.get(key) or {"task_ids": []})["task_ids"] if count % _LISTED else []
    lists.put(key, {"task_ids": [*listed, task_id]})
    scene.session["tasks"] = count + 1


def _list_key(scene: Scene, number: int) -> str:
    return composite(scene.session_id, str(number))
