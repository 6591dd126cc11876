"""Operators who turn sessions back, or pause a task: of their own sessions, and those of agents.

Rewinds go every way that their machine has: at once, prepared and confirmed or aborted, and left
until they lapse; some are asked for twice, out of turn, or of what nobody knows.  The first go each
way once, in sessions of which all is known.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from uuid import UUID

from streams.engine.records import Output
from tests.e2e.outputs import Json, Outputs
from topology.core import RTES_RAW
from topology.saop import SAOP_CONTROLS, SAOP_REWINDS

_AT = "2026-01-01T00:00:00.000Z"
_TASKS = ("analysis", "design", "build")
_WAYS: Sequence[Sequence[str]] = (
    ("apply",),
    ("prepare", "confirm"),
    ("prepare", "abort"),
    ("prepare",),
    ("prepare", "apply", "confirm", "confirm"),
    ("confirm",),
    ("abort", "apply"),
)
FOREIGN, REPEATED = 0.3, 0.1


class Traffic:
    """made: for whom records are made.  others: sessions of which some are turned back, too."""

    def __init__(self, made: Outputs, dice: random.Random, others: Sequence[str]) -> None:
        self._made, self._dice, self._others = made, dice, others
        self._sessions = self._ids = 0
        self._first = [*_WAYS]
        dice.shuffle(self._first)

    def burst(self, sessions: int) -> Iterator[list[Output]]:
        """Parts, each of which the ones before precede: what is done, then turning it back."""
        names = [self._session() for _ in range(sessions)]
        done = [step for name in names for step in self._done(name)]
        yield [self._made.record(RTES_RAW, event) for event in done]
        for name in names:
            yield [self._made.record(SAOP_REWINDS, each) for each in self._rewind(name)]
        yield [self._made.record(SAOP_CONTROLS, each) for each in self._controls(names[-1])]

    def _controls(self, session: str) -> Iterator[Json]:
        """Pause and resume a task, the first of them twice, and one that nobody knows."""
        for task, action in (
            (_TASKS[-1], "pause"),
            (_TASKS[-1], "pause"),
            (_TASKS[-1], "resume"),
            ("nobody's", "pause"),
        ):
            self._ids += 1
            yield {
                "control_id": str(UUID(int=(1 << 65) + self._ids, version=4)),
                "session_id": session,
                "task_id": task,
                "action": action,
                "requested_by": "operator",
                "reason": None,
            }

    def _session(self) -> str:
        self._sessions += 1
        return f"rewound-{self._sessions}"

    def _foreign(self) -> tuple[str, str]:
        session = self._dice.choice(self._others)
        return session, f"{session}-task-0"

    def _done(self, session: str) -> Iterator[Json]:
        """Each task is begun and finished with a commit of its own, but the last."""
        for task in _TASKS:
            yield self._moves(session, task, "PENDING", "IN_PROGRESS")
            if task != _TASKS[-1]:
                commit = f"{self._dice.getrandbits(160):040x}"
                yield self._moves(session, task, "IN_PROGRESS", "COMPLETED", git_hash=commit)

    def _moves(self, session: str, task: str, source: str, target: str, **more: str) -> Json:
        self._ids += 1
        payload = {"type": "TASK_TRANSITION", "task_id": task, "timestamp": _AT, **more}
        return {
            "event_id": str(UUID(int=(1 << 64) + self._ids, version=4)),
            "session_id": session,
            "payload": payload | {"from_state": source, "to_state": target},
        }

    def _rewind(self, session: str) -> Iterator[Json]:
        rewind_id = str(UUID(int=self._dice.getrandbits(128), version=4))
        if self._first:
            task, way = self._dice.choice(_TASKS[:-1]), self._first.pop()
        else:
            task, way = self._dice.choice(_TASKS), self._dice.choice(_WAYS)
            if self._dice.random() < FOREIGN:
                session, task = self._foreign()
        for phase in way:
            command = {
                "rewind_id": rewind_id,
                "session_id": session,
                "phase": phase,
                "task_id": task if phase in ("prepare", "apply") else None,
                "git_hash": None,
                "requested_by": "operator",
                "reason": None,
            }
            yield command
            if self._dice.random() < REPEATED:
                yield command
