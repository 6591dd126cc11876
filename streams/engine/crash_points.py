"""Named points at which a process kills itself with SIGKILL, to prove that its state survives.

HEADRACE_CRASH_AT=NAME[:N] kills the process the N-th time (default: the first) it passes the
point.  A worker's points are the boundaries of a task's life cycle; between two of them nothing
outlives the process, or only the log does.  They are wrapped around the methods when the setting
is given, so a process without it runs no code of this module.

No offsets are sent with a transaction.  A task's positions are rows of the transaction, the last
ones: they are missing at `in-produce`, on the log at `before-commit`, and in the store at
`after-apply`.  The offsets committed to the group, once a second, serve lag tools only.
"""

from __future__ import annotations

import functools
import inspect
import os
import signal
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

from streams.engine import kafka
from streams.engine.faust_host.thread import ConsumerThread
from streams.engine.kafka import KafkaTransactions
from streams.engine.positions import Positions
from streams.engine.runner import TaskRunner
from streams.engine.state import State
from streams.engine.task import Task
from streams.errors import UsageError


class CrashPoint(NamedTuple):
    """A method whose call, or return (`after`), is a crash point.

    meaning: the state at that point.
    producer: the index of the argument that is the producer to flush before the process dies.
    """

    owner: type | ModuleType
    method: str
    after: bool
    meaning: str
    producer: int | None = None


POINTS: dict[str, CrashPoint] = {
    "before-fence": CrashPoint(KafkaTransactions, "open", False, "a task is about to open"),
    "after-fence": CrashPoint(KafkaTransactions, "open", True, "the former owner is fenced"),
    "before-restore": CrashPoint(State, "_restore", False, "the store is open, or wiped"),
    "in-restore": CrashPoint(State, "_apply_records", True, "a part of the changelog is stored"),
    "after-restore": CrashPoint(State, "_restore", True, "the store is at the changelog's end"),
    "after-positions": CrashPoint(Positions, "load", True, "input positions are known"),
    "before-seek": CrashPoint(Task, "resume", True, "the task is open and has not sought"),
    "before-decide": CrashPoint(Task, "next_batch", False, "records may be in hand"),
    "before-submit": CrashPoint(Task, "submit", False, "a cycle is decided, none of it sent"),
    "before-begin": CrashPoint(KafkaTransactions, "_begin", False, "no transaction is open"),
    "after-begin": CrashPoint(KafkaTransactions, "_begin", True, "a transaction is open"),
    "in-produce": CrashPoint(
        kafka, "produce", True, "N records are on the log, a part of an open transaction", 0
    ),
    "before-commit": CrashPoint(
        KafkaTransactions, "_end", False, "all records are on the log, in an open transaction", 1
    ),
    "after-commit": CrashPoint(KafkaTransactions, "_end", True, "committed, and not yet stored"),
    "before-apply": CrashPoint(State, "apply", False, "committed, and its end is known"),
    "after-apply": CrashPoint(State, "apply", True, "rows and positions are stored"),
    "before-offsets": CrashPoint(
        ConsumerThread, "tell_group", False, "the group has not heard where the tasks stand"
    ),
    "after-offsets": CrashPoint(ConsumerThread, "tell_group", True, "the group has heard of it"),
    "before-fire": CrashPoint(Task, "fire", False, "timers are due, and nothing is in flight"),
    "after-fire": CrashPoint(Task, "fire", True, "due timers are judged, none of it sent"),
    "before-revoke": CrashPoint(TaskRunner, "park", False, "a rebalance has begun"),
    "after-revoke": CrashPoint(TaskRunner, "park", True, "nothing is in flight"),
    "before-close": CrashPoint(Task, "close", False, "a task is about to be given back"),
    "after-close": CrashPoint(Task, "close", True, "a task was given back"),
}


def install(setting: str, points: Mapping[str, CrashPoint] = POINTS) -> None:
    """Make this process die at one of its points, given as NAME[:N].  Raises UsageError."""
    name, _, count = setting.partition(":")
    if name not in points or not (count or "1").isdigit() or count == "0":
        raise UsageError(
            f"HEADRACE_CRASH_AT names no point: {setting}",
            advice=f"NAME[:N] with one of {', '.join(points)}.",
        )
    point = points[name]
    passes = 0

    def pass_point(arguments: tuple[Any, ...]) -> None:
        nonlocal passes
        passes += 1
        if passes >= int(count or "1"):  # each task has a thread, and one may be ahead
            if point.producer is not None:
                arguments[point.producer].flush()
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(point.owner, point.method, _wrap_method(point, pass_point))


def _wrap_method(
    point: CrashPoint, pass_point: Callable[[tuple[Any, ...]], None]
) -> Callable[..., Any]:
    method = getattr(point.owner, point.method)

    @functools.wraps(method)
    def call(*arguments: Any) -> Any:
        if not point.after:
            pass_point(arguments)
        result = method(*arguments)
        if point.after:
            pass_point(arguments)
        return result

    @functools.wraps(method)
    async def wait(*arguments: Any) -> Any:
        if not point.after:
            pass_point(arguments)
        result = await method(*arguments)
        if point.after:
            pass_point(arguments)
        return result

    return wait if inspect.iscoroutinefunction(method) else call
