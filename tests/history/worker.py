"""A worker with one of the seeded faults of the history checker's own test.

`python -m tests.history.worker FAULT`: a static member.  The fault happens once, after the file
`arm` was put into the state directory, in a cycle that judges commands of APC, SAOP or RTES only:
what follows on the same inputs then shows that the task has gone on.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from streams.engine import task as tasks
from streams.engine.batch import Batch
from streams.engine.kafka import KafkaTransactions
from streams.engine.merge import Buffer
from streams.engine.records import Record
from streams.engine.task import Task
from streams.engine.worker import run_worker
from streams.protocols.commands import all_processors, bind_files
from streams.settings import Settings
from streams.settings.service import ServiceSettings
from tests.history.faults import ARM, TOLD, Fault
from topology.apc import APC_PACKETS
from topology.core import RTES_RAW
from topology.saop import SAOP_TURNS

_STOPPING_S = 0.5
"""A signal to oneself may stop the other threads a moment before this one."""
INPUTS = frozenset({APC_PACKETS, SAOP_TURNS, RTES_RAW})


class Injection:
    """Whether the fault may happen now, and that it has."""

    def __init__(self, armed: Path) -> None:
        self._armed = armed
        self._done = False

    def take(self) -> bool:
        """True once."""
        if self._done or not self._armed.exists():
            return False
        self._done = True
        return True

    def write_line(self, what: object) -> None:
        sys.stdout.write(f"{TOLD}{json.dumps(what)}\n")
        sys.stdout.flush()


def batch_offsets(task: Task, cycle: Batch) -> dict[str, list[int]] | None:
    """The offsets that a cycle judges, by topic partition: first and next; None if it is not of
    the kind that a fault is put into.
    """
    topics = cycle.offsets.keys()
    if APC_PACKETS not in topics or not topics <= INPUTS:
        return None
    before = {tp.topic: offset for tp, offset in task.committed_offsets().items()}
    names = {topic: tp.topic for tp, topic in task.tps.items()}
    return {
        f"{names[topic]}/{task.partition}": [before[names[topic]], end]
        for topic, end in cycle.offsets.items()
    }


def replace(owner: type, method: str, by: Callable[..., object]) -> None:
    """For the rest of this process."""
    assert callable(getattr(owner, method))
    setattr(owner, method, by)


def in_commit(injection: Injection, happen: Callable[[Task, Batch, object], bool]) -> None:
    """happen: in place of a commit, or before it if it returns True."""
    commit = Task.commit

    def faulty(self: Task, cycle: Batch) -> None:
        what = batch_offsets(self, cycle)
        if what is None or not injection.take() or happen(self, cycle, what):
            commit(self, cycle)

    replace(Task, "commit", faulty)


def die(injection: Injection) -> None:
    def happen(task: Task, cycle: Batch, what: object) -> bool:
        injection.write_line(what)
        os.kill(os.getpid(), signal.SIGKILL)
        return False

    in_commit(injection, happen)


def drop_commit(injection: Injection) -> None:
    """All records are on the log, in a transaction that is aborted; nobody hears of it."""
    dropping = False
    end = KafkaTransactions._end

    def aborted(self: KafkaTransactions, producer: Any) -> None:
        if dropping:
            producer.flush()
            producer.abort_transaction()
        else:
            end(self, producer)

    def happen(task: Task, cycle: Batch, what: object) -> bool:
        nonlocal dropping
        dropping = True
        task._producer.commit(cycle.effects.outputs)
        dropping = False
        injection.write_line(what)
        return False

    replace(KafkaTransactions, "_end", aborted)
    in_commit(injection, happen)


def apply_first(injection: Injection) -> None:
    def happen(task: Task, cycle: Batch, what: object) -> bool:
        task._state.apply(cycle.effects.rows, {}, task._clock())
        task._state._store.flush()
        injection.write_line(what)
        os.kill(os.getpid(), signal.SIGKILL)
        return False

    in_commit(injection, happen)


def sleep(injection: Injection) -> None:
    def happen(task: Task, cycle: Batch, what: object) -> bool:
        injection.write_line(what)
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(_STOPPING_S)
        return True

    in_commit(injection, happen)


def no_fencing(injection: Injection) -> None:
    """A transactional id that no other owner opens."""
    regular = tasks.transactional_id

    def transactional_id(settings: ServiceSettings, partition: int) -> str:
        return f"{regular(settings, partition)}-{os.getpid()}"

    tasks.transactional_id = transactional_id
    sleep(injection)


def double_delivery(injection: Injection) -> None:
    put = Buffer.put

    def twice(self: Buffer, records: Sequence[Record]) -> None:
        put(self, records)
        if self.topic is APC_PACKETS and self.records and injection.take():
            first = self.records[0]
            self.put_back(first)
            name, partition = first.topic, first.partition
            injection.write_line({f"{name}/{partition}": [first.offset, first.offset + 1]})

    replace(Buffer, "put", twice)


FAULTS: dict[Fault, Callable[[Injection], None]] = {
    Fault.NONE: die,
    Fault.DROP_COMMIT: drop_commit,
    Fault.APPLY_FIRST: apply_first,
    Fault.NO_FENCING: no_fencing,
    Fault.DOUBLE_DELIVERY: double_delivery,
    Fault.SLEEP: sleep,
}


def main(fault: str) -> None:
    logging.basicConfig(level="WARNING", format="%(asctime)s %(levelname)s %(name)s %(message)s")
    settings = Settings.load()
    bind_files(settings)
    FAULTS[Fault(fault)](Injection(settings.state_dir / ARM))
    run_worker(settings, all_processors, static=True)


if __name__ == "__main__":
    main(sys.argv[1])
