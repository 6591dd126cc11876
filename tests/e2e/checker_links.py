"""The tasks that events are linked to, told anew from the events before them in their session.

Source: SAOP guide, 4.5.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.e2e.outputs import Json

ACTIVE = frozenset({"IN_PROGRESS", "RUNNING"})
"""The states in which a task is worked on, under each profile that agents have."""


class _Session:
    def __init__(self) -> None:
        self._active: set[str] = set()
        self._calls: dict[str, str | None] = {}
        self._streams: dict[tuple[str, int], str | None] = {}

    def link(self, event: Json) -> str | None:
        """Of the next event, which is taken in."""
        payload = event["payload"]
        kind = payload["type"]
        if kind == "TASK_TRANSITION":
            return self._moved(event)
        if kind == "ESCALATION_RAISED":
            return str(payload["task_id"])
        if event["origin"] is not None:
            return None
        link = next(iter(self._active)) if len(self._active) == 1 else None
        if kind == "TOOL_LIFECYCLE_INVOKED":
            self._calls[payload["call_id"]] = link
        elif kind == "TOOL_LIFECYCLE_COMPLETED":
            link = self._calls.get(payload["call_id"], link)
        elif kind == "THOUGHT_STREAM":
            turn = payload["agent_id"], payload["turn_index"]
            if not self._active:
                link = self._streams.get(turn)
            self._streams[turn] = link
        return link

    def _moved(self, event: Json) -> str:
        task: str = event["payload"]["task_id"]
        if event["origin"] is None:
            if event["payload"]["to_state"] in ACTIVE:
                self._active.add(task)
            else:
                self._active.discard(task)
        return task


def check(events: Sequence[Json]) -> Iterator[str]:
    """events: of all sessions, those of each in order."""
    sessions: defaultdict[str, _Session] = defaultdict(_Session)
    for event in events:
        task_id = sessions[event["session_id"]].link(event)
        if event["task_id"] != task_id:
            place = f"{event['session_id']}/{event['sequence']}"
            yield f"event {place} is linked to {event['task_id']}, not to {task_id}"
