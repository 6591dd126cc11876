"""The verdicts on manifests, and the rows that they leave (Summit guide, 5.1)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import Decoded, summit, to_json
from streams.engine.processor import Message
from streams.engine.records import LogRecord
from tests.unit.protocols.summit.processor.support import (
    AGENT,
    START_MS,
    Bench,
    Json,
    invoke,
    manifest,
)
from tests.unit.schemas.strategies import values
from topology.keys import partition_of
from topology.summit import SUMMIT_AGENTS_TABLE, SUMMIT_CALLS, SUMMIT_EVENTS, SUMMIT_MANIFESTS

WORKED_HASH = "6b669a549e94716e8aa5293e548855cdd6cb4d55a6fee90ca2a6d5262c19a6aa"
RECORD = "headrace.summit.SummitManifest"
OTHER: Json = {"capabilities": ["text:count", "text:sort"]}
"""Members of `spec` that make another manifest of it."""


def bench(**more: Any) -> Bench:
    return Bench(agents=False, **more)


def withdrawal(key: bytes | None, partition: int = 0) -> Message:
    record = LogRecord(SUMMIT_MANIFESTS.name, partition, 77, START_MS, key, None)
    return Message(SUMMIT_MANIFESTS, record, *Decoded({}, b"", 0, False)[:2], False)


def agent(bench: Bench, key: str = AGENT) -> Json:
    row = bench.row(SUMMIT_AGENTS_TABLE, key)
    assert row is not None
    return to_json("headrace.summit.SummitAgent", row)


def test_the_first_manifest_makes_two_rows() -> None:
    made = bench()
    fact = made.register(manifest())
    assert fact["eventId"] == "summit.manifests/0/0/0"
    assert (fact["subject"], fact["verdict"]) == ("manifest", "accepted")
    assert (fact["rule"], fact["fault"]) == ("manifest.accepted", None)
    assert (fact["fromState"], fact["toState"]) == ("none", "registered")
    assert fact["agentId"] == AGENT
    assert fact["contentHash"] == fact["manifestHash"] == WORKED_HASH
    assert fact["manifestVersion"] == "1.2.0"
    assert fact["runId"] is fact["path"] is fact["agentsSeen"] is None
    assert set(made.rows(SUMMIT_AGENTS_TABLE)) == {AGENT, f"{AGENT}/1.2.0"}
    row = agent(made)
    assert row == agent(made, f"{AGENT}/1.2.0")
    assert summit.manifest_hash(row["manifest"]) == WORKED_HASH
    assert (row["state"], row["manifestHash"]) == ("registered", WORKED_HASH)
    assert row["position"] == fact["cause"] == "summit.manifests/0/0"
    assert row["at"] == fact["at"]
    assert made.edges() == []


def test_the_same_again_is_a_duplicate_and_changes_nothing() -> None:
    made = bench()
    made.register(manifest())
    before = dict(made.tables[SUMMIT_AGENTS_TABLE.name])
    fact = made.register(manifest())
    assert (fact["verdict"], fact["rule"]) == ("duplicate", "manifest.duplicate")
    assert (fact["fromState"], fact["toState"], fact["fault"]) == (None, None, None)
    assert fact["manifestVersion"] == "1.2.0"
    assert made.tables[SUMMIT_AGENTS_TABLE.name] == before


def test_a_version_stands_for_one_manifest_for_ever() -> None:
    made = bench()
    made.register(manifest())
    made.register(manifest(version="1.3.0"))
    fact = made.register(manifest(version="1.2.0", **OTHER))
    assert (fact["verdict"], fact["rule"]) == ("rejected", "manifest.version_conflict")
    assert (fact["fault"], fact["path"]) == ("sender", "/metadata/version")
    assert fact["manifestHash"] == WORKED_HASH != fact["contentHash"]
    assert agent(made)["version"] == "1.3.0"
    assert agent(made, f"{AGENT}/1.2.0")["manifestHash"] == WORKED_HASH


def test_a_version_that_was_accepted_may_be_in_force_again() -> None:
    made = bench()
    first = made.register(manifest())
    made.register(manifest(version="0.9.0", **OTHER))
    assert agent(made)["version"] == "0.9.0", "the latest record counts, not the highest version"
    fact = made.register(manifest())
    assert (fact["rule"], fact["fromState"]) == ("manifest.accepted", None)
    assert agent(made)["position"] == fact["cause"]
    assert agent(made, f"{AGENT}/1.2.0")["position"] == first["cause"], "written once"
    node = f"summit:manifest:{AGENT}/"
    assert made.edges() == [
        (node + "0.9.0", "replaces", node + "1.2.0"),
        (node + "1.2.0", "replaces", node + "0.9.0"),
    ]


def test_a_null_value_withdraws_the_agent_until_it_registers_again() -> None:
    made = bench()
    made.register(manifest())
    fact = made.fact(withdrawal(AGENT.encode()))
    assert (fact["verdict"], fact["rule"]) == ("accepted", "manifest.withdrawn")
    assert (fact["fromState"], fact["toState"]) == ("registered", "withdrawn")
    assert (fact["agentId"], fact["contentHash"]) == (AGENT, None)
    assert (fact["manifestVersion"], fact["manifestHash"]) == ("1.2.0", WORKED_HASH)
    assert agent(made)["state"] == "withdrawn"
    assert agent(made, f"{AGENT}/1.2.0")["state"] == "registered", "written once"
    again = made.register(manifest())
    assert (again["verdict"], again["rule"]) == ("accepted", "manifest.accepted")
    assert (again["fromState"], again["toState"]) == ("withdrawn", "registered")
    assert made.edges() == []


def test_another_version_after_a_withdrawal_replaces_the_one_before_it() -> None:
    made = bench()
    made.register(manifest())
    made.fact(withdrawal(AGENT.encode()))
    made.register(manifest(version="2.0.0"))
    node = f"summit:manifest:{AGENT}/"
    assert made.edges() == [(node + "2.0.0", "replaces", node + "1.2.0")]


@pytest.mark.parametrize("key", [b"nobody", f"{AGENT}/1.2.0".encode(), AGENT.upper().encode(), b""])
def test_who_is_not_registered_cannot_be_withdrawn(key: bytes) -> None:
    made = bench()
    made.register(manifest())
    fact = made.fact(withdrawal(key))
    assert (fact["verdict"], fact["rule"]) == ("rejected", "manifest.not_registered")
    assert fact["agentId"] == key.decode()
    assert agent(made, f"{AGENT}/1.2.0")["state"] == agent(made)["state"] == "registered"


def test_who_is_withdrawn_cannot_be_withdrawn_again() -> None:
    made = bench()
    made.register(manifest())
    made.fact(withdrawal(AGENT.encode()))
    assert made.fact(withdrawal(AGENT.encode()))["rule"] == "manifest.not_registered"


@pytest.mark.parametrize(
    ("key", "expected"), [(b"other", "other"), (None, AGENT), (b"\xff", AGENT), (b"", "")]
)
def test_a_manifest_lies_under_its_agents_name(key: bytes | None, expected: str) -> None:
    made = bench()
    record = made.record(SUMMIT_MANIFESTS, manifest(), key=key)
    (sent,) = made.of(SUMMIT_EVENTS, made.decide(record))
    assert (sent.key, sent.value["rule"]) == (expected, "key.mismatch")
    assert sent.value["agentId"] == AGENT
    assert made.rows(SUMMIT_AGENTS_TABLE) == {}


@pytest.mark.parametrize("key", [None, b"\xff"])
def test_a_withdrawal_without_a_key_is_refused(key: bytes | None) -> None:
    assert bench().fact(withdrawal(key))["rule"] == "key.mismatch"


def test_a_key_is_looked_at_before_the_content() -> None:
    made = bench()
    bad = {**manifest(), "apiVersion": "v0"}
    assert made.register(bad, key="other")["rule"] == "key.mismatch"
    assert made.register(bad)["rule"] == "manifest.api_version"


@pytest.mark.parametrize("withdraws", [True, False])
def test_a_record_on_another_partition_than_its_keys_is_refused(withdraws: bool) -> None:
    made = bench(partitions=4)
    right = partition_of(AGENT.encode(), 4)
    made.register(manifest())
    wrong = (right + 1) % 4
    if withdraws:
        fact = made.fact(withdrawal(AGENT.encode(), wrong))
    else:
        fact = made.register(manifest(version="9.0.0"), partition=wrong)
    assert (fact["verdict"], fact["rule"]) == ("rejected", "partition_mismatch")
    assert agent(made)["version"] == "1.2.0"


@pytest.mark.parametrize(
    ("changes", "rule", "path"),
    [
        ({"role": "boss"}, "manifest.role", "/spec/role"),
        ({"capabilities": ["text"]}, "manifest.capability", "/spec/capabilities/0"),
        (
            {"interface": {"inputSchema": {"type": "string"}, "outputSchema": {"type": "object"}}},
            "manifest.schema",
            "/spec/interface/inputSchema",
        ),
    ],
)
def test_a_manifest_that_breaks_a_rule_leaves_the_one_before_in_force(
    changes: Json, rule: str, path: str
) -> None:
    made = bench()
    made.register(manifest())
    before = dict(made.tables[SUMMIT_AGENTS_TABLE.name])
    fact = made.register(manifest(version="1.3.0", **changes))
    assert (fact["verdict"], fact["rule"], fact["fault"]) == ("rejected", rule, "sender")
    assert fact["path"].startswith(path)
    assert fact["message"].startswith(f"{rule}: ")
    assert made.tables[SUMMIT_AGENTS_TABLE.name] == before
    assert made.register(manifest(version="1.3.0"))["rule"] == "manifest.accepted"


def test_manifests_of_one_batch_are_judged_one_after_the_other() -> None:
    made = bench()
    values = [manifest(), manifest(), manifest(**OTHER), manifest(version="2.0.0"), manifest()]
    sent = made.decide(*[made.record(SUMMIT_MANIFESTS, value) for value in values])
    assert [one.value["rule"].partition(".")[2] for one in made.of(SUMMIT_EVENTS, sent)] == [
        "accepted",
        "duplicate",
        "version_conflict",
        "accepted",
        "accepted",
    ]
    assert set(made.rows(SUMMIT_AGENTS_TABLE)) == {AGENT, f"{AGENT}/1.2.0", f"{AGENT}/2.0.0"}


def test_open_json_is_written_on_in_canonical_form() -> None:
    made = bench()
    record = made.record(SUMMIT_MANIFESTS, manifest())
    interface = record.value["spec"]["interface"]
    interface["inputSchema_json"] = interface["inputSchema_json"].replace(":", " : ")
    assert made.fact(record)["manifestHash"] == WORKED_HASH
    row = made.row(SUMMIT_AGENTS_TABLE, AGENT)
    assert row is not None
    assert " " not in row["manifest"]["spec"]["interface"]["inputSchema_json"].replace(": ", "")
    assert summit.manifest_hash(agent(made)["manifest"]) == WORKED_HASH


@pytest.mark.parametrize("text", ["{", '{"type":"object","type":"object"}', '{"type":NaN}', ""])
def test_what_is_no_json_is_refused(text: str) -> None:
    made = bench()
    record = made.record(SUMMIT_MANIFESTS, manifest())
    record.value["spec"]["interface"]["outputSchema_json"] = text
    fact = made.fact(record)
    assert (fact["verdict"], fact["rule"]) == ("rejected", "json.invalid")
    assert len(fact["contentHash"]) == 64


def test_a_manifest_of_another_task_is_seen_by_a_call() -> None:
    """The call lies in the partition of its run, the agent's rows in that of the agent."""
    made = bench(partitions=4)
    made.register(manifest())
    home = partition_of(AGENT.encode(), 4)
    runs = [f"r{n}" for n in range(40) if partition_of(f"r{n}".encode(), 4) != home]
    assert {made.invoke(run)["rule"] for run in runs} == {"call.accepted"}


