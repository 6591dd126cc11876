"""The fold of SAOP tasks: `saop.tasks` from the transitions on `rtes.events`.

The processor writes its rows by the same fold.

Source: SAOP guide, 4.2 and 4.3.
"""

from __future__ import annotations

from schemas.rtes.models import TASK_TRANSITION
from streams.protocols.saop.rtes.transitions import evolve
from streams.replay.fold.fold import Commands, Fact, Fold, Row
from topology.declarations import Topic
from topology.saop import RTES_EVENTS, SAOP_TASKS_TABLE, saop_task_key


def row_key(topic: Topic, fact: Fact) -> str | None:
    if fact["payload"][0] != TASK_TRANSITION:
        return None
    return saop_task_key(fact["session_id"], fact["task_id"], fact["origin"])


def step(row: Row | None, topic: Topic, fact: Fact, commands: Commands) -> Row | None:
    return evolve(row, fact)


FOLD = Fold(SAOP_TASKS_TABLE, (RTES_EVENTS,), row_key, step)
