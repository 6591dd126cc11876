"""What is put into a sound log to spoil it is found, and named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas import decode, encode
from streams.engine.headers import CAUSE
from streams.engine.records import LogRecord, TopicPartition
from streams.replay.violations import ViolationKind
from tests.unit.verify.played import Played
from topology import topics
from topology.apc import (
    APC_COORDINATION,
    APC_EVENTS,
    APC_LINEAGE,
    APC_PACKET_STATES,
    APC_PACKETS,
    APC_PRIORS,
    APC_THROTTLING,
)
from topology.asap import ASAP_EVENTS, ASAP_SNAPSHOTS, ASAP_TASKS
from topology.declarations import Topic, TopicKind
from topology.saop import RTES_EVENTS, SAOP_ESCALATIONS, SAOP_LOG, SAOP_TASKS, SAOP_VERDICTS
from topology.sap import SAP_ACKS, SAP_CACHE, SAP_TASK_STATES
from topology.summit import SUMMIT_AGENTS, SUMMIT_EVENTS, SUMMIT_RUNS
from topology.topics import dead_letters_of

SMALL = ("acknowledgements", "sap-seed", "asap-run", "summit-run", "saop-order", "rtes-rewind")
FACTS = [topic for topic in topics.ALL if topic.kind in (TopicKind.FACT, TopicKind.DEAD_LETTER)]
Change = Callable[[Any], None]


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Callable[[str], Played]]:
    opened: list[Played] = []

    def played(name: str) -> Played:
        opened.append(Played(name, tmp_path))
        return opened[-1]

    yield played
    for one in opened:
        one.close()


def faults(played: Played) -> set[ViolationKind]:
    return set(played.verify().findings.counts)


@pytest.mark.parametrize("name", SMALL)
def test_a_missing_fact_is_missed(name: str, tmp_path: Path) -> None:
    with closing(Played(name, tmp_path)) as played:
        facts = [place for topic in FACTS for place in played.places(topic)]
        for tp, offset, record in facts[::2]:
            played.put(tp, offset, None)
            report = played.verify()
            played.put(tp, offset, record)
            assert not report.clean, f"nobody misses {tp.topic}/{offset}"
        assert played.verify().clean


def _set(name: str, value: Any) -> Change:
    def change(row: Any) -> None:
        assert row[name] != value
        row[name] = value

    return change


CHANGED_ROWS: tuple[tuple[str, Topic, Change, str], ...] = (
    ("acknowledgements", APC_PACKET_STATES, _set("state", "RETRACTED"), "state"),
    ("acknowledgements", APC_PACKET_STATES, _set("version", 77), "version"),
    ("sap-seed", SAP_TASK_STATES, _set("outcomeSeq", 9), "outcomeSeq"),
    ("asap-run", ASAP_TASKS, _set("status", "paused"), "status"),
    ("summit-run", SUMMIT_RUNS, _set("agentId", "mallory"), "agentId"),
    ("rtes-rewind", SAOP_TASKS, _set("transitions", 99), "transitions"),
    ("acknowledgements", APC_COORDINATION, _set("state", "ACTING"), "it is in ACTING"),
    ("lineage-graph", APC_THROTTLING, _set("accepted", 99), "accepted is 99"),
    ("lineage-graph", APC_LINEAGE, _set("effectiveness_score", 0.123), "effectiveness"),
    ("strategy-priors", APC_PRIORS, _set("gates_met", 7), "gates_met is 7"),
    ("strategy-priors", APC_PRIORS, _set("version", 77), "version is 77"),
    ("asap-snapshots", ASAP_SNAPSHOTS, _set("cause", "nobody"), "its cause is nobody"),
    ("sap-cache", SAP_CACHE, _set("producer", "mallory"), "recordSha256"),
    ("summit-run", SUMMIT_AGENTS, _set("manifestHash", "0" * 64), "manifestHash"),
)


@pytest.mark.parametrize(("name", "topic", "change", "member"), CHANGED_ROWS)
def test_a_changed_row_differs(
    name: str, topic: Topic, change: Change, member: str, play: Callable[[str], Played]
) -> None:
    played = play(name)
    last = list(played.places(topic))[-1]
    tp, offset, record = last
    row = decode(record.value, topic.record or "").value
    change(row)
    played.put(tp, offset, record._replace(value=encode(topic.record or "", row)))
    findings = played.verify().findings
    assert set(findings.counts) == {ViolationKind.ROW_DIFFERS}
    key = (record.key or b"").decode()
    assert findings.shown[0].place == f"{topic.name} {key}"
    assert member in findings.shown[0].message


def test_a_row_that_is_gone_is_missing(play: Callable[[str], Played]) -> None:
    played = play("asap-run")
    key = list(played.places(ASAP_TASKS))[-1][2].key
    for tp, offset, record in list(played.places(ASAP_TASKS)):
        if record.key == key:
            played.put(tp, offset, None)
    assert faults(played) == {ViolationKind.ROW_MISSING}


def test_a_row_without_facts_is_unfounded(play: Callable[[str], Played]) -> None:
    played = play("asap-run")
    tp, _, record = list(played.places(ASAP_TASKS))[-1]
    slots = played.log.slots(tp)
    slots.append(record._replace(offset=len(slots), key=b"invented"))
    assert ViolationKind.ROW_UNFOUNDED in faults(played)


def _again(played: Played, topic: Topic, change: Callable[[LogRecord], LogRecord]) -> None:
    """One more fact, made from the first one of the topic."""
    tp, _, record = next(played.places(topic))
    slots = played.log.slots(tp)
    slots.append(change(record)._replace(offset=len(slots)))


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("acknowledgements", APC_EVENTS),
        ("sap-seed", SAP_ACKS),
        ("asap-run", ASAP_EVENTS),
        ("summit-run", SUMMIT_EVENTS),
        ("saop-order", SAOP_VERDICTS),
        ("rtes-rewind", RTES_EVENTS),
    ],
)
def test_a_doubled_verdict_is_found(name: str, topic: Topic, play: Callable[[str], Played]) -> None:
    played = play(name)
    _again(played, topic, lambda record: record)
    kinds = faults(played)
    assert {ViolationKind.ANSWERED_TWICE, ViolationKind.REPEATED} <= kinds


def test_a_second_verdict_under_another_name_is_found(play: Callable[[str], Played]) -> None:
    def renamed(record: LogRecord) -> LogRecord:
        other = [(n, b"other" if n == "ce_id" else v) for n, v in record.headers]
        return record._replace(headers=other)

    played = play("acknowledgements")
    _again(played, APC_EVENTS, renamed)
    kinds = faults(played)
    assert ViolationKind.ANSWERED_TWICE in kinds
    assert ViolationKind.REPEATED not in kinds


def test_a_verdict_on_nothing_is_found(play: Callable[[str], Played]) -> None:
    def elsewhere(record: LogRecord) -> LogRecord:
        value = decode(record.value, "headrace.apc.ApcEvent").value
        value |= {"cause": "apc.packets/0/2", "event_id": "apc.packets/0/2/0"}
        heads = [(n, b"apc.packets/0/2" if n == CAUSE else v) for n, v in record.headers]
        raw = encode("headrace.apc.ApcEvent", value)
        return record._replace(value=raw, headers=[*heads, ("ce_id", b"other")])

    played = play("acknowledgements")
    _again(played, APC_EVENTS, elsewhere)
    tp, offset, _ = next(p for p in played.places(APC_PACKETS) if p[1] == 2)
    played.put(tp, offset, None)
    assert ViolationKind.WITHOUT_RECORD in faults(played)


def _flip_gate(fact: Any) -> None:
    fact["gates"]["met"] = not fact["gates"]["met"]


def _first_check(fact: Any) -> None:
    check = fact["throttle"]["checks"][0]
    check["outcome"] = "fail" if check["outcome"] == "pass" else "pass"


NOT_BORNE_OUT: tuple[tuple[str, Topic, Callable[[Any], Any], Change, str], ...] = (
    (
        "refusals",
        APC_EVENTS,
        lambda fact: fact["rule"] == "phase_type",
        lambda fact: fact.update(verdict="accepted", rule="accepted", fault=None),
        "allowed in its phase",
    ),
    (
        "promotion",
        APC_EVENTS,
        lambda fact: fact["gates"] and fact["verdict"] == "accepted",
        _flip_gate,
        "gates",
    ),
    (
        "asap-run",
        ASAP_EVENTS,
        lambda fact: fact["sequence"] == 2,
        _set("envelope_hash", "0" * 64),
        "envelope_hash",
    ),
    (
        "summit-run",
        SUMMIT_EVENTS,
        lambda fact: fact["subject"] == "reply",
        _set("contentHash", "0" * 64),
        "contentHash",
    ),
    (
        "sap-seed",
        SAP_ACKS,
        lambda fact: fact["verdict"] == "accepted",
        _set("envelopeSha256", "0" * 64),
        "envelopeSha256",
    ),
    (
        "saop-order",
        SAOP_VERDICTS,
        lambda fact: fact["verdict"] == "accepted",
        _set("canonical_hash", "0" * 64),
        "canonical_hash",
    ),
    (
        "saop-detectors",
        SAOP_ESCALATIONS,
        lambda fact: fact["detector"] == "confidence" and fact["slope"] is not None,
        lambda fact: fact["confidences"].__setitem__(-1, 0.99),
        "the last confidence is none",
    ),
    (
        "saop-detectors",
        SAOP_ESCALATIONS,
        lambda fact: fact["detector"] == "repetition",
        _set("run_length", 1),
        "run_length is below",
    ),
    (
        "summit-budgets",
        SUMMIT_EVENTS,
        lambda fact: fact["rule"] == "budget.usd",
        lambda fact: fact["figures"].__setitem__("cost_usd", 0.0),
        "rule is 'budget.usd'",
    ),
    (
        "sap-bad-input",
        SAP_ACKS,
        lambda fact: fact["verdict"] == "rejected" and fact["errors"],
        _set("rule", "key_mismatch"),
        "rule",
    ),
    (
        "summit-bad-input",
        SUMMIT_EVENTS,
        lambda fact: fact["verdict"] == "rejected" and fact["subject"] == "call",
        _set("rule", "auth.caller"),
        "rule",
    ),
)


@pytest.mark.parametrize(("name", "topic", "predicate", "change", "message"), NOT_BORNE_OUT)
def test_a_verdict_that_its_figures_do_not_bear_out_is_found(
    name: str,
    topic: Topic,
    predicate: Callable[[Any], Any],
    change: Change,
    message: str,
    play: Callable[[str], Played],
) -> None:
    played = play(name)
    place = played.change(topic, change, predicate)
    findings = [f for f in played.verify().findings.shown if f.place == place]
    assert any(f.fault is ViolationKind.NOT_BORNE_OUT and message in f.message for f in findings), (
        findings
    )


@pytest.mark.parametrize(
    ("name", "topic", "member"),
    [
        ("rtes-rewind", RTES_EVENTS, "sequence"),
        ("asap-run", ASAP_EVENTS, "sequence"),
        ("summit-run", SUMMIT_EVENTS, "runVersion"),
    ],
)
def test_a_gap_in_numbers_is_found(
    name: str, topic: Topic, member: str, play: Callable[[str], Played]
) -> None:
    def leap(fact: Any) -> None:
        fact[member] += 1

    played = play(name)
    played.change(topic, leap, lambda fact: fact.get(member) == 2)
    assert ViolationKind.SEQUENCE in faults(played)


def test_a_fact_that_nobody_can_read_is_found(play: Callable[[str], Played]) -> None:
    played = play("idea")
    tp, offset, record = next(played.places(APC_EVENTS))
    played.put(tp, offset, record._replace(value=b"\0else"))
    assert ViolationKind.UNREADABLE in faults(played)


def test_a_fact_that_makes_no_sense_is_found(play: Callable[[str], Played]) -> None:
    played = play("asap-run")
    place = played.change(ASAP_EVENTS, _set("figures_json", "{"))
    (finding,) = (f for f in played.verify().findings.shown if "cannot be followed" in f.message)
    assert (finding.fault, finding.place) == (ViolationKind.NOT_BORNE_OUT, place)


def test_a_rule_that_does_not_exist_is_found(play: Callable[[str], Played]) -> None:
    played = play("acknowledgements")
    effects = ("effect", "fired")
    played.change(APC_EVENTS, _set("rule", "mood"), lambda f: f["verdict"] in effects)
    assert "mood is none of the rules" in {f.message for f in played.verify().findings.shown}


def test_a_turn_that_waits_is_not_missed(tmp_path: Path) -> None:
    with closing(Played("saop-order", tmp_path, whole=False)) as played:
        while played.left:
            played.go_on(1)
            report = played.verify()
            assert report.findings.shown == []
            if report.waiting:
                return
    raise AssertionError("no turn was ever held")


def test_an_accepted_turn_that_was_never_logged_is_missed(play: Callable[[str], Played]) -> None:
    played = play("saop-order")
    tp, offset, _ = next(played.places(SAOP_LOG))
    played.put(tp, offset, None)
    assert ViolationKind.PROMISE in faults(played)


def test_a_fact_under_another_cause_is_found(play: Callable[[str], Played]) -> None:
    played = play("acknowledgements")
    tp, offset, record = next(played.places(APC_EVENTS))
    heads = [(n, b"apc.packets/0/1" if n == CAUSE else v) for n, v in record.headers]
    played.put(tp, offset, record._replace(headers=heads))
    assert ViolationKind.NOT_BORNE_OUT in faults(played)


@pytest.mark.parametrize(
    ("topic", "changed"),
    [
        (APC_PACKET_STATES, {"key": b"\xff\xfe"}),
        (APC_PACKET_STATES, {"key": b"\xff\xfe", "value": None}),
        (APC_PACKET_STATES, {"value": b"\0\xff\xff\xff\xff\1"}),
        (APC_EVENTS, {"key": b"\xff\xfe"}),
        (APC_EVENTS, {"value": b"\0\xff\xff\xff\xff\1"}),
        (APC_EVENTS, {"headers": [(CAUSE, b"apc.packets/0/" + b"9" * 5000)]}),
        (APC_EVENTS, {"headers": [(CAUSE, b"apc.packets/" + b"9" * 5000 + b"/1")]}),
        (dead_letters_of(APC_PACKETS), {"headers": [(CAUSE, b"apc.packets/0/" + b"9" * 5000)]}),
    ],
)
def test_what_only_an_intruder_can_have_written_ends_no_verification(
    topic: Topic, changed: dict[str, Any], play: Callable[[str], Played]
) -> None:
    played = play("acknowledgements")
    record = next(played.places(APC_EVENTS if topic is not APC_PACKET_STATES else topic))[2]
    tp = TopicPartition(topic.name, 0)
    forged = record._replace(topic=tp.topic, partition=0, offset=len(played.log.slots(tp)))
    played.log.slots(tp).append(forged._replace(**changed))
    place = f"{tp.topic}/0/{forged.offset}"
    report = played.verify()
    places = {finding.place for finding in report.findings.shown}
    assert places & {place, _row_place(record)}


def _row_place(record: LogRecord) -> str:
    return f"{record.topic} {(record.key or b'').decode()}"
