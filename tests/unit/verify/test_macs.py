"""Verification with a key for MACs: sound logs are clean, and forged records are named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from streams.engine.record_mac import HEADER
from streams.engine.records import Headers, LogRecord, Output, TopicPartition
from streams.engine.refused_rows import PROCESS
from tests.unit.verify.played import NAMES, Played
from topology import topics
from topology.apc import APC_EVENTS, APC_PACKET_STATES
from topology.core import CHANGELOG
from topology.declarations import Topic, TopicKind

KEY = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    with closing(Played("acknowledgements", tmp_path, mac_key=KEY)) as scenario:
        yield scenario


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_is_clean_with_a_key(name: str, tmp_path: Path) -> None:
    counts = dict(PROCESS.counts())
    with closing(Played(name, tmp_path, partitions=2, mac_key=KEY)) as played:
        report = played.verify()
        reasons = {
            value
            for topic in topics.ALL
            if topic.kind is TopicKind.DEAD_LETTER and topic.name in played.log.topics()
            for record in played.log.slots(TopicPartition(topic.name, 0))
            if record is not None
            for header, value in record.headers
            if header == "kafka_dlt-exception-fqcn"
        }
    assert report.findings.shown == []
    assert report.unchecked == 0
    assert PROCESS.counts() == counts
    assert not [reason for reason in reasons if reason.startswith((b"mac_", b"row_", b"key_"))]


def copied(record: LogRecord, headers: Headers, value: bytes | None) -> Output:
    return Output(record.topic, record.key, value, headers, record.partition)


@pytest.mark.parametrize("topic", [APC_EVENTS, APC_PACKET_STATES, CHANGELOG])
def test_a_forged_record_is_named_and_not_used(played: Played, topic: Topic) -> None:
    assert played.verify().clean
    tp, _, record = list(played.places(topic))[-1]
    end = len(played.log.slots(tp))
    without = [(name, value) for name, value in record.headers if name != HEADER]
    played.log.append(
        [
            copied(record, without, record.value),
            copied(record, record.headers, b"forged"),
            copied(record, record.headers, record.value),
        ]
    )
    findings = [(one.fault, one.place) for one in played.verify().findings.shown]
    places = [f"{tp.topic}/{tp.partition}/{end + n}" for n in range(3)]
    assert findings == list(
        zip(("mac_missing", "mac_invalid", "mac_replayed"), places, strict=True)
    )
