"""A log restored from the brokers' segment files, under topics that were created anew."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streams.engine.accept_gap import accept_gap
from streams.errors import UsageError
from streams.ops.adopt_topics import adopt
from streams.ops.broker import local
from streams.ops.broker.home import Home
from streams.settings import Settings
from tests.chaos import exact
from tests.chaos.cluster import PARTITIONS, Cluster
from tests.toy import FACTS, INPUT, ToyProcessor
from topology import processors

pytestmark = pytest.mark.slow
COUNT = 2000


@contextmanager
def broker(directory: Path) -> Iterator[str]:
    """Run a broker with its data in this directory while the context is open."""
    settings = Settings.load({}, state_dir=directory)
    with local.running(settings, print, {"log.cleaner.enable": "false"}) as bootstrap:
        yield bootstrap


def data_of(directory: Path) -> Path:
    return Home(directory).data


def copy_segments(source: Path, target: Path, prefix: str) -> int:
    """Replace the records of the target's partitions by those of the source; return how many."""
    folders = sorted(source.glob(f"{prefix}*"))
    for folder in folders:
        for old in (target / folder.name).iterdir():
            if old.name != "partition.metadata":
                old.unlink()
        for name in [*folder.glob("*.log"), folder / "leader-epoch-checkpoint"]:
            shutil.copy(name, target / folder.name)
    (target / ".kafka_cleanshutdown").unlink(missing_ok=True)
    return len(folders)


def test_a_log_restored_from_segment_files_gives_one_fact_for_each_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processors, "ALL", (ToyProcessor().declaration,))
    dice = random.Random(7)
    with broker(tmp_path / "old") as bootstrap:
        old = Cluster(bootstrap, tmp_path / "workers-old")
        (tmp_path / "workers-old").mkdir()
        old.send_counts(COUNT, dice)
        worker = old.start("only")
        old.drain()
        worker.end()
        old.send_counts(COUNT, dice)
        ids = old.log.topic_ids([old.prefix + INPUT.name])
        sent = list(old.sent)
        old.forget()
        old.log.close()
    (tmp_path / "workers").mkdir()
    with broker(tmp_path / "new") as bootstrap:
        first = Cluster(bootstrap, tmp_path / "workers", old.prefix)
        first.log.producer("number").open()  # takes the producer numbers that the old log has
        first.log.close()
    assert copy_segments(data_of(tmp_path / "old"), data_of(tmp_path / "new"), old.prefix) > 0
    with (
        broker(tmp_path / "new") as bootstrap,
        Cluster(bootstrap, tmp_path / "workers", old.prefix) as cluster,
    ):
        cluster.sent += sent
        assert cluster.log.topic_ids(list(ids)) != ids
        assert len(cluster.facts()) == COUNT
        stopped = cluster.start("only")
        assert stopped.exit_code() == 3
        assert "headrace topics adopt" in stopped.text()
        adopted = adopt(cluster.log, cluster.settings, {})
        assert [adoption.partition for adoption in adopted] == list(range(PARTITIONS))
        assert sum(adoption.compared for adoption in adopted) == COUNT
        assert adopt(cluster.log, cluster.settings, {}) == []
        with pytest.raises(UsageError, match="has no gap"):
            accept_gap(cluster.log, cluster.settings, cluster.prefix + INPUT.name, 0)
        cluster.send_counts(COUNT, dice)
        worker = cluster.start("only")
        cluster.drain()
        worker.end()
        assert len(cluster.tail(FACTS).catch_up()) == 3 * COUNT
        exact.check(cluster)
        exact.check_stores(cluster, "only")
