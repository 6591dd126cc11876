"""A broker whose disk is set back, with facts, entries and checkpoints together: who sees it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from streams.cli.common import now_ms
from streams.engine.kafka import KafkaLog
from streams.engine.records import Output
from streams.log.connecting import connect
from streams.ops.broker import local
from streams.ops.broker.home import Home
from streams.ops.tlog.errors import LogRolledBack
from streams.ops.tlog.log_keys import LogKeys
from streams.ops.tlog.monitor import LogMonitor, MonitorAlarmed, ObservedHead
from streams.ops.tlog.note import Checkpoint, Note
from streams.ops.tlog.policy import Policy
from streams.ops.tlog.receipt import parse_receipt
from streams.ops.tlog.remote import RemoteLog, compare_with_log
from streams.ops.tlog.tile_directory import TileDirectory
from streams.ops.tlog.witness_client import WitnessClient
from streams.ops.tlog.writer import LogWriter
from streams.ops.topics import create_topics
from streams.settings import Settings
from tests.unit.ops.tlog.example_log import ORIGIN, PRIVATE, receipt
from tests.unit.ops.tlog.logged import KEYS
from tests.unit.ops.tlog.witness_double import WitnessDouble, policy_of, route

pytestmark = pytest.mark.slow
FIRST, SECOND = 20, 10
"""The numbers of facts before and after the copy of the disk."""


class Environment:
    """A broker with its disk, and the folder of the writer of its log."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = Settings.load({}, state_dir=folder / "state", partitions=1)
        self.files = folder / "tlog"

    @contextmanager
    def running(self) -> Iterator[KafkaLog]:
        quiet = {"log.cleaner.enable": "false"}
        with local.running(self.settings, print, quiet) as bootstrap:
            log = connect(Settings.load({}, bootstrap=bootstrap))
            try:
                create_topics(log, Settings(partitions=1, tlog_policy=self.folder))
                yield log
            finally:
                log.close()

    @property
    def disk(self) -> Path:
        return Home(self.settings.state_dir).data

    def set_back(self, copy: Path) -> None:
        shutil.rmtree(self.disk)
        shutil.copytree(copy, self.disk)

    def read(self, request: httpx.Request) -> httpx.Response:
        """Serve the files of the writer, as any web server does."""
        path = self.files / request.url.path.lstrip("/")
        if not path.is_file():
            return httpx.Response(404)
        return httpx.Response(200, stream=httpx.ByteStream(path.read_bytes()))


def write_facts(log: KafkaLog, count: int, text: str) -> None:
    producer = log.producer("facts")
    producer.open()
    producer.commit([Output("apc.events", b"k", f"{text} {n}".encode()) for n in range(count)])
    producer.close()


def write_log(
    log: KafkaLog, files: Path, policy: Policy, witnesses: Sequence[WitnessDouble] = ()
) -> Note:
    """Write one round of the log, and return its checkpoint."""
    keys = LogKeys(ORIGIN, PRIVATE, (PRIVATE,), policy)
    with (
        WitnessClient(policy, 10, transport=route(*witnesses)) as client,
        LogWriter(log, "", keys, TileDirectory(files), now_ms, (), client) as writer,
    ):
        note = writer.round().note
    assert note is not None
    return note


def test_a_disk_that_is_set_back_is_seen(tmp_path: Path) -> None:
    environment, witness = Environment(tmp_path), WitnessDouble("w1")
    policy, files, copy = policy_of(witness), tmp_path / "tlog", tmp_path / "copy"
    with environment.running() as log:
        write_facts(log, FIRST, "first")
        write_log(log, files, policy, [witness])
    shutil.copytree(environment.disk, copy)
    with environment.running() as log:
        write_facts(log, SECOND, "second")
        note = write_log(log, files, policy, [witness])
    checkpoint = Checkpoint.parse(note.text)
    assert checkpoint.size == FIRST + SECOND
    environment.set_back(copy)
    with environment.running() as log:
        with pytest.raises(LogRolledBack, match="a checkpoint of 30 entries was signed"):
            write_log(log, files, policy, [witness])
        shutil.rmtree(files)
        with pytest.raises(LogRolledBack, match="w1 has cosigned 30 entries, and the log has 20"):
            write_log(log, files, policy, [witness])
        shutil.rmtree(files)
        check_without_witnesses(environment, log, ObservedHead(note, checkpoint))


def check_without_witnesses(environment: Environment, log: KafkaLog, old: ObservedHead) -> None:
    """Go on without folder and witnesses: monitors and holders of receipts see it, nobody else."""
    policy, old_receipt = KEYS.policy, parse_receipt(receipt(note=old.note))
    alarms, faults = [], []
    for count in (1, SECOND):
        write_facts(log, count, "other")
        write_log(log, environment.files, policy)
        transport = httpx.MockTransport(environment.read)
        with RemoteLog("http://log.example", transport) as remote:
            monitor = LogMonitor(policy, ORIGIN, [remote], lambda: 0.0, lambda s: True)
            with pytest.raises(MonitorAlarmed) as raised:
                monitor.look(old)
            alarms.append(raised.value.alarm)
            faults.append(compare_with_log(old_receipt, policy, remote).fault)
    assert [*alarms, *faults] == ["log_shrunk", "split_view", "log_shorter", "log_inconsistent"]
