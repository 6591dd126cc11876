"""`sap.learning` counts every task that has ended, under its kind.

What a task teaches is on the log before it is learned from, so this holds where the learning task
has read all that there is and no task goes on meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from schemas import Undecodable, decode
from streams.engine.log import Log
from streams.engine.records import TopicPartition
from streams.log.reading import partitions, records
from streams.replay.cut import Cut, Live
from streams.replay.findings import Fault
from streams.replay.scratch import Scratch, Values
from topology.keys import partition_of
from topology.machines.sap_task import MACHINE
from topology.sap import SAP_LEARNING_SIGNALS, SAP_LEARNING_TABLE, SAP_TASK_STATES_TABLE, sap_key
from topology.topics import dead_letters_of


class Kind(NamedTuple):
    """Tasks of one kind that have ended.  task: that keeps its row."""

    task: int
    key: str
    ended: int


def check(
    log: Log, prefix: str, cut: Cut, live: Live, count: int, scratch: Scratch
) -> Iterator[tuple[Fault, str, str]]:
    """Compare each kind's count with the tasks that ended.  count: of partitions."""
    if not heard(log, prefix, cut):
        return
    for kind in _ended(live, count, scratch):
        place, raw = (
            f"{SAP_LEARNING_TABLE.name} {kind.key}",
            live.get(SAP_LEARNING_TABLE, kind.task, kind.key),
        )
        if raw is None:
            told = f"{kind.ended} tasks of this kind have ended, and it is not there"
            yield Fault.ROW_MISSING, place, told
            continue
        try:
            outcomes = decode(raw, SAP_LEARNING_TABLE.record).value["outcomes"]
        except Undecodable:
            continue  # said where all rows are read
        if outcomes != kind.ended:
            told = f"outcomes is {outcomes}, {kind.ended} tasks of this kind have ended"
            yield Fault.ROW_DIFFERS, place, told


def heard(log: Log, prefix: str, cut: Cut) -> bool:
    """Whether every signal was learned from, and none could not be."""
    tps = partitions(log, [prefix + SAP_LEARNING_SIGNALS.name])
    ends, starts = log.high_watermarks(tps), log.starts(tps)
    decided = {tp: max(starts[tp], min(ends[tp], cut.decided.get(tp, 0))) for tp in tps}
    letters = TopicPartition(prefix + dead_letters_of(SAP_LEARNING_SIGNALS).name, 0)
    return not cut.after[letters] and next(records(log, tps, ends, decided), None) is None


def _ended(live: Live, count: int, scratch: Scratch) -> Iterator[Kind]:
    kinds = Values(scratch, "kinds")
    for task in range(count):
        for _, raw in live.rows(SAP_TASK_STATES_TABLE, task):
            try:
                row = decode(raw, SAP_TASK_STATES_TABLE.record).value
            except Undecodable:
                continue  # said where rows are folded
            if row["state"] not in MACHINE.terminal:
                continue
            capability = row["target"]["capability"]
            key = sap_key(capability, row["territory"], row["accepted"]["fingerprint"])
            before = kinds.get(key)
            home = partition_of(capability.encode(), count)
            kinds.put(Kind(home, key, 1 + (before.ended if before else 0)), key)
    return (kind for _, kind in kinds.items())
