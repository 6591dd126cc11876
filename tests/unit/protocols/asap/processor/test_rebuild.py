"""The facts of a task are enough to rebuild its rows (ASAP guide, 5.7), by a fold without rules."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import asap, to_json
from streams.engine.processor import AvroValue
from tests.examples import example_count
from tests.unit.protocols.asap.processor.support import Bench, Json
from tests.unit.protocols.asap.processor.test_any_record import sound
from topology.asap import ASAP_EVENTS, ASAP_RESPONSES, ASAP_SNAPSHOTS_TABLE, ASAP_TASKS_TABLE

QUIET = ("state_read", "state_saved", "message_forwarded", "artifact_noted")
Rows = tuple[Json, dict[int, Json]]


def created(fact: Json) -> Json:
    envelope = fact["envelope"]
    payload, config = envelope["payload"], asap.task_config(envelope["payload"]["config"])
    return {
        "task_id": fact["task_id"],
        "conversation_id": payload["conversation_id"],
        "parent_task_id": payload["parent_task_id"],
        "depth": fact["figures"]["depth"],
        "requester": envelope["sender"],
        "worker": envelope["recipient"],
        "skill_id": payload["skill_id"],
        "status": "submitted",
        "progress": None,
        "input_request": None,
        "config": payload["config"],
        "created_at": fact["at"],
        "updated_at": fact["at"],
        "sequence": 1,
        "state_mode": config.state_mode,
        "event_retention_hours": config.event_retention_hours,
        "events_available": True,
        "timeout_at": fact["at"] + fact["figures"]["timeout_ms"],
        "idempotency_key": config.idempotency_key,
        "trace_id": envelope["trace_id"],
        "aliases": [],
        "response": None,
        "error_code": None,
        "snapshot_version": None,
        "snapshot_mark": 0,
        "request_hash": fact["envelope_hash"],
        "cause": fact["cause"],
    }


def rebuilt(facts: list[Json]) -> Rows:
    """The task's row and its snapshots by version."""
    row = created(facts[0])
    versions: dict[int, Json] = {}
    for fact in facts[1:]:
        row |= {"sequence": fact["sequence"], "status": fact["status"], "cause": fact["cause"]}
        if fact["rule"] not in QUIET:
            row["updated_at"] = fact["at"]
        if fact["kind"] == "timeout":
            row |= {"error_code": fact["asap_error"], "input_request": None}
            continue
        envelope = fact["envelope"]
        if fact["rule"] != "state_saved":
            update_row(row, envelope)
        name = envelope["payload"].get("task_id")
        if envelope["payload_type"] in ("TaskUpdate", "TaskResponse") and name != row["task_id"]:
            row["aliases"] = list(dict.fromkeys([*row["aliases"], name]))
        if row["status"] != "input_required":
            row["input_request"] = None
        if fact["rule"] == "response_recorded":
            row["response"] = envelope
        save(row, versions, fact)
    return row, versions


def update_row(row: Json, envelope: Json) -> None:
    if envelope["payload_type"] == "TaskUpdate":
        for name in ("progress", "input_request"):
            row[name] = envelope["payload"][name] or row[name]


def save(row: Json, versions: dict[int, Json], fact: Json) -> None:
    change, version = asap.change_of(fact["envelope"]), fact["snapshot_version"]
    for deleted in fact["figures"].get("deleted", ()):
        del versions[deleted]
    if version is not None:
        old = fact["figures"].get("restored_from")
        changes: dict[str, Any] = {} if change is None else change._asdict()
        sourced = row["state_mode"] == "event-sourced"
        derived = asap.derived_id(fact["cause"], 1, fact["at"])
        versions[version] = {
            "id": f"{row['task_id']}@{version}" if sourced else changes.get("id") or derived,
            "version": version,
            "data": versions[old]["data"] if change is None else change.data,
            "checkpoint": changes.get("checkpoint", False),
            "restored_from": old,
        }
        row["snapshot_mark"] = max(row["snapshot_mark"], version)
    row["snapshot_version"] = max(versions, default=None)


def fact_json(value: AvroValue) -> Json:
    """A fact in JSON, its time as ms."""
    return {**to_json("dev.headrace.asap.AsapEvent", value), "at": value["at"]}


@settings(max_examples=example_count(200), deadline=None)
@given(st.lists(sound(), min_size=4, max_size=20))
def test_the_facts_are_enough(line: list[Json]) -> None:
    bench = Bench()
    bench.request("T")
    for envelope in line:
        if envelope["payload_type"] != "McpResourceData" or envelope["correlation_id"]:
            bench.put(envelope, bench.now + 100)
    facts = [fact_json(one.value) for one in bench.of(ASAP_EVENTS)]
    responses = bench.rows(ASAP_RESPONSES)
    for row in bench.rows(ASAP_TASKS_TABLE).values():
        task_facts = [
            f for f in facts if f["task_id"] == row["task_id"] and f["sequence"] is not None
        ]
        if row["state_mode"] == "event-sourced":
            continue  # what a restore brings back there is tested against the replay
        task, versions = rebuilt(task_facts)
        live = to_json("dev.headrace.asap.AsapTask", row)
        times = {name: row[name] for name in ("created_at", "updated_at", "timeout_at")}
        assert task == {**live, **times}
        assert responses == {}
        snapshots = bench.rows(ASAP_SNAPSHOTS_TABLE).values()
        all_snapshots = [to_json("dev.headrace.asap.AsapSnapshot", s) for s in snapshots]
        mine = {s["version"]: s for s in all_snapshots if s["task_id"] == row["task_id"]}
        assert versions == {v: {name: s[name] for name in versions[v]} for v, s in mine.items()}
