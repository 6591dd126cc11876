"""What queries say of tasks is what the facts come to, now and after any of their events.

Source: ASAP guide, 4.5 and 6.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from streams.routes.handle import Routes
from tests.e2e.asap_model import Task
from tests.e2e.asap_states import snapshot_view
from tests.e2e.outputs import Json

_LISTED = ("id", "version", "checkpoint", "created_at", "restored_from")
_OWN = ("requester", "worker", "depth", "sequence", "state_mode", "events_available", "timeout_at")
_MORE = ("aliases", "input_request", "config", "response", "snapshot_version", "snapshot_mark")


def check(routes: Routes, tasks: Sequence[Task]) -> Iterator[str]:
    """routes: over a view that has caught up."""
    for task in tasks:
        yield from _now(routes, task)
        yield from _snapshots(routes, task)
        if task.states.sourced and task.row["events_available"]:
            yield from _then(routes, task)


def _get(routes: Routes, path: Sequence[str], query: str = "") -> Json:
    task_id, *names = path
    target = "/".join(["/v1/asap/tasks", quote(task_id, safe=""), *names])
    answer = routes.handle("GET", target, query)
    return {"status": answer.status, **answer.body}


def _now(routes: Routes, task: Task) -> Iterator[str]:
    body = _get(routes, [task.id])
    if body.get("task") != task.history[-1]:
        yield f"the task {task.id} is shown as {body.get('task')}, not {task.history[-1]}"
    for name in (*_OWN, *_MORE):
        if body.get(name) != task.row[name]:
            yield f"{name} of the task {task.id} is shown as {body.get(name)}"


def _snapshots(routes: Routes, task: Task) -> Iterator[str]:
    rows = [row for _, row in sorted(task.states.rows.items())]
    listed = [{name: row[name] for name in _LISTED} for row in rows]
    if _get(routes, [task.id, "snapshots"]).get("snapshots") != listed:
        yield f"the snapshots of {task.id} are shown otherwise than {listed}"
    for row in rows:
        body = _get(routes, [task.id, "snapshots", str(row["version"])])
        if body != {"status": 200, **snapshot_view(row)}:
            yield f"the snapshot {row['id']} of {task.id} is shown as {body}"


def _then(routes: Routes, task: Task) -> Iterator[str]:
    """What was live after each event; of versions that never were there is nothing."""
    last = task.row["sequence"]
    for n in range(1, last + 1):
        state = task.states.at(n)
        expected = {"task": task.history[n - 1], "data": state["data"]}
        expected["checkpoint"] = state["checkpoint"]
        body = _get(routes, [task.id, "events"], f"at={n}&limit=500")
        if body.get("state") != expected or body.get("version") != n:
            yield f"{task.id} at {n} is shown as {body.get('state')}, it was {expected}"
        if [fact["sequence"] for fact in body.get("events", ())] != [*range(1, n + 1)]:
            yield f"{task.id} at {n} is shown by other events than 1 to {n}"
        if _get(routes, [task.id, "snapshots", str(n)]) != {"status": 200, **state}:
            yield f"the state of {task.id} at {n} is not shown as {state}"
    for n in (0, last + 1):
        if _get(routes, [task.id, "events"], f"at={n}")["status"] != 404:
            yield f"{task.id} is shown at {n}, which never was"
