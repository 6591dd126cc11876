"""Dead letters are sent back once each, with a fact in the same transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from schemas import decode
from streams.engine.dead_letters import make_dead_letter
from streams.engine.memory import MemoryProducer
from streams.engine.principals import Principals
from streams.engine.records import LogRecord, Output, TopicPartition, header, position
from streams.errors import CommitFailed, Fenced, TopicsMismatch, UsageError
from streams.ingress.edges import ingress_topic_of
from streams.ops.redrive import (
    DeadLetter,
    Redrive,
    RedriveRequest,
    RedriveStatus,
    Selection,
    dead_letters,
    sent_back,
)
from streams.ops.redrive.dead_letters import REDRIVEN_FROM
from streams.processing.encode import to_output
from streams.protocols.apc.processor import processor
from tests.unit.envelopes import idea
from tests.unit.ops.redrive.conftest import FailingSender, fail
from tests.unit.views.bench import Bench
from topology.apc import APC_PACKETS
from topology.core import AUDIT_REDRIVES

ALL = Selection()
ORDER = RedriveRequest("ann", "mended")


def redrive(
    bench: Bench, selection: Selection = ALL, order: RedriveRequest = ORDER
) -> list[tuple[DeadLetter, str | None]]:
    with Redrive(bench.log, bench.settings, lambda: bench.now) as open_redrive:
        letters = dead_letters(bench.log, "acme.", selection, open_redrive.done)
        sent = list(open_redrive.send(letters, order))
    bench.host.run()
    return sent


def audit(bench: Bench) -> list[dict[str, Any]]:
    record = AUDIT_REDRIVES.record or ""
    return [decode(r.value or b"", record).value for r in bench.records("audit.redrives")]


def standings(bench: Bench, selection: Selection = ALL) -> list[RedriveStatus]:
    done = sent_back(bench.log, "acme.")
    return [
        dead_letter.standing for dead_letter in dead_letters(bench.log, "acme.", selection, done)
    ]


def verdicts(bench: Bench) -> list[tuple[str, str]]:
    facts = [decode(r.value or b"", "headrace.apc.ApcEvent").value for r in _facts(bench)]
    return [(fact["cause"], fact["verdict"]) for fact in facts if fact["verdict"] != "fired"]


def _facts(bench: Bench) -> Sequence[LogRecord]:
    return bench.records("apc.events")


def test_a_dead_letter_is_sent_back_and_judged(bench: Bench, send_failing: FailingSender) -> None:
    (source,) = send_failing(idea(1))
    assert verdicts(bench) == []
    ((dead_letter, place),) = redrive(bench)
    assert (dead_letter.source, dead_letter.code) == (source, "decide_failed")
    assert place is not None
    assert verdicts(bench) == [(place, "accepted")]
    (fact,) = audit(bench)
    assert (fact["dead_letter"], fact["source"]) == (dead_letter.place, source)
    assert (fact["operator"], fact["reason"], fact["topic"]) == (
        "ann",
        "mended",
        "acme.apc.packets",
    )


def test_what_is_sent_is_what_came_and_says_whence(
    bench: Bench, send_failing: FailingSender
) -> None:
    send_failing(idea(1))
    ((dead_letter, place),) = redrive(bench)
    first, second = bench.records("apc.packets")
    assert (second.key, second.value) == (first.key, first.value)
    assert position(second) == place
    added = [(REDRIVEN_FROM, dead_letter.place.encode())]
    assert list(second.headers) == [*first.headers, *added]


def test_a_second_redrive_sends_nothing(bench: Bench, send_failing: FailingSender) -> None:
    send_failing(idea(1), idea(2))
    assert [place is not None for _, place in redrive(bench)] == [True, True]
    assert [dead_letter.standing for dead_letter, _ in redrive(bench)] == [
        RedriveStatus.DONE,
        RedriveStatus.DONE,
    ]
    assert len(bench.records("apc.packets")) == 4
    assert len(audit(bench)) == 2


def test_what_fails_again_is_not_sent_for_ever(
    bench: Bench, send_failing: FailingSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_failing(idea(1))
    with Redrive(bench.log, bench.settings, lambda: bench.now) as one:
        list(one.send(dead_letters(bench.log, "acme.", ALL, one.done), ORDER))
    send_failing()  # the record that was sent back dies as the first did
    assert standings(bench) == [RedriveStatus.DONE, RedriveStatus.FAILED_AGAIN]
    assert standings(bench, Selection(again=True)) == [RedriveStatus.DONE, RedriveStatus.READY]


class Killed(Exception):
    """Of the process, after a commit that it was never told of."""


@pytest.mark.parametrize("lost", [True, False], ids=["written", "not written"])
def test_each_is_sent_once_though_a_redrive_is_killed(
    bench: Bench, send_failing: FailingSender, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    send_failing(*(idea(n) for n in range(5)))
    commit = MemoryProducer.commit
    calls = 0

    def dying(self: MemoryProducer, outputs: Sequence[Output]) -> dict[TopicPartition, int]:
        nonlocal calls
        calls += 1
        if calls == 3 and lost:
            commit(self, outputs)
        if calls == 3:
            raise Killed
        return commit(self, outputs)

    with monkeypatch.context() as patch:
        patch.setattr(MemoryProducer, "commit", dying)
        with pytest.raises(Killed):
            redrive(bench)
    redrive(bench)
    sent = [header(r, REDRIVEN_FROM) for r in bench.records("apc.packets")]
    again = [name for name in sent if name is not None]
    assert len(again) == len(set(again)) == 5
    assert len({fact["dead_letter"] for fact in audit(bench)}) == len(audit(bench)) == 5
    assert sorted(verdict for _, verdict in verdicts(bench)) == ["accepted"] * 5


def test_who_begins_fences_the_one_before(bench: Bench, send_failing: FailingSender) -> None:
    send_failing(idea(1), idea(2))
    with Redrive(bench.log, bench.settings, lambda: bench.now) as first:
        sending = first.send(dead_letters(bench.log, "acme.", ALL, first.done), ORDER)
        next(sending)
        assert [place is not None for _, place in redrive(bench)] == [False, True]
        with pytest.raises(Fenced, match="another redrive has begun"):
            next(sending)
    assert len(audit(bench)) == 2


def test_a_failed_transaction_says_what_to_do(
    bench: Bench, send_failing: FailingSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(self: MemoryProducer, outputs: Sequence[Output]) -> dict[TopicPartition, int]:
        raise CommitFailed("no")

    send_failing(idea(1))
    monkeypatch.setattr(MemoryProducer, "commit", failing)
    with pytest.raises(CommitFailed, match="Run the same command again"):
        redrive(bench)


def test_bytes_that_nobody_reads_stay(bench: Bench) -> None:
    bench.send_bytes("apc.packets", b"else")
    ((dead_letter, place),) = redrive(bench)
    assert (dead_letter.standing, place) == (RedriveStatus.UNDECODABLE, None)


def test_masked_text_stays(bench: Bench) -> None:
    bench.send_bytes("rtes.raw", b"\x00password=hunter2")
    assert standings(bench) == [RedriveStatus.MASKED]


def test_a_timer_that_failed_is_no_record(bench: Bench) -> None:
    heads = [("kafka_dlt-exception-fqcn", b"timer_failed")]
    bench.log.append([Output("acme.apc.packets.dlq", b"timer/x", b"row", heads, 0)])
    assert standings(bench) == [RedriveStatus.NO_RECORD]


def test_what_was_too_large_to_keep_is_read_where_it_lies(
    bench: Bench, send_failing: FailingSender
) -> None:
    send_failing(idea(1))
    record = bench.records("apc.packets")[0]
    large = record._replace(value=bytes(APC_PACKETS.max_bytes + (1 << 17)))
    dead_letter = make_dead_letter(
        "acme.", APC_PACKETS, large, (large.key, large.value), "decide_failed", ""
    )
    assert dead_letter.value is None
    bench.log.append([dead_letter])
    letters = list(dead_letters(bench.log, "acme.", ALL, ()))
    assert [(one.standing, one.value) for one in letters] == [
        (RedriveStatus.READY, record.value)
    ] * 2
    bench.log.truncate(TopicPartition(record.topic, record.partition), record.offset + 1)
    assert standings(bench) == [RedriveStatus.READY, RedriveStatus.GONE]


def test_only_what_is_wanted_is_sent(bench: Bench, send_failing: FailingSender) -> None:
    sources = send_failing(idea(1), idea(2))
    bench.send_bytes("sap.tasks", b"else")
    assert len(standings(bench, Selection(topics=frozenset({"apc.packets"})))) == 2
    assert len(standings(bench, Selection(codes=frozenset({"frame_unknown"})))) == 1
    ((dead_letter, _),) = redrive(bench, Selection(places=frozenset({sources[1]})))
    assert dead_letter.source == sources[1]


def test_a_topic_without_dead_letters_is_wrong_usage(bench: Bench) -> None:
    with pytest.raises(UsageError, match=r"apc\.events has no dead letters"):
        standings(bench, Selection(topics=frozenset({"apc.events"})))


class Moments:
    """A clock that goes on while it is waited for; what was waited, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waited: list[float] = []

    def pause(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.now += seconds


@pytest.mark.parametrize(("slow", "waited"), [(0, [0, 2, 2, 2]), (0.5, [0, 1.5, 1.5, 1.5])])
def test_no_more_are_sent_in_a_second_than_wanted(
    bench: Bench, send_failing: FailingSender, slow: float, waited: list[float]
) -> None:
    send_failing(*(idea(n) for n in range(4)))
    time = Moments()

    def read(letters: Iterable[DeadLetter]) -> Iterator[DeadLetter]:
        for one in letters:
            time.now += slow
            yield one

    with Redrive(bench.log, bench.settings, lambda: bench.now, time.pause, lambda: time.now) as one:
        letters = dead_letters(bench.log, "acme.", ALL, one.done)
        list(one.send(read(letters), RedriveRequest("ann", rate=0.5)))
    assert time.waited == waited


def test_time_that_passes_before_is_not_made_up_for(
    bench: Bench, send_failing: FailingSender
) -> None:
    send_failing(*(idea(n) for n in range(3)))
    time = Moments()
    with Redrive(bench.log, bench.settings, lambda: bench.now, time.pause, lambda: time.now) as one:
        sent = one.send(
            dead_letters(bench.log, "acme.", ALL, one.done), RedriveRequest("ann", rate=0.5)
        )
        next(sent)
        time.now += 60
        list(sent)
    assert time.waited == [0, 0, 2]


def test_a_sender_that_was_proved_stays_so(
    bench: Bench, send_failing: FailingSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(bench.settings, principal_key="a secret of many letters")
    principals = Principals.of(settings.principal_key)
    assert principals is not None
    output = to_output(ingress_topic_of("apc.packets"), idea(1), bench.now, bench.settings)
    bench.log.append([principals.signed(output, b"ann", bench.now)])
    send_failing()
    bench.now += 3_600_000  # the signature is good for some minutes only
    with Redrive(bench.log, settings, lambda: bench.now) as one:
        list(one.send(dead_letters(bench.log, "acme.", ALL, one.done), ORDER))
    first, second = bench.records("apc.packets")
    assert principals.of_record(first) == principals.of_record(second) == b"ann"


def test_a_wrong_number_of_partitions_sends_nothing(
    bench: Bench, send_failing: FailingSender
) -> None:
    send_failing(idea(1))
    wrong = replace(bench.settings, partitions=8)
    with (
        pytest.raises(TopicsMismatch, match="has 2, not 8"),
        Redrive(bench.log, wrong, lambda: bench.now),
    ):
        raise AssertionError("it began")
    assert audit(bench) == []


def test_a_record_sent_again_says_which_letter_it_came_from_last(
    bench: Bench, send_failing: FailingSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_failing(idea(1))
    with monkeypatch.context() as patch:
        patch.setattr(processor, "_judge", fail)
        redrive(bench)
    redrive(bench, Selection(again=True))
    named = [v for n, v in bench.records("apc.packets")[-1].headers if n == REDRIVEN_FROM]
    assert named == [f"{audit(bench)[-1]['dead_letter']}".encode()]
    assert audit(bench)[-1]["dead_letter"] != audit(bench)[0]["dead_letter"]
