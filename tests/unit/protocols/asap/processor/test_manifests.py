"""The verdicts on manifests (ASAP guide, 5.6)."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import Decoded, decode, encode
from streams.engine.processor import Message
from streams.engine.records import LogRecord
from streams.protocols.asap.processor.manifests import Fleet
from tests.examples import example_count
from tests.unit.protocols.asap.processor.requests import manifest
from tests.unit.protocols.asap.processor.support import INDEXER, PLANNER, START_MS, Bench
from tests.unit.schemas.strategies import values
from topology.asap import ASAP_AGENTS, ASAP_EVENTS, ASAP_MANIFESTS
from topology.keys import partition_of

Json = dict[str, Any]
RECORD = "dev.headrace.asap.AsapManifest"


def decide_manifest(
    bench: Bench,
    value: Json | None,
    key: bytes | None = INDEXER.encode(),
    partition: int = 0,
) -> Json:
    """The fact of one record of the topic."""
    raw = None if value is None else encode(RECORD, value)
    read = Decoded({}, b"", 0, False) if raw is None else decode(raw, RECORD)
    record = LogRecord(ASAP_MANIFESTS.name, partition, 7, START_MS, key, raw)
    sent = bench.decide(Message(ASAP_MANIFESTS, record, read.value, read.body, read.current))
    (fact,) = bench.of(ASAP_EVENTS, sent)
    assert sent == [fact], "a manifest has no other effect"
    assert fact.key == (INDEXER if key == b"\xff" or key is None else key.decode())
    return fact.json


def test_a_manifest_and_the_same_again_and_another() -> None:
    bench = Bench()
    fact = decide_manifest(bench, manifest(INDEXER))
    assert (fact["kind"], fact["verdict"]) == ("manifest", "accepted")
    assert (fact["rule"], fact["fault"]) == ("manifest_accepted", None)
    assert fact["cause"] == "asap.manifests/0/7"
    again = decide_manifest(bench, manifest(INDEXER))
    assert (again["verdict"], again["rule"]) == ("duplicate", "same_envelope")
    assert again["envelope_hash"] == fact["envelope_hash"]
    assert decide_manifest(bench, manifest(INDEXER, "x"))["rule"] == "manifest_accepted"
    assert decide_manifest(bench, manifest(INDEXER))["rule"] == "manifest_accepted"


def test_a_null_value_withdraws_the_agent() -> None:
    bench = Bench()
    decide_manifest(bench, manifest(INDEXER))
    fact = decide_manifest(bench, None)
    assert (fact["verdict"], fact["rule"]) == ("accepted", "manifest_withdrawn")
    assert bench.rows(ASAP_AGENTS) == {}
    assert decide_manifest(bench, manifest(INDEXER))["rule"] == "manifest_accepted"


def test_a_bad_manifest_removes_the_agent() -> None:
    bench = Bench()
    decide_manifest(bench, manifest(INDEXER))
    fact = decide_manifest(bench, {**manifest(INDEXER), "version": "one"})
    assert (fact["verdict"], fact["rule"], fact["fault"]) == ("rejected", "bad_manifest", "sender")
    assert fact["asap_error"] == "asap:protocol/malformed_envelope"
    assert "/version" in fact["detail"]
    assert decide_manifest(bench, manifest(INDEXER))["rule"] == "manifest_accepted"


def test_a_manifest_lies_under_its_agents_urn() -> None:
    for key in (PLANNER.encode(), b"\xff", None):
        bench = Bench()
        decide_manifest(bench, manifest(INDEXER))
        assert decide_manifest(bench, manifest(INDEXER), key)["rule"] == "bad_manifest"
        assert list(bench.rows(ASAP_AGENTS)) == [INDEXER], "that is about another key"


def test_a_manifest_on_another_partition_is_a_fact_and_nothing_else() -> None:
    bench = Bench(partitions=4)
    there = partition_of(INDEXER.encode(), 4)
    for value in (manifest(INDEXER), None):
        fact = decide_manifest(bench, value, partition=there ^ 1)
        assert (fact["verdict"], fact["rule"]) == ("rejected", "partition_mismatch")
        assert fact["figures"] == {"partition": there ^ 1, "expected": there}
    assert bench.rows(ASAP_AGENTS) == {}
    assert decide_manifest(bench, manifest(INDEXER), partition=there)["verdict"] == "accepted"


def test_the_fleet_is_who_has_a_valid_manifest_now() -> None:
    fleet = Fleet()
    fleet.update(INDEXER, manifest(INDEXER, "a", "b"))
    fleet.update(PLANNER, manifest(PLANNER))
    assert fleet.skills == {INDEXER: {"a", "b"}, PLANNER: set()}
    fleet.update(PLANNER, {**manifest(PLANNER), "version": "one"})
    fleet.update("elsewhere", manifest(PLANNER))
    assert list(fleet.skills) == [INDEXER]
    fleet.update(INDEXER, None)
    fleet.update(INDEXER, None)
    assert fleet.skills == {}


@settings(max_examples=example_count(60), deadline=None)
@given(values(RECORD), st.booleans())
def test_whatever_lies_on_the_topic_gets_one_verdict(value: Json, in_place: bool) -> None:
    value = {**value, "id": INDEXER} if in_place else value
    bench, fleet = Bench(), Fleet()
    fact = decide_manifest(bench, value)
    fleet.update(INDEXER, value)
    assert fact["verdict"] == ("accepted" if INDEXER in fleet.skills else "rejected")
    assert fact["rule"] in ("manifest_accepted", "bad_manifest")
