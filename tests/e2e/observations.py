"""What agents report of their tasks, as seeded traffic on `rtes.raw`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count
from uuid import UUID

from tests.e2e.outputs import Json

_STEPS = {
    "PENDING": ["IN_PROGRESS", "BLOCKED"],
    "BLOCKED": ["IN_PROGRESS"],
    "IN_PROGRESS": ["PAUSED", "COMPLETED"],
    "PAUSED": ["IN_PROGRESS"],
    "COMPLETED": [],
}


def observations(dice: random.Random, sessions: int) -> Iterator[Json]:
    """Task transitions of agents, in the sessions of the packets; some repeated, some illegal."""
    standing: dict[tuple[str, str], str] = {}
    event: Json = {}
    for number in count(1):
        if event and dice.random() < 0.1:
            yield event
            continue
        task = f"s{dice.randrange(1, sessions)}", f"task-{dice.randrange(3)}"
        source = standing.get(task, "PENDING")
        target = dice.choice([*_STEPS[source], "PENDING"])
        if target in _STEPS[source]:
            standing[task] = target
        payload = {
            "type": "TASK_TRANSITION",
            "task_id": task[1],
            "from_state": source,
            "to_state": target,
            "timestamp": "2026-01-01T00:00:00Z",
        }
        if dice.random() < 0.3:
            payload["git_hash"] = f"{dice.getrandbits(160):040x}"
        event_id = str(UUID(int=number, version=4))
        event = {"event_id": event_id, "session_id": task[0], "payload": payload}
        yield event
