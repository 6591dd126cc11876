"""A row that is gone is missed, whichever table it is of; so is the fact that a row rests on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas import decode, encode, sap, to_json
from streams.engine.headers import CAUSE
from streams.engine.positions import encode_position
from streams.engine.records import Output, TopicPartition, header
from streams.engine.rows import store_key
from streams.replay.violations import ViolationKind
from tests.unit.verify.played import Played
from topology.apc import APC_COORDINATION, APC_PRIORS, APC_THROTTLING
from topology.core import CHANGELOG, INPUT_POSITIONS
from topology.declarations import Topic
from topology.saop import REWINDS, SAOP_REWIND_LOG
from topology.sap import SAP_CACHE, SAP_LEARNING, SAP_TASK_STATES, SAP_VERDICTS
from topology.summit import SUMMIT_AGENTS

LIVE = (
    ("acknowledgements", APC_COORDINATION),
    ("lineage-graph", APC_THROTTLING),
    ("strategy-priors", APC_PRIORS),
    ("sap-seed", SAP_LEARNING),
    ("summit-run", SUMMIT_AGENTS),
    ("summit-manifests", SUMMIT_AGENTS),
)
"""Scenarios, and tables whose rows no folding makes."""


def keys(played: Played, topic: Topic) -> list[bytes]:
    return sorted({record.key or b"" for _, _, record in played.places(topic)})


def without(played: Played, topic: Topic, key: bytes) -> Iterator[None]:
    """The log as it would be had the key never been written."""
    gone = [place for place in played.places(topic) if place[2].key == key]
    for tp, offset, _ in gone:
        played.put(tp, offset, None)
    yield
    for tp, offset, record in gone:
        played.put(tp, offset, record)


@pytest.mark.parametrize(("name", "topic"), LIVE)
def test_every_row_of_a_table_is_missed(name: str, topic: Topic, tmp_path: Path) -> None:
    with closing(Played(name, tmp_path)) as played:
        row_keys = keys(played, topic)
        assert row_keys
        for key in row_keys:
            for _ in without(played, topic, key):
                findings = played.verify().findings.shown
                missed = {one.place for one in findings if one.fault is ViolationKind.ROW_MISSING}
                assert f"{topic.name} {key.decode()}" in missed
        assert played.verify().clean


def test_a_count_of_learning_is_held_against_the_tasks(tmp_path: Path) -> None:
    with closing(Played("sap-seed", tmp_path)) as played:
        tp, offset, record = list(played.places(SAP_LEARNING))[-1]
        row = decode(record.value, SAP_LEARNING.record or "").value
        changed = encode(SAP_LEARNING.record or "", {**row, "outcomes": row["outcomes"] + 1})
        played.put(tp, offset, record._replace(value=changed))
        (one,) = played.verify().findings.shown
        assert (one.fault, "tasks of this kind" in one.message) == (ViolationKind.ROW_DIFFERS, True)


@pytest.mark.parametrize("name", ["rtes-rewind", "rtes-rewind-lapse"])
def test_every_fact_about_a_rewind_is_missed(name: str, tmp_path: Path) -> None:
    """Also the lapse, which answers no command: the rewind's row has it."""
    with closing(Played(name, tmp_path)) as played:
        facts = list(played.places(SAOP_REWIND_LOG))
        assert facts
        for tp, offset, record in facts:
            played.put(tp, offset, None)
            report = played.verify()
            played.put(tp, offset, record)
            assert not report.clean, f"nobody misses {offset}"
        assert played.verify().clean


def test_every_row_of_a_rewind_is_missed(tmp_path: Path) -> None:
    with closing(Played("rtes-rewind", tmp_path)) as played:
        mine = store_key(REWINDS.name, "")
        row_keys = [key for key in keys(played, CHANGELOG) if key.startswith(mine)]
        assert row_keys
        for key in row_keys:
            for _ in without(played, CHANGELOG, key):
                assert ViolationKind.ROW_MISSING in played.verify().findings.counts


def test_a_state_that_a_rewind_did_not_come_to_is_found(tmp_path: Path) -> None:
    with closing(Played("rtes-rewind", tmp_path)) as played:

        def spoil(fact: dict[str, object]) -> None:
            fact["state"] = "aborted"

        place = played.change(SAOP_REWIND_LOG, spoil, lambda fact: fact["state"] == "applied")
        messages = {one.message for one in played.verify().findings.shown if one.place == place}
        assert any("does not lead" in one for one in messages)


