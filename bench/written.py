"""The facts of a run: as they are written, and what is committed in the end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import confluent_kafka as ck

from bench.cluster import Bench, Worker
from schemas import decode_many
from streams.engine.records import Output, Record, TopicPartition, header
from topology.apc import APC_EVENTS
from topology.declarations import Topic

VERDICTS = ("accepted", "duplicate", "rejected")
AT_ONCE = 5000
FEW = 500
"""The maximum number of records per poll, small because their arrival time is measured."""


class Uncommitted:
    """A reader of all records, committed or not.

    So throughput is what a process does, and not when a transaction of five seconds shows it.
    """

    def __init__(self, env: Bench, topic: Topic) -> None:
        self._consumer = ck.Consumer(
            {
                "bootstrap.servers": env.settings.bootstrap,
                "group.id": env.settings.prefix,
                "enable.auto.commit": False,
                "isolation.level": "read_uncommitted",
            }
        )
        placed = [ck.TopicPartition(t.topic, t.partition, 0) for t in env.partitions(topic)]
        self._consumer.assign(placed)

    def poll(self, timeout_s: float) -> list[Any]:
        messages = self._consumer.consume(FEW, timeout_s)
        for message in messages:
            if message.error() is not None:
                raise RuntimeError(str(message.error()))
        return list(messages)

    def close(self) -> None:
        self._consumer.close()


@contextmanager
def uncommitted(env: Bench, topic: Topic) -> Iterator[Uncommitted]:
    reader = Uncommitted(env, topic)
    try:
        yield reader
    finally:
        reader.close()


def committed(env: Bench, name: str, partitions: int) -> Iterator[Record]:
    """Yield all records of a topic up to its current end."""
    tps = [TopicPartition(name, p) for p in range(partitions)]
    ends = env.log.ends(tps)
    with env.log.reader(dict.fromkeys(tps, 0)) as reader:
        while any(reader.position(tp) < end for tp, end in ends.items()):
            yield from reader.poll(0.1)


class Account(NamedTuple):
    """Duplicate and lost verdicts; a command with n verdicts counts as n - 1 duplicates."""

    duplicates: int
    losses: int


def account(env: Bench, sent: int) -> Account:
    """Count the verdicts by the position of their command, as committed."""
    facts = list(committed(env, env.settings.prefix + APC_EVENTS.name, env.settings.partitions))
    return counted(_verdicts(facts), sent)


def counted(verdicts: Counter[str], sent: int) -> Account:
    return Account(sum(verdicts.values()) - len(verdicts), sent - len(verdicts))


def _verdicts(facts: list[Record]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for first in range(0, len(facts), AT_ONCE):
        some = facts[first : first + AT_ONCE]
        decoded = decode_many([fact.value for fact in some], APC_EVENTS.record or "")
        for fact, one in zip(some, decoded, strict=True):
            if getattr(one, "value", {}).get("verdict") in VERDICTS:
                counts[(header(fact, "headrace-cause") or b"").decode()] += 1
    return counts


def settle(env: Bench, sent: int, running: Worker, limit_s: float, quiet_s: float) -> float | None:
    """Wait until every command has a committed fact, or nothing new has come for quiet_s.

    Returns seconds from the call to the first fact that was written by then; None without one.
    """
    seen: set[str] = set()
    began = time.monotonic()
    ends = env.log.ends(env.partitions(APC_EVENTS))
    first: float | None = None
    changed = began
    with env.reader(APC_EVENTS) as reader:
        while len(seen) < sent and time.monotonic() - changed < quiet_s:
            if time.monotonic() - began > limit_s or running.ended():
                raise TimeoutError(f"{len(seen)} of {sent} packets have facts")
            for record in reader.poll(0.1):
                cause = (header(record, "headrace-cause") or b"").decode()
                tp = TopicPartition(record.topic, record.partition)
                if first is None and record.offset >= ends[tp]:
                    first = time.monotonic() - began
                if cause not in seen:
                    seen.add(cause)
                    changed = time.monotonic()
    return first


def goes_on(env: Bench, running: Worker, packets: list[Output], limit_s: float) -> None:
    """Send a packet a second until a new fact is committed; a peer may lose the first."""
    deadline = time.monotonic() + limit_s
    ends = env.log.ends(env.partitions(APC_EVENTS))
    with env.log.reader(ends) as reader:
        while not reader.poll(1.0):
            if time.monotonic() > deadline or running.ended():
                raise TimeoutError("no packet was decided any more")
            if packets:
                env.log.append([packets.pop()])
