"""An export of a log: a folder that is checked without a broker, by headrace or other programs.

records.jsonl.gz   the records of the chosen topics
tlog/              the log in the form of tlog-tiles, up to its newest published checkpoint
policy             the policy that accepts the checkpoint
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from streams.engine.log import Log
from streams.engine.records import TopicPartition
from streams.errors import NotFound, UsageError
from streams.log.reading import records
from streams.ops.audit.segment import write_records
from streams.ops.tlog.policy import Policy
from streams.ops.tlog.tile_directory import CHECKPOINT, TileDirectory
from streams.ops.tlog.verify import read_batches, read_tree
from streams.telemetry.progress import count_items

RECORDS, LOG, POLICY = "records.jsonl.gz", "tlog", "policy"


class ExportCounts(NamedTuple):
    """The numbers of records and entries that were exported."""

    records: int
    entries: int


def write_export(
    log: Log,
    prefix: str,
    policy: Policy,
    policy_bytes: bytes,
    origin: str,
    tps: Sequence[TopicPartition],
    folder: Path,
) -> ExportCounts:
    """Write the export of a log to a new or empty folder.

    policy_bytes: the policy as it is copied.  tps: the partitions whose records are exported.
    Raises NotFound if no checkpoint is published, UsageError, BrokerUnavailable.
    """
    tree = read_tree(log, prefix, policy, origin)
    if tree.head is None:
        message = f"no checkpoint of {origin} is published that the policy accepts"
        raise NotFound(message, "not_published", advice="`headrace audit write` publishes one.")
    _make_folder(folder)
    (folder / POLICY).write_bytes(policy_bytes)
    files = TileDirectory(folder / LOG)
    files.append(islice(chain.from_iterable(read_batches(log, tree, policy)), tree.published))
    files.flush()
    files.write(CHECKPOINT, tree.head.note.encode())
    topics = list(dict.fromkeys(tp.topic for tp in tps))
    starts, ends = log.starts(tps), log.ends(tps)
    total = sum(ends[tp] - starts[tp] for tp in tps)
    exported = count_items(records(log, tps, ends, starts), "export", total)
    return ExportCounts(write_records(folder / RECORDS, topics, exported), tree.published)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_empty = not any(folder.iterdir())
    except OSError as exc:
        raise UsageError(f"{folder} is no folder to write to: {exc.strerror}") from exc
    if not is_empty:
        raise UsageError(f"{folder} is not empty", advice="Each export has a folder of its own.")
