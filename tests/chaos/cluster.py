"""One environment on a real broker: its topics, its workers, and what they leave on the log."""

from __future__ import annotations

import random
import shutil
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient

from schemas import decode, decode_many
from streams.engine.headers import CAUSE
from streams.engine.kafka import KafkaLog
from streams.engine.log import Pace
from streams.engine.records import Output, Record, TopicPartition, header
from streams.engine.rows import store_key
from streams.engine.task import group_of
from streams.errors import BrokerUnavailable
from streams.settings import Settings
from tests.chaos.workers import Worker
from tests.processes import PATIENCE_S, wait_for
from tests.toy import FACTS, INPUT, RECORD, toy_record, toy_topics
from topology.core import CHANGELOG, INPUT_POSITIONS, TIMERS
from topology.declarations import Topic
from topology.topics import partitions_of

PARTITIONS = 4
_TIMERS = store_key(TIMERS.name, "")


class Fact(NamedTuple):
    """kind: seen, answered, late, fired.  n: how often its id was seen.  cause: input position."""

    kind: str
    id: str
    n: int
    cause: str


class Tail:
    """What is committed on one topic, read as it grows.

    next: the offset after the last record read, by partition.
    """

    def __init__(self, log: KafkaLog, topic: str, partitions: int) -> None:
        self._log = log
        self._tps = [TopicPartition(topic, p) for p in range(partitions)]
        self._reader = log.reader(dict.fromkeys(self._tps, 0), Pace.LIVE)
        self.records: list[Record] = []
        self.next: dict[int, int] = {}
        self._rows: dict[tuple[int, bytes], bytes] = {}
        self._folded = 0

    def poll(self) -> int:
        """Read what is there now, a little at least; returns how many there are by now."""
        records = self._reader.poll(0.05)
        self.records += records
        self.next.update((record.partition, record.offset + 1) for record in records)
        return len(self.records)

    def until(self, count: int, patience_s: float = PATIENCE_S) -> None:
        """Until there are so many records."""
        what = f"{count} records of {self._tps[0].topic}"
        wait_for(lambda: self.poll() >= count, what, patience_s, 0)

    def amid(self, dice: random.Random, sure: int) -> None:
        """After any of those to come in the first half, if so many are sure to come in all."""
        seen = self.poll()
        self.until(seen + dice.randrange(max(1, (sure - seen) // 2)))

    def catch_up(self) -> list[Record]:
        """All records committed by now."""
        ends = self._log.ends(self._tps)
        while any(self._reader.position(tp) < end for tp, end in ends.items()):
            self.poll()
        return self.records

    def rows(self) -> Mapping[tuple[int, bytes], bytes]:
        """What compaction keeps of the records committed by now, by partition and key."""
        self.catch_up()
        for record in self.records[self._folded :]:
            key = record.partition, record.key or b""
            if record.value is None:
                self._rows.pop(key, None)
            else:
                self._rows[key] = record.value
        self._folded = len(self.records)
        return self._rows

    def close(self) -> None:
        self._reader.close()


class Cluster:
    """directory: for state directories and logs of workers.  Deletes its topics in the end."""

    def __init__(self, bootstrap: str, directory: Path, prefix: str | None = None) -> None:
        self.bootstrap = bootstrap
        self.prefix = prefix or f"chaos-{uuid.uuid4().hex[:8]}."
        self.directory = directory
        self.settings = Settings.load(
            {}, bootstrap=bootstrap, prefix=self.prefix, partitions=PARTITIONS
        )
        self.log = KafkaLog(bootstrap, {}, group_of(self.settings))
        self._admin = AdminClient({"bootstrap.servers": bootstrap})
        self._tails: dict[str, Tail] = {}
        self._workers: list[Worker] = []
        self.sent: list[Record] = []
        self.log.create(toy_topics(PARTITIONS, self.prefix))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.abandon()
            lines = worker.text()[-20_000:].splitlines()  # shown when the test fails
            print("\n".join([f"--- {worker.name}", *(line[:200] for line in lines)]))
        self.forget()
        self.log.delete([t.name for t in toy_topics(PARTITIONS, self.prefix)])

    def forget(self) -> None:
        """Drop what was read and sent, before topics are created anew."""
        for tail in self._tails.values():
            tail.close()
        self._tails.clear()
        self.sent.clear()

    def state_dir(self, name: str) -> Path:
        return self.directory / name

    def settings_of(self, name: str) -> Settings:
        """As the worker of that name has them."""
        return replace(self.settings, state_dir=self.state_dir(name))

    def start(
        self, name: str, *arguments: str, before: Sequence[str] = (), **environ: str
    ) -> Worker:
        """A worker on the state directory of that name.

        before: a command that runs the worker's.  environ: settings, e.g. BATCH="50".
        """
        log = self.directory / f"{name}-{len(self._workers)}.log"
        variables = {"BOOTSTRAP": self.bootstrap, "PREFIX": self.prefix, "BATCH": "100", **environ}
        named = {f"HEADRACE_{key}": value for key, value in variables.items()}
        worker = Worker(name, self.state_dir(name), log, named, *arguments, before=before)
        self._workers.append(worker)
        return worker

    def count_members(self) -> int:
        """Return how many workers the group has; a killed one counts until it is out of it."""
        group = group_of(self.settings)
        return len(self._admin.describe_consumer_groups([group])[group].result(PATIENCE_S).members)

    def end_all(self) -> None:
        """Every worker that runs ends cleanly."""
        running = [worker for worker in self._workers if worker.running]
        for worker in running:
            worker.terminate()
        for worker in running:
            assert worker.exit_code() == 0, worker.text()[-3000:]

    def delete_state(self, name: str) -> None:
        shutil.rmtree(self.state_dir(name))

    def record(self, ident: str, topic: Topic = INPUT, **data: Any) -> Output:
        return toy_record(ident, topic=topic, prefix=self.prefix, **data)

    def send(self, outputs: Sequence[Output]) -> None:
        """Append input records, and keep that they were."""
        self.sent += self.log.append(outputs)

    def send_counts(self, count: int, dice: random.Random, ids: int = 500) -> None:
        """So many records without more to them."""
        self.send([self.record(f"k{dice.randrange(ids)}") for _ in range(count)])

    @contextmanager
    def trickle(self, dice: random.Random) -> Iterator[None]:
        """Records that keep coming, some thousand a second, for as long as the context lasts."""
        enough = threading.Event()

        def send() -> None:
            while not enough.wait(0.05):
                self.send_counts(100, dice)

        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(send)
            try:
                yield
            finally:
                enough.set()
                sending.result()

    def tail(self, topic: Topic) -> Tail:
        name = self.prefix + topic.name
        if name not in self._tails:
            partitions = partitions_of(topic, PARTITIONS)
            self._tails[name] = Tail(self.log, name, partitions)
        return self._tails[name]

    def facts(self) -> list[Fact]:
        """All that are committed by now, by partition in order."""
        records = sorted(self.tail(FACTS).catch_up(), key=lambda r: (r.partition, r.offset))
        values = decode_many([r.value for r in records], RECORD)
        return [_fact(record, value) for record, value in zip(records, values, strict=True)]

    def fold(self, topic: Topic) -> Mapping[tuple[int, bytes], bytes]:
        """The live rows of a table topic or of the changelog, by partition and key."""
        return self.tail(topic).rows()

    def positions(self) -> dict[TopicPartition, int]:
        """Where the tasks go on reading, by their own rows."""
        positions: dict[TopicPartition, int] = {}
        for (partition, key), value in self.fold(CHANGELOG).items():
            table, _, name = key.partition(b"\0")
            if table.decode() == INPUT_POSITIONS.name:
                offset = decode(value, INPUT_POSITIONS.record).value["next_offset"]
                positions[TopicPartition(self.prefix + name.decode(), partition)] = offset
        return positions

    def drained(self, *inputs: Topic) -> bool:
        """All records of the inputs are decided, and no timer waits."""
        names = [self.prefix + topic.name for topic in inputs or (INPUT,)]
        ends = self.log.ends([TopicPartition(n, p) for n in names for p in range(PARTITIONS)])
        positions = self.positions()
        decided = all(positions.get(tp, 0) == end for tp, end in ends.items())
        return decided and not any(key.startswith(_TIMERS) for _, key in self.fold(CHANGELOG))

    def drain(self, *inputs: Topic, patience_s: float = 150.0) -> None:
        def drained() -> bool:
            try:
                return self.drained(*inputs)
            except BrokerUnavailable:  # a broker that is just back is not ready for all questions
                return False

        wait_for(drained, "drained", patience_s, 0.2)

    def recreate(self, topics: Iterable[Topic] | None = None) -> None:
        """Delete topics (all, if none are named) and create them again, empty."""
        every = {t.name: t for t in toy_topics(PARTITIONS, self.prefix)}
        names = [self.prefix + t.name for t in topics] if topics is not None else list(every)
        self.log.delete(names)
        wait_for(lambda: self.log.topics().keys().isdisjoint(names), "topics gone")
        self.log.create([every[name] for name in names])
        wait_for(lambda: self.log.topics().keys() >= set(names), "topics there")

    def forget_group(self) -> None:
        """Delete the consumer group with its offsets; no worker may run."""
        group = group_of(self.settings)
        self._done(lambda: self._admin.delete_consumer_groups([group]))

    def group_to_end(self) -> None:
        """Move the group's offsets to the end of the input; no worker may run."""
        ends = self.log.ends([TopicPartition(self.prefix + INPUT.name, p) for p in range(4)])
        offsets = [KafkaPartition(*tp, end) for tp, end in ends.items()]
        group_offsets = ConsumerGroupTopicPartitions(group_of(self.settings), offsets)
        self._done(lambda: self._admin.alter_consumer_group_offsets([group_offsets]))

    def _done(self, ask: Callable[[], Mapping[str, Future[Any]]]) -> None:
        for future in ask().values():
            future.result(30)


def _fact(record: Record, decoded: Any) -> Fact:
    data = decoded.value["data"]
    cause = (header(record, CAUSE) or b"").decode()
    return Fact(data["kind"], data["id"], int(data.get("n", 0)), cause)
