"""A task that the worker's copy of the cache can answer is answered in the step that accepts it."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import encode, from_json, sap, to_json
from schemas.sap import protocol_time
from streams.engine.local import LocalHost
from streams.engine.memory import MemoryLog
from streams.engine.processor import AvroValue
from streams.engine.records import LogRecord, Output
from streams.ops.topics import create_topics
from streams.play.scenario import play
from streams.protocols.sap.constitution import constitution_of
from streams.sdk.local_bus.engine import sap_processors
from streams.settings import Settings
from tests.examples import example_count
from tests.unit.protocols.sap.cache.support import Cache, draft
from tests.unit.protocols.sap.processor import support
from tests.unit.sdk.local_bus.support import START_MS, result, task
from topology.sap import (
    SAP_ACKS,
    SAP_CACHE,
    SAP_CACHE_TABLE,
    SAP_LEARNING_SIGNALS,
    SAP_LOOKUPS,
    SAP_OUTCOMES,
    SAP_RESULTS,
    SAP_STORED_VERSIONS,
    SAP_TASK_STATES_TABLE,
    SAP_TASKS,
    SAP_VERDICTS,
    sap_key,
    sap_version,
)

Json = dict[str, Any]
RECORD = "headrace.sap.SapCacheRecord"
ASK = support.task("prefer", taskId=support.uuid(2))
KEY = str(sap.cache_key(ASK, constitution_of(Settings().as_work()).volatile_keys, 0).key)


def copied(count: int) -> tuple[dict[str, AvroValue], dict[str, AvroValue]]:
    """Return the rows of so many versions of the answer, and the verdicts on them."""
    cache = Cache()
    rows, verdicts = {}, {}
    for number in range(1, count + 1):
        answer = draft(f"T{number}", 0, number) | {"cacheKey": KEY}
        (verdict,) = cache.lookup("STORE", f"T{number}", 1000 * number, KEY, draft=answer)
        name = sap_key(KEY, sap_version(number))
        verdicts[name] = verdict | {"position": f"sap.verdicts/0/{number}"}
    for row in cache.versions(KEY):
        rows[sap_key(KEY, sap_version(row["version"]))] = row
    return rows, verdicts


class Copying(support.Bench):
    """A processor whose worker has a copy of the cache."""

    def __init__(self, count: int) -> None:
        super().__init__(sap_cache_copy=True)
        self.cache_rows, self.verdicts = copied(count)
        self.copied[SAP_CACHE_TABLE.name] = self.cache_rows
        self.copied[SAP_STORED_VERSIONS.name] = self.verdicts

    def name(self, number: int) -> str:
        return sap_key(KEY, sap_version(number))

    def ask(self, **changes: Any) -> None:
        self.task(support.merged(ASK, changes))

    def only_hit(self) -> Json:
        """Return the only verdict, of a task that was not looked up."""
        assert self.of(SAP_LOOKUPS) == []
        (verdict,) = self.of(SAP_VERDICTS)
        return verdict.json


def test_a_hit_and_its_outcome_are_written_with_the_acknowledgement() -> None:
    bench = Copying(3)
    bench.ask()
    (ack,), verdict, (outcome,) = bench.of(SAP_ACKS), bench.only_hit(), bench.of(SAP_OUTCOMES)
    assert {one.cause for one in bench.sent} == {ack.cause}
    row = bench.cache_rows[bench.name(3)]
    assert verdict["cacheKey"] == ack.json["accepted"]["cacheKey"] == KEY
    assert (verdict["version"], verdict["recordSha256"]) == (3, row["recordSha256"])
    assert verdict["lookupId"] == "sap.verdicts/0/3"
    assert verdict["record"] == to_json(RECORD, row)
    assert (outcome.json["status"], outcome.json["output"]) == ("SUCCEEDED", 3)
    assert outcome.json["meta"]["headrace"]["rule"] == "cache_hit"
    (signal,) = bench.of(SAP_LEARNING_SIGNALS)
    assert (signal.value["cacheHit"], signal.value["computed"]) == (True, False)
    state = bench.row(SAP_TASK_STATES_TABLE, support.uuid(2))
    assert state is not None
    assert (state["cacheState"], state["hitVersion"], state["state"]) == ("hit", 3, "SUCCEEDED")


def test_the_hit_changes_nothing_when_it_is_read_again() -> None:
    bench = Copying(1)
    bench.ask()
    (verdict,) = bench.of(SAP_VERDICTS)
    tables = {name: dict(rows) for name, rows in bench.tables.items()}
    assert bench.decide(bench.message(verdict.value, topic=SAP_VERDICTS, avro=True)) == []
    assert bench.tables == tables


def test_a_copy_is_used_only_where_it_is_switched_on() -> None:
    bench = Copying(1)
    bench.settings["SAP_CACHE_COPY"] = False
    bench.ask()
    assert bench.of(SAP_VERDICTS) == []
    assert len(bench.of(SAP_LOOKUPS)) == 1


@pytest.mark.parametrize("missing", ["row", "verdict", "hash", "forged", "forged verdict"])
def test_what_does_not_count_is_looked_up(missing: str) -> None:
    bench = Copying(1)
    name = bench.name(1)
    if missing == "row":
        del bench.cache_rows[name]
    elif missing == "verdict":
        del bench.verdicts[name]
    elif missing == "hash":
        bench.verdicts[name]["recordSha256"] = None
    elif missing == "forged":
        row = bench.cache_rows[name] | {"output_json": '"forged"'}
        row["recordSha256"] = sap.record_sha256(to_json(RECORD, row))
        bench.cache_rows[name] = row
    else:
        bench.verdicts[name]["recordSha256"] = "0" * 64
    bench.ask()
    assert (bench.of(SAP_VERDICTS), bench.of(SAP_OUTCOMES)) == ([], [])
    assert [one.value["op"] for one in bench.of(SAP_LOOKUPS)] == ["READ"]


def test_a_copy_that_lags_answers_from_what_it_has() -> None:
    bench = Copying(3)
    del bench.cache_rows[bench.name(3)], bench.verdicts[bench.name(3)]
    bench.ask()
    assert bench.only_hit()["version"] == 2


def test_a_row_without_its_verdict_after_the_newest_is_looked_up() -> None:
    bench = Copying(3)
    del bench.verdicts[bench.name(3)]
    bench.ask()
    assert (bench.of(SAP_VERDICTS), len(bench.of(SAP_LOOKUPS))) == ([], 1)


def test_an_answer_whose_first_version_was_left_out_is_looked_up() -> None:
    bench = Copying(3)
    del bench.cache_rows[bench.name(1)], bench.verdicts[bench.name(1)]
    bench.ask()
    assert (bench.of(SAP_VERDICTS), len(bench.of(SAP_LOOKUPS))) == ([], 1)


def test_a_version_that_an_earlier_release_stored_counts_by_the_one_after_it() -> None:
    bench = Copying(2)
    bench.verdicts[bench.name(1)]["recordSha256"] = None
    bench.ask()
    assert [one["version"] for one in bench.only_hit()["candidates"]] == [2, 1]


def test_an_older_version_must_be_the_one_that_the_next_names() -> None:
    bench = Copying(2)
    bench.verdicts[bench.name(1)]["recordSha256"] = "1" * 64
    bench.ask()
    assert [one["version"] for one in bench.only_hit()["candidates"]] == [2]


def test_an_answer_that_no_record_can_hold_is_looked_up() -> None:
    bench = Copying(1)
    sent = bench.too_large(bench.record(SAP_TASKS, ASK), SAP_VERDICTS, 10**8)
    (ack,) = bench.of(SAP_ACKS, sent)
    assert ack.json["verdict"] == "accepted"
    assert [one.value["op"] for one in bench.of(SAP_LOOKUPS, sent)] == ["READ"]


POLICIES = st.fixed_dictionaries(
    {"mode": st.sampled_from(["prefer", "only"])},
    optional={"maxAgeSec": st.sampled_from([0, 2, 60]), "mustAlign": st.booleans()},
)
STEPS = st.tuples(
    st.integers(0, 3),  # seconds since the step before
    st.sampled_from(["ledger", "plan"]),
    POLICIES,
    st.sampled_from(["No PII", "Cite sources"]),
    st.booleans(),  # whether an agent answers at once, if it is asked
)


def _lines(steps: list[Any]) -> list[str]:
    lines, at = [], START_MS
    for number, (after, document, policy, constraint, answers) in enumerate(steps, 1):
        at += 1000 * after
        context = {
            "pressureLevel": "consulted",
            "constraints": [constraint],
            "cachePolicy": policy,
        }
        value = task(number, payload={"document": document}, constitutionalContext=context)
        lines.append(_line("sap.tasks", at, value))
        if answers:
            lines.append(_line("sap.results", at, result(number, output={"by": document})))
    return lines


def _line(topic: str, at_ms: int, value: Json) -> str:
    return json.dumps({"topic": topic, "timestamp": protocol_time(at_ms), "value": value})


def _contents(lines: list[str], **changes: Any) -> tuple[list[Json], list[Json], Json]:
    """Return the outcomes, the versions stored, and the last state of each task.

    Without causes, which are other positions where fewer records are written, and without the
    hashes of records that name them.
    """
    named = Settings(partitions=1, **changes)
    records = [one for one in play(lines, named, sap_processors) if "topic" in one]
    outcomes = []
    for outcome in (one["value"] for one in records if one["topic"] == "sap.outcomes"):
        outcome["meta"]["headrace"].pop("cause")
        outcome["meta"]["headrace"].get("cacheRecord", {}).pop("recordSha256", None)
        outcomes.append(outcome)
    versions = [
        {name: one["value"][name] for name in ("cacheKey", "version", "taskId", "output")}
        for one in records
        if one["topic"] == "sap.cache"
    ]
    states = {
        one["value"]["taskId"]: one["value"] for one in records if one["topic"] == "sap.task-states"
    }
    return sorted(outcomes, key=lambda one: one["taskId"]), versions, states


@settings(max_examples=example_count(60), deadline=None)
@given(st.lists(STEPS, min_size=2, max_size=12))
def test_tasks_get_the_same_answers_with_a_copy_and_without(steps: list[Any]) -> None:
    lines = _lines(steps)
    assert _contents(lines, sap_cache_copy=True) == _contents(lines)


@settings(max_examples=example_count(30), deadline=None)
@given(st.lists(STEPS, min_size=2, max_size=12), st.integers(0, 9000))
def test_tasks_get_the_same_answers_with_any_limit_of_the_copy(
    steps: list[Any], limit: int
) -> None:
    """Some thousand bytes are one or two versions with their verdicts."""
    lines = _lines(steps)
    limited = _contents(lines, sap_cache_copy=True, sap_cache_copy_bytes=limit)
    assert limited == _contents(lines)


def _written(steps: list[Any], batch: int, stops: set[int]) -> list[LogRecord]:
    """Return what is written about the steps, the host restarted at the stops."""
    named = Settings(partitions=1, batch=batch, sap_cache_copy=True)
    log = MemoryLog(lambda: START_MS)
    create_topics(log, named)
    written: list[LogRecord] = []
    with TemporaryDirectory() as folder:
        host = LocalHost(log, sap_processors, named, Path(folder))
        log.on_append = written.append
        for number, line in enumerate(map(json.loads, _lines(steps))):
            topic = SAP_TASKS if line["topic"] == SAP_TASKS.name else SAP_RESULTS
            value = encode(topic.record or "", from_json(topic.record or "", line["value"]))
            record = Output(topic.name, line["value"]["taskId"].encode(), value)
            log.append_at(record, START_MS + 1000 * number)
            host.run()
            if number in stops:
                host.restart()
        host.close()
    facts = {topic.name for topic in (SAP_ACKS, SAP_VERDICTS, SAP_OUTCOMES, SAP_CACHE)}
    return [record for record in written if record.topic in facts]


@pytest.mark.slow
@settings(max_examples=example_count(20), deadline=None)
@given(st.lists(STEPS, min_size=2, max_size=8), st.integers(1, 5), st.sets(st.integers(0, 8)))
def test_restarts_change_nothing(steps: list[Any], batch: int, stops: set[int]) -> None:
    """Copies and tables are read anew from the log at each stop."""
    assert _written(steps, batch, stops) == _written(steps, 1000, set())