def test_a_verdict_without_an_agent_says_how_far_the_agents_were_read() -> None:
    made = bench(partitions=4)
    made.indexed = [3, 0, 14, 9]
    fact = made.invoke()
    assert (fact["rule"], fact["agentsSeen"]) == ("agent.unknown", [3, 0, 14, 9])
    assert fact["manifestVersion"] is None
    made.register(manifest())
    made.withdraw()
    fact = made.invoke()
    assert (fact["rule"], fact["agentsSeen"]) == ("agent.withdrawn", [3, 0, 14, 9])
    assert (fact["manifestVersion"], fact["manifestHash"]) == ("1.2.0", WORKED_HASH)


def test_a_call_in_the_batch_of_its_agents_first_manifest_does_not_see_it() -> None:
    """Only what was acknowledged is there, in whichever partitions the two lie."""
    made = bench()
    records = [made.record(SUMMIT_MANIFESTS, manifest()), made.record(SUMMIT_CALLS, invoke())]
    facts = [one.value["rule"] for one in made.of(SUMMIT_EVENTS, made.decide(*records))]
    assert facts == ["manifest.accepted", "agent.unknown"]
    assert made.invoke()["rule"] == "call.accepted", "the runId is free"


@given(values(RECORD), st.booleans())
def test_every_manifest_that_avro_can_carry_gets_one_verdict(value: Json, is_keyed: bool) -> None:
    made = bench()
    key = value["metadata"]["name"] if is_keyed else AGENT
    record = made.message(value, avro=True, topic=SUMMIT_MANIFESTS, key=key)
    fact = made.fact(record)
    assert fact["rule"] == "key.mismatch" or fact["rule"].startswith(("manifest.", "json."))
    assert (fact["verdict"] == "rejected") == (made.rows(SUMMIT_AGENTS_TABLE) == {})
    assert fact["contentHash"] == summit.judge_manifest(record.value).hash


