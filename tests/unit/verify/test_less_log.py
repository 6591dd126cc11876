"""What the log does not hold any more proves nothing, and what nobody can read breaks nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from streams.engine.headers import CAUSE
from streams.engine.records import Output, TopicPartition
from streams.replay.consistent_cut import FACTS
from streams.replay.violations import ViolationKind
from streams.verify.run import verify
from tests.unit.verify.played import Played
from tests.unit.views.bench import Bench
from topology.apc import APC_EVENTS
from topology.saop import SAOP_VERDICTS
from topology.sap import SAP_LEARNING

CUT_OFF = ("acknowledgements", "asap-requests", "lineage-graph", "saop-order", "sap-tasks")


@pytest.mark.parametrize("name", [*CUT_OFF, "summit-budgets"])
@pytest.mark.parametrize("fraction", [0.7, 0.4])
def test_facts_that_are_past_their_retention_accuse_nobody(
    name: str, fraction: float, tmp_path: Path
) -> None:
    with closing(Played(name, tmp_path, partitions=2)) as played:
        for topic in FACTS:
            for number in range(2):
                tp = TopicPartition(topic.name, number)
                played.log.truncate(tp, int(len(played.log.slots(tp)) * (1 - fraction)))
        report = played.verify()
    assert report.findings.shown == []
    assert report.unchecked > 0


def test_what_was_decided_since_is_still_verified(tmp_path: Path) -> None:
    with closing(Played("saop-order", tmp_path)) as played:
        tp = TopicPartition(SAOP_VERDICTS.name, 0)
        played.log.truncate(tp, 2)
        last = max(offset for at, offset, _ in played.places(SAOP_VERDICTS) if at == tp)
        played.put(tp, last, None)
        report = played.verify()
    assert set(report.findings.counts) >= {ViolationKind.UNANSWERED}


@pytest.mark.parametrize("cause", [b"x", b"\xff", b"apc.packets/x/1", b"apc.packets/0", b""])
def test_a_cause_that_is_no_place_is_found(cause: bytes, tmp_path: Path) -> None:
    with closing(Played("acknowledgements", tmp_path)) as played:
        tp, offset, record = next(iter(played.places(APC_EVENTS)))
        headers = [(name, cause if name == CAUSE else value) for name, value in record.headers]
        played.put(tp, offset, record._replace(headers=headers))
        report = played.verify()
    place = f"apc.events/0/{offset}"
    assert place in [finding.place for finding in report.findings.shown]


def test_a_fact_under_another_id_is_found(tmp_path: Path) -> None:
    with closing(Played("acknowledgements", tmp_path)) as played:
        tp, offset, record = next(iter(played.places(APC_EVENTS)))
        headers = [(n, b"another" if n == "ce_id" else value) for n, value in record.headers]
        played.put(tp, offset, record._replace(headers=headers))
        (finding,) = played.verify().findings.shown
    assert finding.fault is ViolationKind.NOT_BORNE_OUT
    assert "its header says that it is 'another'" in finding.message


def test_a_row_that_nothing_is_compared_with_must_be_readable(tmp_path: Path) -> None:
    with closing(Played("sap-tasks", tmp_path)) as played:
        tp, offset, record = list(played.places(SAP_LEARNING))[-1]
        played.put(tp, offset, record._replace(value=b"\x00nonsense"))
        (finding,) = played.verify().findings.shown
    assert (finding.fault, finding.place[:12]) == (ViolationKind.UNREADABLE, "sap.learning")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    system = Bench(tmp_path)
    yield system
    system.close()


@pytest.mark.parametrize("topic", ["apc.packets", "asap.envelopes"])
@pytest.mark.parametrize("cause", [b"apc.packets/0/999", b"x", b"\xff/0/1", b"asap.envelopes/a/b"])
def test_a_sender_cannot_say_what_a_dead_letter_answers(
    bench: Bench, tmp_path: Path, topic: str, cause: bytes
) -> None:
    forged = [(CAUSE, cause), ("headrace-masked", b"true"), ("kafka_dlt-original-offset", b"x")]
    bench.log.append([Output(topic, b"k", b"no record", [("own", b"1"), *forged])])
    bench.host.run()
    bench.view.catch_up(0)  # a view reads it, and believes no sender
    (letter,) = bench.records(f"{topic}.dlq")
    names = [name for name, _ in letter.headers]
    assert (names.count(CAUSE), "headrace-masked" in names, names[0]) == (1, False, "own")
    folder = tmp_path / "verify"
    folder.mkdir()
    assert verify(bench.log, bench.settings, folder).findings.shown == []
