"""Tests of the derivation of one fact by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas import decode, encode
from streams.engine.records import LogRecord
from streams.log.fetching import records_of
from streams.verify.derivation import Derivation, Outcome, derive_fact
from tests.unit.verify.played import NAMES, Played
from topology import topics
from topology.apc import APC_EVENTS, APC_PACKETS
from topology.declarations import Topic, TopicKind
from topology.sap import SAP_ACKS

QUICK = ("refusals", "asap-bad-input", "sap-single-flight", "summit-bad-input", "saop-order")
FACTS = [topic for topic in topics.ALL if topic.kind is TopicKind.FACT]


def derivations(played: Played) -> Iterator[tuple[Topic, LogRecord, Derivation]]:
    for topic in FACTS:
        for _, _, record in played.places(topic):
            yield topic, record, derive(played, topic, record)


def derive(played: Played, topic: Topic, record: LogRecord) -> Derivation:
    read = records_of(played.log)
    return derive_fact(
        topic, record, "", played.settings.partitions, played.settings.as_work(), read
    )


def first_fact(played: Played, topic: Topic) -> LogRecord:
    return next(record for _, _, record in played.places(topic))


def refusals(played: Played) -> dict[str, Outcome]:
    """The outcomes for facts about refused packets, by rule."""
    values = (
        (decode(record.value, topic.record or "").value, derivation)
        for topic, record, derivation in derivations(played)
        if topic is APC_EVENTS
    )
    return {
        value["rule"]: derivation.outcome
        for value, derivation in values
        if value["verdict"] in ("rejected", "duplicate")
    }


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in NAMES]
)
def test_no_fact_of_a_scenario_differs_alone(name: str, tmp_path: Path) -> None:
    with closing(Played(name, tmp_path)) as played:
        outcomes: Counter[str] = Counter()
        for _, record, derivation in derivations(played):
            assert derivation.outcome is not Outcome.DIFFERS, (record, derivation.detail)
            assert derivation.detail.endswith(".")
            outcomes[derivation.outcome] += 1
        assert outcomes[Outcome.HOLDS]


def test_only_what_the_check_compares_is_derived(tmp_path: Path) -> None:
    with closing(Played("refusals", tmp_path)) as played:
        outcomes = refusals(played)
    assert outcomes["phase_type"] is Outcome.HOLDS
    assert outcomes["duplicate"] is Outcome.NOT_DERIVABLE


@pytest.mark.parametrize(
    ("member", "value"),
    [("rule", "phase_type"), ("packet_hash", "0" * 64), ("event_id", "another")],
)
def test_a_changed_fact_differs(tmp_path: Path, member: str, value: Any) -> None:
    with closing(Played("acknowledgements", tmp_path)) as played:
        played.change(APC_EVENTS, lambda fact: fact.update({member: value}))
        derivation = derive(played, APC_EVENTS, first_fact(played, APC_EVENTS))
    assert derivation.outcome is Outcome.DIFFERS, derivation.detail


def test_a_changed_refusal_differs_if_its_rule_is_derived(tmp_path: Path) -> None:
    with closing(Played("sap-bad-input", tmp_path)) as played:
        verdicts = [
            (decode(record.value, SAP_ACKS.record or "").value, record)
            for _, _, record in played.places(SAP_ACKS)
        ]
        refused = [(value, record) for value, record in verdicts if value["verdict"] == "rejected"]
        derived = [
            (value, record)
            for value, record in refused
            if derive(played, SAP_ACKS, record).outcome is Outcome.HOLDS
        ]
        assert derived
        for value, record in derived:
            changed = {**value, "rule": "not_issuer"}
            forged = record._replace(value=encode(SAP_ACKS.record or "", changed))
            assert derive(played, SAP_ACKS, forged).outcome is Outcome.DIFFERS


def test_without_its_command_nothing_is_derived(tmp_path: Path) -> None:
    with closing(Played("acknowledgements", tmp_path)) as played:
        fact = first_fact(played, APC_EVENTS)
        for tp, offset, _ in list(played.places(APC_PACKETS)):
            played.put(tp, offset, None)
        derivation = derive(played, APC_EVENTS, fact)
    assert derivation.outcome is Outcome.NOT_DERIVABLE
    assert "not on the log any more" in derivation.detail


def test_a_record_that_no_processor_writes_differs(tmp_path: Path) -> None:
    with closing(Played("acknowledgements", tmp_path)) as played:
        fact = first_fact(played, APC_EVENTS)
        assert derive(played, APC_EVENTS, fact._replace(value=b"x")).outcome is Outcome.DIFFERS
        headers = [each for each in fact.headers if each[0] != "headrace-cause"]
        derivation = derive(played, APC_EVENTS, fact._replace(headers=headers))
    assert derivation.outcome is Outcome.DIFFERS
    assert "no place of an input" in derivation.detail
