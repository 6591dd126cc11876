"""Configuration properties of the Kafka clients that `streams.engine.kafka` makes."""

from __future__ import annotations

from streams.engine.log import Pace

MAX_MESSAGE = 64 << 20

COMMON = {
    "socket.nagle.disable": True,
    "log_level": 2,
    "retry.backoff.ms": 5,  # a transaction begun right after a commit is refused for a moment
    "reconnect.backoff.max.ms": 1000,
}
PRODUCER = {
    **COMMON,
    "partitioner": "murmur2_random",
    "batch.size": 1 << 20,
    "message.max.bytes": MAX_MESSAGE,
    "queue.buffering.max.messages": 1_000_000,
    "compression.type": "lz4",
}
APPENDER = {
    **PRODUCER,
    "enable.idempotence": True,
    "linger.ms": 1,  # nobody flushes, so a single record waits this long
    "delivery.timeout.ms": 30_000,
}
TRANSACTIONS = {
    **PRODUCER,
    # An open transaction of a dead task blocks every reader of the partitions it wrote.
    "transaction.timeout.ms": 10_000,
    "linger.ms": 2,
}
READER = {
    **COMMON,
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "auto.offset.reset": "error",
    "fetch.max.bytes": 64 << 20,
    "max.partition.fetch.bytes": 1 << 20,  # compressed: ten times that in memory
    "message.max.bytes": MAX_MESSAGE,
    "receive.message.max.bytes": 2 * MAX_MESSAGE,
    # Prefetch is limited by messages: a small one takes the client ten times its bytes.
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 65_536,
    "fetch.queue.backoff.ms": 5,
    "check.crcs": False,
}
GROUP = {
    **READER,
    "auto.offset.reset": "earliest",
    "enable.auto.commit": True,  # only of offsets that `done` stored
    "enable.auto.offset.store": False,
    "auto.commit.interval.ms": 200,
    "partition.assignment.strategy": "cooperative-sticky",  # a new member interrupts no other
    "session.timeout.ms": 10_000,  # how long a dead member's records wait
    "heartbeat.interval.ms": 2_000,
    "queued.min.messages": 10_000,
    "fetch.wait.max.ms": 100,
}
PACES = {
    Pace.END: {"fetch.wait.max.ms": 5},
    Pace.LIVE: {"fetch.wait.max.ms": 100},
    Pace.GATHERED: {"fetch.wait.max.ms": 15, "fetch.min.bytes": 1 << 18},
    # The client inflates all batches of a fetch at once; a broker returns at least one whole batch.
    Pace.FEW: {
        "fetch.wait.max.ms": 5,
        "max.partition.fetch.bytes": 1,
        "queued.min.messages": 1,
        "fetch.queue.backoff.ms": 1,  # with 0 the client spins while a batch waits
    },
}
