"""The plan of a rewind: its target, and the tasks to set back; pure, for processor and queries.

The restored tree is that of a commit, and contains the work up to the record of the commit, the
cut.  A task that moved after the cut is not in the tree, and is set back.

Source: SAOP guide, 4.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import hexdigits
from typing import Any, NamedTuple

from schemas.rules import Rule
from schemas.saop import rules
from topology.machines.task_profiles import PROFILES

_SHORTEST = 7
"""Minimum digits of an abbreviated hash."""
_HEX = frozenset(hexdigits)

Tasks = Mapping[str, Mapping[str, Any]]
"""The session's tasks with origin null: SaopTask rows by task_id."""


class Target(NamedTuple):
    """A task and its commit to go back to.

    git_hash: the commit as recorded, None where the task has none.  cut: a sequence.
    """

    task_id: str
    git_hash: str | None
    cut: int


class Move(NamedTuple):
    task_id: str
    from_state: str
    to_state: str


class Plan(NamedTuple):
    """The transitions of a rewind.

    moves: the target's first, then those of later tasks, by their last transition.  The target's is
    included even if it is in its state already.  unchanged: later tasks in their state already.
    """

    moves: list[Move]
    unchanged: list[str]


def target_of(
    tasks: Tasks, task_id: str | None, git_hash: str | None, *, needs_hash: bool
) -> Target | Rule:
    """Return what a command that names one of the two goes back to, or the rule that refuses it."""
    if task_id is not None:
        return _by_task(tasks, task_id, needs_hash)
    assert git_hash is not None
    return _by_hash(tasks, git_hash)


def plan(tasks: Tasks, target: Target) -> Plan:
    """Plan the transitions of a rewind from the rows as they are."""
    row = tasks[target.task_id]
    moves = [Move(target.task_id, row["state"], _state(row, "rewind_target"))]
    unchanged = []
    later = [
        (row["last_sequence"], task_id)
        for task_id, row in tasks.items()
        if row["last_sequence"] > target.cut and task_id != target.task_id
    ]
    for _, task_id in sorted(later):
        row = tasks[task_id]
        move = Move(task_id, row["state"], _state(row, "rewind_later"))
        if move.from_state == move.to_state:
            unchanged.append(task_id)
        else:
            moves.append(move)
    return Plan(moves, unchanged)


def _by_task(tasks: Tasks, task_id: str, needs_hash: bool) -> Target | Rule:
    row = tasks.get(task_id)
    if row is None:
        return rules.TASK_UNKNOWN
    if row["head_hash"] is None:
        return (
            rules.TASK_WITHOUT_HASH if needs_hash else Target(task_id, None, row["last_sequence"])
        )
    return Target(task_id, row["head_hash"], row["head_sequence"])


def _by_hash(tasks: Tasks, git_hash: str) -> Target | Rule:
    targets = [
        Target(task_id, commit["git_hash"], commit["sequence"])
        for task_id, row in tasks.items()
        for commit in row["commits"]
        if same_commit(commit["git_hash"], git_hash)
    ]
    if not targets:
        return rules.HASH_UNKNOWN
    spellings = sorted({_folded(target.git_hash or "") for target in targets}, key=len)
    if any(not spellings[-1].startswith(spelling) for spelling in spellings):
        return rules.HASH_AMBIGUOUS
    return max(targets, key=lambda target: target.cut)


def same_commit(one: str, other: str) -> bool:
    """Return whether two hashes name one commit: equal, or one the other's abbreviation."""
    if one == other:
        return True
    if not (_is_hex(one) and _is_hex(other)):
        return False
    short, long = sorted((_folded(one), _folded(other)), key=len)
    return len(short) >= _SHORTEST and long.startswith(short)


def _is_hex(text: str) -> bool:
    return bool(text) and _HEX.issuperset(text)


def _folded(git_hash: str) -> str:
    return git_hash.lower() if _is_hex(git_hash) else git_hash


def _state(row: Mapping[str, Any], name: str) -> str:
    """Return the state in which a rewind puts a task of the row's profile."""
    state: str | None = getattr(PROFILES[row["profile"]], name)
    return row["state"] if state is None else state


def moves_json(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield moves as SaopRewindLogged has them while they are only planned."""
    for move in plan.moves:
        yield {**move._asdict(), "sequence": None}
