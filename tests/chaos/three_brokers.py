"""A Kafka cluster of three brokers, any of which may die, and a controller of its own, which lives.

So a test may take two brokers away and the controller still notes who is in sync.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from streams.engine.records import TopicPartition
from streams.ops.broker import config, kafka_distribution, local, network
from streams.ops.broker.home import Home
from streams.ops.broker.process import Child
from tests.processes import wait_for

BROKERS = (1, 2, 3)
REPLICAS = len(BROKERS)
MIN_IN_SYNC = 2
_HEAP = "-Xmx128m"
"""Twice what a node keeps.  Java takes the last one, and this is behind the local broker's own."""
_CONTROLLER = 100
_ANSWER_S = 10
_STOP_S = 20.0
_SET = {
    "default.replication.factor": str(REPLICAS),
    "min.insync.replicas": str(MIN_IN_SYNC),
    "offsets.topic.replication.factor": str(REPLICAS),
    "transaction.state.log.replication.factor": str(REPLICAS),
    "transaction.state.log.min.isr": str(MIN_IN_SYNC),
    "share.coordinator.state.topic.replication.factor": str(REPLICAS),
    "share.coordinator.state.topic.min.isr": str(MIN_IN_SYNC),
    # A broker that died is noticed soon.
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "5000",
    # Where a topic allows it, a replica that is not in sync leads soon.
    "unclean.leader.election.interval.ms": "2000",
}


class Node:
    """One process of the cluster; it comes back on the same port with the same data."""

    def __init__(self, directory: Path, settings: dict[str, str]) -> None:
        self._home = Home(directory)
        self._home.make()
        self._home.logging.write_text(config.LOGGING)
        values = config.COMMON | _SET | settings | {"log.dirs": str(self._home.data)}
        self._home.properties.write_text(config.properties(values))
        self._classpath = kafka_distribution.classpath(self._home, print)
        self._child: Child | None = None

    def format(self, cluster_id: str) -> None:
        tool = ("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c")
        command = self._java(*tool, str(self._home.properties))
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr

    def start(self) -> None:
        command = self._java("kafka.Kafka", str(self._home.properties))
        self._child = Child(command, self._home.log, bound=True)

    @property
    def running(self) -> bool:
        return self._child is not None and not self._child.exit_code.done()

    def signal(self, number: signal.Signals) -> None:
        assert self._child is not None
        os.kill(self._child.process.pid, number)

    def kill(self) -> None:
        """SIGKILL; returns when it is gone."""
        self.signal(signal.SIGKILL)
        assert self._child is not None
        self._child.exit_code.result()

    def end(self) -> None:
        if self._child is not None and self.running:
            self._child.process.end(_STOP_S)

    def _java(self, *arguments: str) -> list[str]:
        return local.java_command(
            self._home, kafka_distribution.java(), self._classpath, _HEAP, *arguments
        )


class ThreeBrokers:
    """The cluster; its brokers are named 1, 2 and 3."""

    def __init__(self, directory: Path) -> None:
        *ports, voter = network.pick_ports([], REPLICAS + 1)
        common = {"controller.quorum.voters": f"{_CONTROLLER}@127.0.0.1:{voter}"}
        self._controller = Node(
            directory / "controller",
            common
            | {
                "process.roles": "controller",
                "node.id": str(_CONTROLLER),
                "listeners": f"CONTROLLER://127.0.0.1:{voter}",
            },
        )
        self.ports = dict(zip(BROKERS, ports, strict=True))
        self._brokers = {
            name: Node(
                directory / str(name),
                common
                | {
                    "process.roles": "broker",
                    "node.id": str(name),
                    "listeners": f"CLIENTS://127.0.0.1:{port}",
                },
            )
            for name, port in self.ports.items()
        }
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in ports)
        self._admin: AdminClient | None = None

    def start(self) -> None:
        nodes = [self._controller, *self._brokers.values()]
        cluster_id = local.new_cluster_id()
        with ThreadPoolExecutor(len(nodes)) as pool:
            list(pool.map(lambda node: node.format(cluster_id), nodes))
        for node in nodes:
            node.start()
        wait_for(lambda: self._alive() == set(BROKERS), "all brokers are there", 240.0, 0.2)

    def kill(self, *names: int) -> None:
        """And wait until the cluster has noticed, if one is left that could say so."""
        for name in names:
            self._brokers[name].kill()
        if any(node.running for node in self._brokers.values()):
            self._wait_missed(names)

    def restart(self, name: int) -> None:
        """A broker that was killed."""
        self._brokers[name].start()
        self._wait_back(name)

    def freeze(self, name: int) -> None:
        """Stop it with its connections open, and wait until the cluster has noticed."""
        self._brokers[name].signal(signal.SIGSTOP)
        self._wait_missed([name])

    def thaw(self, name: int) -> None:
        """A broker that was frozen: it goes on as the leader that it was, until it is told."""
        self._brokers[name].signal(signal.SIGCONT)
        self._wait_back(name)

    def restore(self) -> None:
        """Wake and start the brokers that a test has left frozen or dead."""
        for name, node in self._brokers.items():
            if node.running:
                self.thaw(name)
            else:
                self.restart(name)

    def _wait_missed(self, names: Collection[int]) -> None:
        def missed() -> bool:
            alive = self._alive()
            return bool(alive) and alive.isdisjoint(names)

        wait_for(missed, f"{names} are missed", 120.0, 0.2)

    def _wait_back(self, name: int) -> None:
        wait_for(lambda: name in self._alive(), f"broker {name} is back", 240.0, 0.2)

    def end(self) -> None:
        for node in (*self._brokers.values(), self._controller):
            if node.running:
                node.signal(signal.SIGCONT)
            node.end()

    def in_sync(self, topics: Collection[str]) -> int:
        """The least number of replicas in sync of all partitions; 0 when nobody answers."""
        try:
            futures = self._asked().describe_topics(TopicCollection(list(topics)))
            descriptions = [future.result(_ANSWER_S) for future in futures.values()]
        except (KafkaException, TimeoutError):
            self._admin = None  # one that lost all brokers at once may answer nothing any more
            return 0
        return min(len(p.isr) for topic in descriptions for p in topic.partitions)

    def replicas(self, topics: Collection[str]) -> set[int]:
        """How many replicas the partitions of these topics have."""
        futures = self._asked().describe_topics(TopicCollection(list(topics)))
        descriptions = [future.result(_ANSWER_S) for future in futures.values()]
        return {len(p.replicas) for topic in descriptions for p in topic.partitions}

    def leader(self, tp: TopicPartition) -> int | None:
        """Return the broker that leads a partition, None when there is none or nobody answers."""
        try:
            (future,) = self._asked().describe_topics(TopicCollection([tp.topic])).values()
            leader = future.result(_ANSWER_S).partitions[tp.partition].leader
        except (KafkaException, TimeoutError):
            self._admin = None
            return None
        return None if leader is None else int(leader.id)

    def _alive(self) -> set[int]:
        """As the cluster sees it."""
        try:
            return set(self._asked().list_topics(timeout=_ANSWER_S).brokers)
        except KafkaException:
            return set()

    def _asked(self) -> AdminClient:
        if self._admin is None:
            self._admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        return self._admin


@contextmanager
def three_brokers(directory: Path) -> Iterator[ThreeBrokers]:
    """A cluster for as long as the context lasts."""
    cluster = ThreeBrokers(directory)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.end()
        shutil.rmtree(directory, ignore_errors=True)
