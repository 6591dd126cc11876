"""On the engine, with four partitions: what requests ask of other keys is exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import asap, decode, encode, from_json, to_json
from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.records import LogRecord, Output
from streams.ops.topics import create_topics
from streams.protocols.asap.processor import AsapProcessor, updates
from streams.settings import Settings
from tests.examples import example_count
from tests.unit.protocols.asap.processor.requests import manifest
from tests.unit.protocols.asap.processor.support import (
    INDEXER,
    PLANNER,
    SERVICE,
    START_MS,
    STRANGER,
    envelope,
)
from topology.asap import (
    ASAP_ENVELOPES,
    ASAP_ENVELOPES_DLQ,
    ASAP_EVENTS,
    ASAP_INBOX,
    ASAP_LINKS,
    ASAP_LINKS_DLQ,
    ASAP_MANIFESTS,
)
from topology.core import CHANGELOG
from topology.declarations import Topic
from topology.keys import partition_of

Json = dict[str, Any]

IDS = [f"t{n}" for n in range(12)]
KEYS = [None, None, "k0", "k1"]


def requests() -> st.SearchStrategy[list[Json]]:
    """Of a few ids, each at most once; some name each other, or the same key."""
    one = st.builds(
        lambda id, parent, key: envelope(
            "TaskRequest",
            {
                "parent_task_id": None if parent == id else parent,
                "config": None if key is None else {"idempotency_key": key},
            },
            id=id,
            sender=PLANNER,
            recipient=INDEXER,
        ),
        st.sampled_from(IDS),
        st.sampled_from([None, "unknown", *IDS]),
        st.sampled_from(KEYS),
    )
    return st.lists(one, min_size=1, max_size=12, unique_by=lambda value: str(value["id"]))


def record(topic: Topic, key: str, value: Json) -> Output:
    assert topic.record is not None
    return Output(topic.name, key.encode(), encode(topic.record, value))


def sent(value: Json) -> Output:
    return record(
        ASAP_ENVELOPES, asap.task_key(value), from_json(str(ASAP_ENVELOPES.record), value)
    )


def run(outputs: Sequence[Output], stops: set[int], **more: Any) -> list[LogRecord]:
    """All that a log holds in the end, the host restarted before the outputs of these numbers."""
    named = Settings.load({}, **{"partitions": 4, **more})
    log = MemoryLog(lambda: START_MS)
    create_topics(log, named)
    written: list[LogRecord] = []
    with TemporaryDirectory() as folder:
        host = LocalHost(log, lambda: [AsapProcessor()], named, Path(folder))
        log.on_append = written.append
        for n, output in enumerate(outputs):
            if n in stops:
                for task in host.tasks:  # one hop, so that questions are open at the restart
                    task.step()
                host.restart()
            log.append_at(output, START_MS + n)
        host.run()
        host.close()
    return written


def facts(written: Sequence[LogRecord]) -> list[Json]:
    return [
        to_json(str(ASAP_EVENTS.record), decode(r.value, str(ASAP_EVENTS.record)).value)
        for r in written
        if r.topic == ASAP_EVENTS.name
    ]


def is_held(written: Sequence[LogRecord]) -> bool:
    """Whether a key is held in the end, as the changelog says."""
    rows = {r.key: r.value for r in written if r.topic == CHANGELOG.name}
    pending_keys = [
        key for key in rows if key is not None and key.startswith((b"asap-adm", b"asap-held"))
    ]
    return any(rows[key] is not None for key in pending_keys)


@settings(max_examples=example_count(25), deadline=None)
@given(requests(), st.sets(st.integers(0, 11), max_size=3))
def test_each_request_gets_one_verdict_and_each_key_one_task(
    values: list[Json], stops: set[int]
) -> None:
    written = run([sent(value) for value in values], stops)
    facts_by_id = {fact["envelope_id"]: fact for fact in facts(written)}
    assert len(facts(written)) == len(facts_by_id) == len(values)
    assert not is_held(written)
    created = {id for id, fact in facts_by_id.items() if fact["rule"] == "task_created"}
    delivered = Counter(r.key for r in written if r.topic == ASAP_INBOX.name)
    assert delivered == ({INDEXER.encode(): len(created)} if created else {})
    holders: dict[str, set[str]] = {}
    for value in values:
        fact = facts_by_id[value["id"]]
        key = (value["payload"]["config"] or {}).get("idempotency_key")
        if key is not None:
            holders.setdefault(key, set()).add(fact["task_id"])
        if fact["rule"] == "task_created":
            _check_depth(value, fact, facts_by_id)
        else:
            assert fact["rule"] == "same_idempotency_key"
            assert fact["task_id"] in created
    assert all(len(tasks) == 1 for tasks in holders.values())


def _check_depth(value: Json, fact: Json, facts_by_id: dict[str, Json]) -> None:
    parent, figures = value["payload"]["parent_task_id"], fact["figures"]
    if parent is None:
        assert (figures["depth"], figures["parent_known"]) == (0, None)
    elif figures["parent_known"]:
        assert figures["depth"] == facts_by_id[parent]["figures"]["depth"] + 1
    else:
        assert figures["depth"] == 1


def test_a_manifest_that_was_there_before_is_seen_in_every_partition() -> None:
    given_manifest = record(ASAP_MANIFESTS, STRANGER, manifest(STRANGER))
    to_stranger = [{**requested(id), "recipient": STRANGER} for id in IDS]
    unknown = [requested(f"u{n}") for n in range(12)]
    values = [given_manifest, *(sent(value) for value in [*to_stranger, *unknown])]
    by_id = {f["envelope_id"]: f for f in facts(run(values, {5, 20}))}
    assert {by_id[id]["rule"] for id in IDS} == {"task_created"}
    assert {by_id[f"u{n}"]["rule"] for n in range(12)} == {"agent_not_found"}
    assert by_id[None]["rule"] == "manifest_accepted"


def test_an_envelope_on_another_partition_is_a_fact_and_nothing_else() -> None:
    right = sent(requested("t0"))
    there = partition_of(b"t0", 4)
    wrong = [right._replace(partition=there ^ 1), right._replace(partition=there ^ 2), right]
    written = run(wrong, set())
    facts_there = sorted(facts(written), key=lambda fact: str(fact["rule"]))
    assert [f["rule"] for f in facts_there] == [
        "partition_mismatch",
        "partition_mismatch",
        "task_created",
    ]
    assert facts_there[0]["asap_error"] == "asap:protocol/malformed_envelope"
    assert {f["figures"]["expected"] for f in facts_there[:2]} == {there}
    assert len([r for r in written if r.topic == ASAP_INBOX.name]) == 1


def requested(id: str) -> Json:
    return envelope("TaskRequest", id=id, sender=PLANNER, recipient=INDEXER)


def test_a_withdrawn_agent_is_not_there_any_more() -> None:
    values = [
        record(ASAP_MANIFESTS, STRANGER, manifest(STRANGER)),
        record(ASAP_MANIFESTS, INDEXER, manifest(INDEXER)),
        sent(requested("t0")),
    ]
    gone = Output(ASAP_MANIFESTS.name, INDEXER.encode(), None)
    facts_there = facts(run([*values, gone, sent(requested("t1"))], {3, 4}))
    assert sorted(f["rule"] for f in facts_there) == [
        "agent_not_found",
        "manifest_accepted",
        "manifest_accepted",
        "manifest_withdrawn",
        "task_created",
    ]


def test_a_link_that_cannot_be_read_is_set_aside() -> None:
    keyed = requested("t0")
    keyed["payload"]["config"] = {"idempotency_key": "k"}
    spoiled = [Output(ASAP_LINKS.name, b"t0", b"no link", partition=p) for p in range(4)]
    written = run([*spoiled, sent(keyed)], set())
    assert [f["rule"] for f in facts(written)] == ["task_created"]
    assert len([r for r in written if r.topic == ASAP_LINKS_DLQ.name]) == 4


def test_a_held_record_that_causes_too_much_is_refused_and_holds_up_nobody() -> None:
    """The state that is asked for has grown beyond what one record may hold."""
    task_request = requested("T")
    task_request["payload"]["config"] = {"idempotency_key": "k", "state_mode": "event-sourced"}
    grown = [saved(f"s{n}", {"patch": {f"m{n}": "x" * 800_000}}) for n in range(6)]
    query = {"task_id": "T", "version": None}
    read = envelope("StateQuery", query, id="q", sender=INDEXER, recipient=SERVICE)
    message = envelope("MessageSend", {"task_id": "T", "sender": INDEXER}, id="m")
    written = run(
        [sent(value) for value in [task_request, *grown, read, message]], set(), partitions=1
    )
    facts_by_id = {f["envelope_id"]: f for f in facts(written)}
    assert list(facts_by_id) == ["T", *(f"s{n}" for n in range(6)), "q", "m"]
    refused = facts_by_id.pop("q")
    assert (refused["rule"], refused["fault"]) == ("envelope_too_large", "service")
    assert refused["cause"] == "asap.envelopes/0/7"
    assert {f["verdict"] for f in facts_by_id.values()} == {"accepted"}
    assert facts_by_id["m"]["sequence"] == 8
    assert not is_held(written)
    assert not [r for r in written if r.topic == ASAP_LINKS_DLQ.name]


def test_a_held_record_that_cannot_be_decided_is_set_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(case: object, change: object) -> None:
        raise RuntimeError("a fault of this version")

    monkeypatch.setattr(updates, "_HANDLERS", {**updates._HANDLERS, "TaskUpdate": fail})
    task_request = requested("T")
    task_request["payload"]["config"] = {"idempotency_key": "k"}
    message = envelope("MessageSend", {"task_id": "T", "sender": INDEXER}, id="m")
    values = [task_request, saved("s", {"data": {}}), message]
    written = run([sent(value) for value in values], set(), partitions=1)
    assert [f["rule"] for f in facts(written)] == ["task_created", "message_forwarded"]
    (dead,) = [r for r in written if r.topic == ASAP_ENVELOPES_DLQ.name]
    assert (dead.key, dead.value) == (b"T", sent(values[1]).value)
    assert dict(dead.headers)["kafka_dlt-original-offset"] is not None
    assert not is_held(written)


def saved(id: str, snapshot: Json) -> Json:
    payload = {"task_id": "T"}
    extensions = {asap.EXT_SNAPSHOT: snapshot}
    return envelope("TaskUpdate", payload, id=id, recipient=SERVICE, extensions=extensions)