STEPS = st.lists(
    st.none() | st.tuples(st.sampled_from(["1.0.0", "1.1.0"]), st.sampled_from([{}, OTHER])),
    max_size=12,
)
"""Manifests by version and content; None withdraws."""


def expected(steps: list[tuple[str, Json] | None]) -> list[str]:
    """The rules, by a model of its own: the one in force, and what each version stands for."""
    rules: list[str] = []
    known: dict[str, Json] = {}
    latest, registered = None, False
    for step in steps:
        if step is None:
            rules.append("withdrawn" if registered else "not_registered")
            registered = False
        elif registered and step == latest:
            rules.append("duplicate")
        elif known.setdefault(step[0], step[1]) != step[1]:
            rules.append("version_conflict")
        else:
            rules.append("accepted")
            latest, registered = step, True
    return [f"manifest.{rule}" for rule in rules]


@given(STEPS, st.integers(1, 12))
def test_any_order_of_manifests_and_withdrawals(
    steps: list[tuple[str, Json] | None], size: int
) -> None:
    """Whatever the batches are."""
    made = bench()
    records = [
        withdrawal(AGENT.encode())
        if step is None
        else made.record(SUMMIT_MANIFESTS, manifest(version=step[0], **step[1]))
        for step in steps
    ]
    for begin in range(0, len(records), size):
        made.decide(*records[begin : begin + size])
    assert [fact["rule"] for fact in made.facts()] == expected(steps)
    rows = made.rows(SUMMIT_AGENTS_TABLE)
    accepted = {step[0] for step in steps if step is not None}
    assert set(rows) == ({AGENT} if accepted else set()) | {f"{AGENT}/{v}" for v in accepted}
    assert all(row["state"] == "registered" for key, row in rows.items() if key != AGENT)
