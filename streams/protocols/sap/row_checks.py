"""The checks of SAP's rows against each other.

| table | what is verified |
|---|---|
| sap.cache | every record has its key, its hash and that of the previous one; none is missing |
| sap.heuristics | every version has its key, its hash and that of the one before; none is missing |
|  | the newest is the one that the head of its capability names |
| sap.learning-heads | a hash is named with every version but none |
| sap.learning | it counts every task that has ended, under its kind |

The signals of a task are on the log before they are learned from.  So what counts them, and what
compares versions with heads, requires that the learning task has read the whole topic, and the
count also that no task is running.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from schemas import Undecodable, decode, sap, to_json
from streams.engine.log import Log
from streams.protocols.sap.counted_versions import FIRST_PREVIOUS, row_name
from streams.protocols.sap.row_hashes import has_its_hash
from streams.replay.checks import CheckContext, RowProblems, Rows
from streams.replay.consistent_cut import ConsistentCut, LiveRows, is_caught_up
from streams.replay.spill import SpillMap, SpillStore
from streams.replay.violations import ViolationKind
from topology.keys import partition_of
from topology.machines.sap_task import MACHINE
from topology.sap import (
    SAP_CACHE_TABLE,
    SAP_HEURISTICS,
    SAP_HEURISTICS_TABLE,
    SAP_LEARNING_HEADS,
    SAP_LEARNING_SIGNALS,
    SAP_LEARNING_TABLE,
    SAP_TASK_STATES_TABLE,
    sap_key,
)


def cache(rows: Rows, context: CheckContext) -> RowProblems:
    cache_key, version, before = "", 0, FIRST_PREVIOUS
    for key, row in rows:
        if row["cacheKey"] != cache_key:
            cache_key, version, before = row["cacheKey"], 0, FIRST_PREVIOUS
        sha256 = sap.record_sha256(to_json(SAP_CACHE_TABLE.record, row))
        if row["version"] != version + 1:
            yield key, f"version {row['version']} follows {version}"
        if row["recordSha256"] != sha256:
            yield key, f"recordSha256 is {row['recordSha256']}, the record's hash is {sha256}"
        if row["previousSha256"] != before:
            yield key, "previousSha256 is not the hash of the version before"
        if key != row_name(row["cacheKey"], row["version"]):
            yield key, f"it is version {row['version']} of {row['cacheKey']}"
        stored = context.seen.get("stored", row["cacheKey"], row["version"])
        if stored not in (None, sha256):
            yield key, f"the record's hash is {sha256}, its verdict says {stored}"
        version, before = row["version"], sha256


def heuristics(rows: Rows, context: CheckContext) -> RowProblems:
    last: dict[str, tuple[int, str]] = {}
    for key, row in rows:
        version, before = last.get(row["capability"], (0, FIRST_PREVIOUS))
        if row["version"] != version + 1:
            yield key, f"version {row['version']} follows {version}"
        elif row["previousSha256"] != before:
            yield key, "previousSha256 is not the hash of the version before"
        if not has_its_hash(SAP_HEURISTICS, row):
            yield key, "sha256 is not the hash of the row"
        if key != row_name(row["capability"], row["version"]):
            yield key, f"it is version {row['version']} of {row['capability']}"
        last[row["capability"]] = row["version"], row["sha256"]


def learning_heads(rows: Rows, context: CheckContext) -> RowProblems:
    for key, row in rows:
        if (row["sha256"] is None) is not (row["version"] == 0):
            yield key, f"it names version {row['version']} with the hash {row['sha256']}"


def newest_heuristics(
    log: Log, prefix: str, cut: ConsistentCut, live: LiveRows, count: int, scratch: SpillStore
) -> Iterator[tuple[ViolationKind, str, str]]:
    """Compare the newest version of each capability with its head.  count: of partitions.

    The head is on another topic, written in the transaction of the version that it names.
    """
    if not is_caught_up(log, prefix, cut, SAP_LEARNING_SIGNALS):
        return
    for task in range(count):
        for capability, raw in live.rows(SAP_LEARNING_HEADS, task):
            try:
                head = decode(raw, SAP_LEARNING_HEADS.record).value
            except Undecodable:
                continue  # reported where all rows are read
            newest, above = (row_name(capability, head["version"] + n) for n in (0, 1))
            sha256 = _sha256_of(live.get(SAP_HEURISTICS_TABLE, task, newest))
            if sha256 != head["sha256"]:
                message = f"its hash is {sha256}, the head of the capability says {head['sha256']}"
                yield ViolationKind.ROW_DIFFERS, f"{SAP_HEURISTICS.name} {newest}", message
            if live.get(SAP_HEURISTICS_TABLE, task, above) is not None:
                message = f"the head of the capability says that {head['version']} is the newest"
                yield ViolationKind.ROW_DIFFERS, f"{SAP_HEURISTICS.name} {above}", message


def _sha256_of(row: bytes | None) -> str | None:
    """Return the hash that a version of heuristics names, None if it cannot be read."""
    try:
        return (
            None if row is None else str(decode(row, SAP_HEURISTICS_TABLE.record).value["sha256"])
        )
    except Undecodable:
        return None


class _Kind(NamedTuple):
    """The ended tasks of one kind.  task: the worker task with its row."""

    task: int
    key: str
    ended: int


def learning(
    log: Log, prefix: str, cut: ConsistentCut, live: LiveRows, count: int, scratch: SpillStore
) -> Iterator[tuple[ViolationKind, str, str]]:
    """Compare each kind's count with the tasks that ended.  count: of partitions."""
    if not is_caught_up(log, prefix, cut, SAP_LEARNING_SIGNALS):
        return
    for kind in _ended(live, count, scratch):
        row_name = f"{SAP_LEARNING_TABLE.name} {kind.key}"
        raw = live.get(SAP_LEARNING_TABLE, kind.task, kind.key)
        if raw is None:
            message = f"{kind.ended} tasks of this kind have ended, and it is not there"
            yield ViolationKind.ROW_MISSING, row_name, message
            continue
        try:
            outcomes = decode(raw, SAP_LEARNING_TABLE.record).value["outcomes"]
        except Undecodable:
            continue  # reported where all rows are read
        if outcomes != kind.ended:
            message = f"outcomes is {outcomes}, {kind.ended} tasks of this kind have ended"
            yield ViolationKind.ROW_DIFFERS, row_name, message


def _ended(live: LiveRows, count: int, scratch: SpillStore) -> Iterator[_Kind]:
    kinds = SpillMap(scratch, "kinds")
    for task in range(count):
        for _, raw in live.rows(SAP_TASK_STATES_TABLE, task):
            try:
                row = decode(raw, SAP_TASK_STATES_TABLE.record).value
            except Undecodable:
                continue  # reported where rows are folded
            if row["state"] not in MACHINE.terminal:
                continue
            capability = row["target"]["capability"]
            key = sap_key(capability, row["territory"], row["accepted"]["fingerprint"])
            before = kinds.get(key)
            home = partition_of(capability.encode(), count)
            kinds.put(_Kind(home, key, 1 + (before.ended if before else 0)), key)
    return (kind for _, kind in kinds.items())
