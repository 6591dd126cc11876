"""The rows about the whole service, made of the facts of all protocols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from streams.engine.records import Record
from streams.protocols.queries import QUERIES
from streams.views.changes import WriteBatch
from streams.views.decoded import decode_members
from streams.views.service.effects import add_effects
from streams.views.service.fold import ServiceFold
from streams.views.service.verdicts import FactReading, SenderReading
from topology import topics
from topology.declarations import Topic, TopicKind

_CAUSED = frozenset({TopicKind.FACT, TopicKind.INBOX, TopicKind.DEAD_LETTER})
_SECRET = tuple(topic.name for topic in topics.ALL if topic.secret)


class ProtocolFacts(NamedTuple):
    """The way to read the records of one topic, and the protocol that declares it."""

    protocol: str
    reading: FactReading | SenderReading


FACTS: Mapping[str, ProtocolFacts] = {
    name: ProtocolFacts(side.name, reading)
    for side in QUERIES
    for name, reading in side.verdicts.items()
}
"""By topic, without prefix."""


def add_to_service(
    topic: Topic, records: Sequence[Record], service: ServiceFold, rows: WriteBatch
) -> None:
    """Add the records of one topic, which its own projection was applied to before."""
    if topic.kind in _CAUSED:
        prefix = records[0].topic.removesuffix(topic.name)
        add_effects(records, _secret_topics(prefix), rows)
    protocol_facts = FACTS.get(topic.name)
    if protocol_facts is None:
        return
    protocol, reading = protocol_facts
    decoded = rows.shared.get(records[0].topic)
    if decoded is None:
        decoded = decode_members(topic, records, reading.projection)
    if isinstance(reading, FactReading):
        service.add(protocol, topic.name, reading, decoded)
    else:
        service.add_senders(protocol, reading, decoded)


@cache
def _secret_topics(prefix: str) -> frozenset[bytes]:
    return frozenset((prefix + name).encode() for name in _SECRET)
