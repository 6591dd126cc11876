"""Settings of the local broker: one node, loopback only, no deletion unless a topic asks for it."""

from __future__ import annotations

from collections.abc import Mapping

HEAP = "512m"
JVM = (
    f"-Xmx{HEAP}",
    "-XX:+UseSerialGC",  # starts sooner, with fewer threads
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djava.awt.headless=true",
)

# Warnings only, except for the line that says that the broker has started.
LOGGING = """\
status = warn
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c{1}: %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
logger.server.name = kafka.server.KafkaRaftServer
logger.server.level = info
"""

_INT_MAX = "2147483647"

COMMON = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "inter.broker.listener.name": "CLIENTS",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT",
    # Topics come from the topology, and keep their records unless it says otherwise.
    "auto.create.topics.enable": "false",
    "default.replication.factor": "1",
    "min.insync.replicas": "1",
    "log.retention.ms": "-1",
    "log.retention.bytes": "-1",
    "log.initial.task.delay.ms": "1000",
    "log.cleaner.dedupe.buffer.size": str(32 << 20),
    # Internal topics of one node; few partitions, for each costs start-up time.
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # An idle week or year must not cost a group its offsets or a task its fencing.
    "offsets.retention.minutes": _INT_MAX,
    "transactional.id.expiration.ms": _INT_MAX,
    # Workers come and go quickly on one machine.
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
}


def listeners(port: int, controller_port: int) -> dict[str, str]:
    """Return the listener settings, on 127.0.0.1 only."""
    clients = f"CLIENTS://127.0.0.1:{port}"
    return {
        "listeners": f"{clients},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": clients,
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
    }


def properties(settings: Mapping[str, str]) -> str:
    """Return the settings as a Java properties file, in which a backslash escapes."""
    lines = (f"{name}={value.replace(chr(92), chr(92) * 2)}" for name, value in settings.items())
    return "\n".join(lines) + "\n"
