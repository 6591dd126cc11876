"""Test that batches that inflate to hundreds of megabytes become dead letters, and stop nobody.

The bombs are within the topic's limit, else the broker refuses them.  Snappy compresses twentyfold
only, so that what fits into a topic of 1 MiB is below the worker's bound, and no bomb.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from streams.engine.records import Output, TopicPartition
from streams.log.records import read_page, read_record
from tests.e2e import raw_records
from tests.e2e.environment import Environment
from tests.e2e.outputs import PARTITIONS
from tests.processes import PATIENCE_S
from tests.unit.protocols.apc.processor.packets import packet
from topology.apc import APC_PACKETS
from topology.asap import ASAP_MANIFESTS
from topology.declarations import Topic
from topology.keys import partition_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
BOMBS = {GZIP: 300_000_000, SNAPPY: 20_000_000, LZ4: 200_000_000, ZSTD: 300_000_000}
"""Bytes by codec, as in the attributes of a batch."""
PATIENT_S = 4 * PATIENCE_S


@pytest.mark.parametrize("codec", BOMBS)
def test_each_record_of_a_bomb_is_a_dead_letter_and_the_partition_goes_on(
    environment: Environment, codec: int
) -> None:
    """Check it for a worker, for one that starts behind the bomb, for `verify` and for `tail`."""
    sound, later = (environment.packet(packet("IDEA", number)) for number in (700, 701))
    partition = partition_of(sound.key or b"", PARTITIONS)
    first = bomb(environment, APC_PACKETS, sound, codec)
    last = produce(environment, sound, 0)
    worker = environment.start("first")
    worker.wait_text("ready: tasks [0, 1, 2, 3]", PATIENT_S)
    assert answers_of(environment, partition, first, last) == ["dead letter", "fact"]
    worker.end(PATIENT_S)
    worker = environment.start("second")
    worker.wait_text("ready: tasks [0, 1, 2, 3]", PATIENT_S)
    after = produce(environment, later, 0)
    assert answers_of(environment, partition, after) == ["fact"]
    worker.end(PATIENT_S)
    verify = environment.process("verify", "verify")
    assert verify.exit_code(PATIENT_S) == 0, verify.text()[-3000:]
    tail = environment.process("tail", "tail", APC_PACKETS.name, "--until-end", "--text")
    assert tail.exit_code(PATIENT_S) == 0, tail.text()[-3000:]
    assert all(f"{partition}/{offset}" in tail.text() for offset in (last, after))


@pytest.mark.parametrize("codec", BOMBS)
def test_a_bomb_among_the_manifests_stops_no_worker_and_no_view(
    environment: Environment, codec: int
) -> None:
    """Check the readers of tables that clients write: the copies of a worker, and a gateway.

    Their client inflates whatever is not of zstd, so the bombs are smaller.
    """
    name = "urn:asap:agent:bomb"
    bomb(environment, ASAP_MANIFESTS, Output("", name.encode(), b""), codec, BOMBS[codec] // 3)
    gateway = environment.process("gateway", "gateway", "--listen", "127.0.0.1:0")
    worker = environment.start("worker")
    worker.wait_text("ready: tasks [0, 1, 2, 3]", PATIENT_S)
    gateway.wait_text("gateway http", PATIENT_S)
    environment.verdicts([packet("IDEA", 702)])
    assert gateway.running
    print(f"peaks: gateway {peak_mb(gateway.pid)} MB, worker {peak_mb(worker.pid)} MB")
    worker.end(PATIENT_S)


@pytest.mark.parametrize("codec", [GZIP, ZSTD])
def test_a_page_of_records_inflates_one_batch_after_the_other(
    environment: Environment, codec: int
) -> None:
    """Check what eight batches of 15 MB take of the process that asks for a page of them."""
    key = b"page"
    for _ in range(8):
        bomb(environment, APC_PACKETS, Output("", key, b""), codec, 15_000_000)
    tp = TopicPartition(environment.name(APC_PACKETS), partition_of(key, PARTITIONS))
    forget_peak()
    before = peak_mb(os.getpid())
    page = read_page(environment.log, tp, 0, 200)
    assert (len(page.records), page.next) == (1, 1)
    assert read_record(environment.log, tp, "7").offset == 7
    grown = peak_mb(os.getpid()) - before
    print(f"{grown} MB")
    assert grown < 100


def test_pages_and_single_records_read_a_bomb_without_content(environment: Environment) -> None:
    """Check the codec that the client of other readers inflates without a bound."""
    key = b"page"
    bomb(environment, APC_PACKETS, Output("", key, b""), GZIP)
    tp = TopicPartition(environment.name(APC_PACKETS), partition_of(key, PARTITIONS))
    forget_peak()
    before = peak_mb(os.getpid())
    page = read_page(environment.log, tp, 0, 200)
    assert [record.value for record in page.records] == [b""]
    assert read_record(environment.log, tp, "0").value == b""
    grown = peak_mb(os.getpid()) - before
    print(f"{grown} MB")
    assert grown < 100


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def bomb(
    environment: Environment, topic: Topic, like: Output, codec: int, size: int | None = None
) -> int:
    """Write a batch of one record of zeros; returns its offset."""
    value = bytes(size or BOMBS[codec])
    return produce(environment, Output(environment.name(topic), like.key, value), codec)


def produce(environment: Environment, output: Output, codec: int) -> int:
    partition = partition_of(output.key or b"", PARTITIONS)
    bootstrap = environment.settings.bootstrap or ""
    return raw_records.produce(bootstrap, partition, [output], codec)


def answers_of(environment: Environment, partition: int, *offsets: int) -> list[str]:
    """Return what came of the records at these offsets."""
    name = environment.name(APC_PACKETS)
    positions = [f"{name}/{partition}/{offset}" for offset in offsets]
    return [kind for kind, _ in environment.await_answers(positions)]


def peak_mb(pid: int) -> int:
    """Return the most memory that a process has had."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1000
