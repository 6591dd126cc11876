"""Writing in a task's place, as operators' tools do: in its transaction, and with its MACs.

The transactional id of the task fences a worker that still owns it.  With a key for MACs, the
transaction raises the task's opening, so that its serials continue those that the task has written.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from streams.engine.log import Log
from streams.engine.mac_checks import MacChecks, Serials
from streams.engine.records import Output, TopicPartition
from streams.engine.refusal_marks import accepted_records
from streams.engine.state import State
from streams.engine.task_macs import OPENING_ROW, TaskMacs
from streams.log.reading import records
from streams.settings.service import ServiceSettings
from topology import processors
from topology.core import CHANGELOG

_BATCH = 1000


@contextmanager
def restored_state(log: Log, settings: ServiceSettings, partition: int) -> Iterator[State]:
    """Open the internal tables of a task in a temporary directory, restored from its changelog."""
    checks = MacChecks.of(settings, [CHANGELOG])
    with TemporaryDirectory(prefix="headrace-") as directory:
        path = Path(directory) / "state"
        state = State(path, log, settings.prefix, partition, (), checks)
        state.open(0, threading.Event())
        try:
            yield state
        finally:
            state.close()


def sign_as_task(
    log: Log, settings: ServiceSettings, partition: int, outputs: Iterable[Output]
) -> Sequence[Output]:
    """Return the outputs as the task of `partition` would write them, with MACs if a key is set.

    The producer of the task must be open.  Raises MacMissing, MacKeyMissing.
    """
    opening, is_empty = _read_opening(log, settings, partition)
    macs = TaskMacs(settings, partition, processors.ALL)
    macs.open(lambda keys: [opening] * len(keys), is_empty)
    signed = list(outputs)
    macs.add_opening({}, signed)
    return macs.sign(signed)


def _read_opening(log: Log, settings: ServiceSettings, partition: int) -> tuple[bytes | None, bool]:
    """Return the row of the task's openings, and whether its changelog has no rows.

    Other rows are not decoded, since one of them may be what stops the task.
    """
    checks = MacChecks.of(settings, [CHANGELOG])
    serials: Serials = {}
    changelog = records(log, [TopicPartition(settings.prefix + CHANGELOG.name, partition)])
    opening, is_empty = None, True
    while batch := list(islice(changelog, _BATCH)):
        accepted, _ = accepted_records(checks, batch, serials)
        for record in accepted:
            is_empty = False
            if record.key == OPENING_ROW:
                opening = record.value
    return opening, is_empty
