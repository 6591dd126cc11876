"""Every topic that a user may follow has a line of text for its records."""

from __future__ import annotations

from streams.api.core_lines import CORE_LINES
from streams.cli.record_lines import LINES
from streams.protocols.queries import QUERIES
from topology import core, topics
from topology.declarations import TopicKind
from topology.protocols import DECLARED

NEEDED = {
    topic.name
    for topic in topics.ALL
    if topic.record is not None
    and topic.kind is not TopicKind.DOOR
    and (topic.kind is TopicKind.FACT or not topic.internal)
}


def test_no_topic_lacks_a_line() -> None:
    assert NEEDED - LINES.keys() == set()


def test_no_line_is_for_a_topic_that_has_none() -> None:
    assert LINES.keys() - NEEDED == set()


def test_each_protocol_declares_the_lines_of_its_own_topics() -> None:
    for side, declared in zip(QUERIES, DECLARED, strict=True):
        assert side.name == declared.name
        assert side.lines.keys() <= {topic.name for topic in declared.topics}
    assert CORE_LINES.keys() <= {topic.name for topic in core.TOPICS}
