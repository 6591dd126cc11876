"""Adopting topics that were restored under other topic ids: `headrace topics adopt`.

A task stops when an input has another id than the one it has read.  If the topic is a copy with
the same records at the same offsets, the tables of the task are right, and only the ids need to
change.  The log itself proves it: each output of a processor names the position of the record that
caused it, and at least one of them has its time.  Signed checkpoints prove the facts, where there
are some.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from schemas import encode
from streams.engine.accept_gap import read_positions
from streams.engine.headers import CAUSE, iso
from streams.engine.log import Log, Producer
from streams.engine.operator_writes import sign_as_task
from streams.engine.records import Output, Record, TopicPartition, header, position
from streams.engine.rows import store_key
from streams.engine.store import Store
from streams.engine.task import transactional_id
from streams.errors import PositionsDiffer
from streams.log.reading import partitions, records
from streams.ops.audit.keys import Keys
from streams.ops.audit.verify import verify
from streams.ops.audit.writer import checkpoints
from streams.settings.service import ServiceSettings
from streams.telemetry.progress import count_items
from topology import processors
from topology.core import CHANGELOG, KNOWN_INPUTS
from topology.declarations import Topic
from topology.topics import dead_letters_of, full_name

_OFFSET = struct.Struct(">q")
_WRITE_ROWS = 10_000
_DEAD_LETTER_TIME = "kafka_dlt-original-timestamp"


class Adoption(NamedTuple):
    """An input of a task that has another topic id than before.

    offset: where the task goes on.  compared: how many records below it were compared with what
    they caused.
    """

    topic: str
    partition: int
    offset: int
    compared: int


class _Task(NamedTuple):
    """A task with adopted inputs.  positions: of these, by topic partition."""

    partition: int
    positions: dict[TopicPartition, int]
    known_ids: dict[str, str]
    producer: Producer | None


def adopt(
    log: Log, settings: ServiceSettings, keys: Keys, *, dry_run: bool = False
) -> list[Adoption]:
    """Let all tasks go on at their positions in inputs that have other ids; return those inputs.

    keys: public keys of the audit; without any, checkpoints are not verified.
    A task's transaction fences a worker that owns it; a dry run fences and writes nothing.
    Raises PositionsDiffer, and writes nothing, unless all inputs continue what the tasks have read;
    Fenced when a worker takes a task over meanwhile.
    """
    with ExitStack() as stack:
        tasks = [
            task
            for partition in range(settings.partitions)
            if (task := _open_task(log, settings, partition, stack, dry_run)) is not None
        ]
        if not tasks:
            return []
        positions = {tp: offset for task in tasks for tp, offset in task.positions.items()}
        _check_bounds(log, positions)
        _verify_checkpoints(log, settings, keys)
        counts = _compare_causes(log, settings, positions)
        for task in tasks:
            _commit_ids(log, settings, task)
    return [Adoption(*tp, offset, counts[tp]) for tp, offset in positions.items()]


def _open_task(
    log: Log, settings: ServiceSettings, partition: int, stack: ExitStack, dry_run: bool
) -> _Task | None:
    """Return the task if one of its inputs has another id; fence its owner unless it is dry."""
    task = _read_task(log, settings, partition)
    if task is None or dry_run:
        return task
    producer = log.producer(transactional_id(settings, partition))
    stack.callback(producer.close)
    producer.open()
    task = _read_task(log, settings, partition)
    return None if task is None else task._replace(producer=producer)


def _read_task(log: Log, settings: ServiceSettings, partition: int) -> _Task | None:
    inputs = list(dict.fromkeys(t for p in processors.ALL for t in p.inputs))
    offsets, known_ids, _ = read_positions(log, settings, partition, inputs)
    ids = log.topic_ids([settings.prefix + topic.name for topic in inputs])
    current_ids = {t.name: ids[settings.prefix + t.name] for t in inputs if t.name in known_ids}
    positions: dict[TopicPartition, int] = {}
    for name, topic_id in current_ids.items():
        tp = TopicPartition(settings.prefix + name, partition)
        offset = offsets[name]
        if topic_id != known_ids[name]:
            if offset is None:
                raise _difference(tp, "the task's position in it is not among the restored rows")
            positions[tp] = offset
    if not positions:
        return None
    return _Task(partition, positions, {**known_ids, **current_ids}, None)


def _check_bounds(log: Log, positions: Mapping[TopicPartition, int]) -> None:
    starts, ends = log.starts(list(positions)), log.ends(list(positions))
    for tp, offset in positions.items():
        if not starts[tp] <= offset <= ends[tp]:
            what = f"it holds offsets {starts[tp]} to {ends[tp]}, the task had read to {offset}"
            raise _difference(tp, what)


def _verify_checkpoints(log: Log, settings: ServiceSettings, keys: Keys) -> None:
    """Raise PositionsDiffer if the audit's checkpoints contradict the facts."""
    chains = checkpoints(log, settings.prefix) if keys else []
    tps = sorted({TopicPartition(c["topic"], c["partition"]) for c in chains})
    if not tps:
        return
    facts = count_items(_read_all(log, tps), "verify checkpoints", _total(log, tps))
    findings = verify(facts, chains, tps, keys).findings
    if findings:
        raise PositionsDiffer(f"{findings[0].place}: {findings[0].code}: {findings[0].what}")


