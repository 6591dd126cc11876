"""Where verdicts lie, as the topology declares it."""

from __future__ import annotations

from topology import processors, topics
from topology.declarations import TopicKind
from topology.summit import SUMMIT_AUTO_CALLS, SUMMIT_TREE
from topology.verdicts import VERDICTS


def test_whatever_clients_write_has_its_verdicts_somewhere() -> None:
    written_by_service = {topic for topic in VERDICTS if topic.internal}
    assert written_by_service == {SUMMIT_AUTO_CALLS, SUMMIT_TREE}
    clients = set(filter(processors.written_by_clients, topics.ALL))
    assert set(VERDICTS) - written_by_service == clients


def test_verdicts_are_facts_of_the_processor_that_reads_the_command() -> None:
    for topic, verdicts in VERDICTS.items():
        for verdict in verdicts:
            assert verdict.kind is TopicKind.FACT
            assert processors.writers_of(verdict) == processors.readers_of(topic)