def stored(played: Played) -> tuple[TopicPartition, int]:
    """Play until the last thing that the cache has said is that it stored an answer."""
    while played.left:
        played.go_on(1)
        for tp, offset, record in list(played.places(SAP_VERDICTS))[-1:]:
            if decode(record.value, SAP_VERDICTS.record or "").value["verdict"] == "stored":
                return tp, offset
    raise AssertionError("the cache stored nothing")


def test_what_the_cache_said_need_not_be_read_yet(tmp_path: Path) -> None:
    """SAP reads its cache's verdict in a later transaction; a cut may lie between them."""
    with closing(Played("sap-cache", tmp_path, whole=False)) as played:
        tp, offset = stored(played)
        cause = f"{tp.topic}/{tp.partition}/{offset}".encode()
        for rows, at, row in list(played.places(SAP_TASK_STATES)):
            if header(row, CAUSE) == cause:
                played.put(rows, at, None)
        findings = played.verify().findings
        assert ViolationKind.ROW_DIFFERS in findings.counts, (
            "it was read, and the row does not say so"
        )
        key = store_key(INPUT_POSITIONS.name, SAP_VERDICTS.name)
        value = encode_position(offset, {})
        slots = played.log.slots(TopicPartition(CHANGELOG.name, tp.partition))
        last = next(one for one in reversed(slots) if one is not None and one.key == key)
        slots.append(last._replace(offset=len(slots), value=value))
        assert played.verify().findings.shown == []


def test_later_records_of_a_row_that_is_written_once_are_refused(tmp_path: Path) -> None:
    """The version that was stored stands, and the records behind it are reported."""
    with closing(Played("sap-cache", tmp_path)) as played:
        assert played.verify().clean
        _, _, record = next(played.places(SAP_CACHE))
        other = decode(record.value, SAP_CACHE.record or "").value | {"producer": "mallory"}
        for value in (encode(SAP_CACHE.record or "", other), None):
            played.log.append([Output(SAP_CACHE.name, record.key, value)])
        findings = played.verify().findings.shown
        assert {one.fault for one in findings} == {ViolationKind.ROW_DIFFERS}
        assert len(findings) == 2
        assert all("written_once" in one.message for one in findings)


def test_a_forged_version_that_is_left_alone_is_reported(tmp_path: Path) -> None:
    """As after compaction: its own hash is right, and differs from that of its verdict."""
    with closing(Played("sap-cache", tmp_path)) as played:

        def forge(value: dict[str, Any]) -> None:
            value["output_json"] = '"forged"'
            value["recordSha256"] = sap.record_sha256(to_json(SAP_CACHE.record or "", value))

        played.change(SAP_CACHE, forge)
        messages = [one.message for one in played.verify().findings.shown]
        assert any("its verdict says" in message for message in messages)


@pytest.mark.parametrize(
    ("member", "value"), [("recordSha256", "0" * 64), ("lookupId", "sap.verdicts/0/0")]
)
def test_a_hit_at_admission_names_the_version_that_was_stored(
    member: str, value: str, tmp_path: Path
) -> None:
    with closing(Played("sap-cache", tmp_path, sap_cache_copy=True)) as played:
        assert played.verify().clean

        def forge(verdict: dict[str, Any]) -> None:
            verdict[member] = value

        played.change(SAP_VERDICTS, forge, lambda verdict: verdict["verdict"] == "hit")
        faults = {one.fault for one in played.verify().findings.shown}
        assert faults == {ViolationKind.NOT_BORNE_OUT}


def test_a_hit_with_another_record_than_was_stored_is_not_borne_out(tmp_path: Path) -> None:
    with closing(Played("sap-cache", tmp_path)) as played:

        def forge(value: dict[str, Any]) -> None:
            value["record"]["output_json"] = '"forged"'

        played.change(SAP_VERDICTS, forge, lambda value: value["verdict"] == "hit")
        faults = {one.fault for one in played.verify().findings.shown}
        assert ViolationKind.NOT_BORNE_OUT in faults
