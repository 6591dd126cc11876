"""Agents that get nowhere: what escalates, and what turns them back."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from uuid import UUID

from streams.engine.records import Output
from tests.e2e.outputs import Outputs
from topology.core import RTES_RAW
from topology.saop import SAOP_REWINDS, SAOP_TURNS

TURNED_BACK = 0.1
_AT = "2026-01-01T00:00:00.000Z"
_OPEN = ("FAILED", "FAILED", "FAILED", "RUNNING", "PAUSED", "SUCCESS")
_WORDS: Sequence[Mapping[str, Sequence[str]]] = (
    {
        "PENDING": ("IN_PROGRESS",),
        "IN_PROGRESS": ("FAILED",) * 20 + ("PAUSED", "COMPLETED"),
        "FAILED": ("IN_PROGRESS",),
        "PAUSED": ("IN_PROGRESS", "FAILED"),
        "COMPLETED": ("PENDING",),
    },
    dict.fromkeys(("WORKING", "IN_PROGRESS", *_OPEN), _OPEN),
)
"""Where tasks that are stuck go from each state: one as `devs` has it, one as it likes."""


class Stuck:
    """Agents that lose confidence and repeat themselves, in tasks that fail again and again, under
    either vocabulary, and are turned back now and then.  thoughts: of each turn."""

    def __init__(self, made: Outputs, dice: random.Random) -> None:
        self._made, self._dice = made, dice
        self._turns, self._ids = [0] * len(_WORDS), count(1)
        self._states = ["PENDING", "WORKING"]
        self._confidence = 0.9
        self.thoughts: dict[tuple[str, int], str] = {}

    def batches(self, parts: int) -> Iterator[Sequence[Output]]:
        for number in range(parts):
            which = number % len(_WORDS)
            turns = [self._turn(which) for _ in range(4)]
            self._dice.shuffle(turns)  # some come early, and are held
            yield [*turns, *(self._moves(which) for _ in range(5))]
            if self._dice.random() < TURNED_BACK:
                yield [self._back(which)]

    def _turn(self, which: int) -> Output:
        index, task, dice = self._turns[which], f"stuck-{which}", self._dice
        self._turns[which] += 1
        self.thoughts[task, index] = "once more"
        self._confidence = max(0.0, self._confidence - dice.randrange(-2, 12) / 100) or 0.9
        agent = dice.choice(("developer", "reviewer"))
        observation = dice.choice(("it fails", "it fails", "it fails", "it holds", ""))
        metadata = {"version": "1.0.0", "task_id": task, "timestamp": _AT}
        turn = {
            "turn_index": index,
            "agent_id": agent,
            "role": agent,
            "content": {"thought": "once more", "action": "try", "observation": observation},
            "metadata": metadata
            | {"confidence": round(self._confidence, 2), "estimated_complexity": "high"},
        }
        return self._made.record(SAOP_TURNS, turn)

    def _moves(self, which: int) -> Output:
        before, task = self._states[which], f"stuck-{which}"
        after = self._dice.choice(_WORDS[which][before])
        self._states[which] = after
        payload = {"type": "TASK_TRANSITION", "task_id": task, "timestamp": _AT}
        payload |= {"from_state": before, "to_state": after}
        if "COMPLETED" in (before, after):
            payload["git_hash"] = f"{self._dice.getrandbits(160):040x}"
        event_id = str(UUID(int=(2 << 64) + next(self._ids), version=4))
        event = {"event_id": event_id, "session_id": task, "payload": payload}
        return self._made.record(RTES_RAW, event)

    def _back(self, which: int) -> Output:
        self._states[which] = "IN_PROGRESS"
        command = {
            "rewind_id": str(UUID(int=self._dice.getrandbits(128), version=4)),
            "session_id": f"stuck-{which}",
            "phase": "apply",
            "task_id": f"stuck-{which}",
            "git_hash": None,
            "requested_by": "operator",
            "reason": None,
        }
        return self._made.record(SAOP_REWINDS, command)