def _compare_causes(
    log: Log, settings: ServiceSettings, positions: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Compare each input with the causes that outputs name; return the number compared."""
    with TemporaryDirectory(prefix="headrace-") as directory:
        store = Store(Path(directory) / "causes")
        try:
            _collect_causes(log, settings, positions, store.write)
            return {tp: _compare(log, tp, end, store) for tp, end in positions.items()}
        finally:
            store.close()


def _collect_causes(
    log: Log,
    settings: ServiceSettings,
    positions: Mapping[TopicPartition, int],
    write: Callable[[Mapping[bytes, bytes | None]], None],
) -> None:
    """Write a row for each cause in these inputs and each time of an output that names it."""
    tps = partitions(log, [full_name(topic, settings.prefix) for topic in _outputs()])
    rows: dict[bytes, bytes | None] = {}
    for record in count_items(_read_all(log, tps), "read outputs", _total(log, tps)):
        cause = _parse_cause(header(record, CAUSE))
        if cause is not None and cause[0] in positions:
            rows[_cause_key(*cause) + _time_of_cause(record)] = position(record).encode()
        if len(rows) >= _WRITE_ROWS:
            write(rows)
            rows = {}
    write(rows)


def _outputs() -> list[Topic]:
    """Return the topics that processors alone write, and dead letters."""
    written = [t for p in processors.ALL for t in p.outputs if not processors.written_by_clients(t)]
    dead = [dead_letters_of(t) for p in processors.ALL for t in p.inputs if not t.internal]
    return list(dict.fromkeys([*written, *dead]))


def _compare(log: Log, tp: TopicPartition, end: int, store: Store) -> int:
    """Compare the records below `end` with the causes that name them."""
    (start,) = log.starts([tp]).values()
    below = records(log, [tp], {tp: end}, {tp: start})
    stored = count_items(below, f"compare {tp.topic}/{tp.partition}", end - start)
    record = next(stored, None)
    count = 0
    for offset, times, output in _causes(store, tp):
        if offset >= end:
            raise _difference(tp, f"{output} names offset {offset}, the task had read to {end}")
        while record is not None and record.offset < offset:
            record = next(stored, None)
        if offset < start:
            continue
        if record is None or record.offset != offset:
            raise _difference(tp, f"{output} names offset {offset}, where no record lies")
        if times and iso(record.timestamp) not in times:
            raise _difference(tp, f"{output} names offset {offset}, where another record lies")
        count += 1
    return count


def _causes(store: Store, tp: TopicPartition) -> Iterator[tuple[int, set[bytes], str]]:
    """Yield the offset of each cause in order, the times of its outputs, and one of these."""
    prefix = _tp_key(tp)
    size = len(prefix) + _OFFSET.size
    for key, group in groupby(store.scan(prefix), lambda row: row[0][:size]):
        rows = list(group)
        times = {row[size:] for row, _ in rows if row[size:]}
        yield _OFFSET.unpack(key[len(prefix) :])[0], times, rows[0][1].decode()


def _time_of_cause(output: Record) -> bytes:
    """Return the time that an output has of its cause; empty for outputs without times."""
    original = header(output, _DEAD_LETTER_TIME)
    if original is not None:
        return iso(_OFFSET.unpack(original)[0])
    return header(output, "ce_time") or b""


def _parse_cause(cause: bytes | None) -> tuple[TopicPartition, int] | None:
    """Parse a position, topic/partition/offset; return None for the name of a timer."""
    parts = (cause or b"").decode("utf-8", "replace").rsplit("/", 2)
    if len(parts) != 3 or not (parts[1].isdecimal() and parts[2].isdecimal()):
        return None
    return TopicPartition(parts[0], int(parts[1])), int(parts[2])


def _tp_key(tp: TopicPartition) -> bytes:
    return f"{tp.topic}/{tp.partition}".encode() + b"\0"


def _cause_key(tp: TopicPartition, offset: int) -> bytes:
    return _tp_key(tp) + _OFFSET.pack(offset)


def _read_all(log: Log, tps: Sequence[TopicPartition]) -> Iterable[Record]:
    return records(log, tps, log.ends(tps), log.starts(tps))


def _total(log: Log, tps: Sequence[TopicPartition]) -> int:
    return sum(log.ends(tps).values()) - sum(log.starts(tps).values())


def _commit_ids(log: Log, settings: ServiceSettings, task: _Task) -> None:
    """Write the ids that the inputs have now to the task's known inputs, unless it is a dry run."""
    if task.producer is None:
        return
    value = encode(KNOWN_INPUTS.record, {"inputs": task.known_ids})
    key = store_key(KNOWN_INPUTS.name, "inputs")
    name = settings.prefix + CHANGELOG.name
    outputs = [Output(name, key, value, (), task.partition)]
    task.producer.commit(sign_as_task(log, settings, task.partition, outputs))


def _difference(tp: TopicPartition, what: str) -> PositionsDiffer:
    return PositionsDiffer(f"{tp.topic}/{tp.partition} is not the topic that was read: {what}")
