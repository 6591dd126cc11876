"""The fold of `asap.events` to the table `asap.tasks`.

A fact holds its accepted envelope, so the fold reads the facts alone.  It also tracks which
versions of snapshots exist.

Source: ASAP guide, 4.4, 5.3, 5.4 and 5.7.
"""

from __future__ import annotations

from typing import Any

import orjson

from schemas import asap
from streams.protocols.asap.processor.task import RESPONSE_IN_ROW
from streams.protocols.asap.processor.updates import INPUT_REQUIRED
from streams.replay.fold.fold import Commands, Fact, Fold, Row
from topology.asap import ASAP_EVENTS, ASAP_TASKS_TABLE
from topology.declarations import Topic
from topology.keys import composite
from topology.machines.asap_task import MACHINE

_WITHOUT_UPDATE = frozenset({"state_read", "state_saved", "message_forwarded", "artifact_noted"})
"""The rules of facts that do not change `updated_at`."""
_OPEN_MEMBERS = ("result_json", "final_state_json", "metrics_json")
_VERSIONS = "_versions"


def row_key(topic: Topic, fact: Fact) -> str | None:
    moves = fact["sequence"] is not None or fact["kind"] == "expired"
    return composite(fact["task_id"]) if moves else None


def step(row: Row | None, topic: Topic, fact: Fact, commands: Commands) -> Row | None:
    if fact["rule"] == "task_created":
        return _initial_row(fact)
    if row is None:
        return None
    after = {**row, "cause": fact["cause"]}
    if fact["kind"] == "expired":
        after["events_available"] = False
    else:
        after |= {"sequence": fact["sequence"], "status": fact["status"]}
    if fact["transitions"] and fact["status"] != INPUT_REQUIRED:
        after["input_request_json"] = None
    if fact["kind"] == "timeout":
        after |= {"error_code": fact["asap_error"], "updated_at": fact["at"]}
    if fact["kind"] == "envelope":
        _apply_envelope(after, fact)
    _apply_snapshots(after, fact)
    return after


def _initial_row(fact: Fact) -> Row:
    envelope, figures = fact["envelope"], orjson.loads(fact["figures_json"])
    payload = envelope["payload"][1]
    config_json = payload["config_json"]
    config = asap.task_config(None if config_json is None else orjson.loads(config_json))
    return {
        "task_id": fact["task_id"],
        "conversation_id": payload["conversation_id"],
        "parent_task_id": payload["parent_task_id"],
        "depth": figures["depth"],
        "requester": envelope["sender"],
        "worker": envelope["recipient"],
        "skill_id": payload["skill_id"],
        "status": fact["status"],
        "progress_json": None,
        "input_request_json": None,
        "config_json": config_json,
        "created_at": fact["at"],
        "updated_at": fact["at"],
        "sequence": fact["sequence"],
        "state_mode": config.state_mode,
        "event_retention_hours": config.event_retention_hours,
        "events_available": True,
        "timeout_at": fact["at"] + figures["timeout_ms"],
        "idempotency_key": config.idempotency_key,
        "trace_id": fact["trace_id"],
        "aliases": [],
        "response": None,
        "error_code": None,
        "snapshot_version": None,
        "snapshot_mark": 0,
        "request_hash": fact["envelope_hash"],
        "cause": fact["cause"],
        _VERSIONS: [],
    }


def _apply_envelope(row: Row, fact: Fact) -> None:
    record, payload = fact["envelope"]["payload"]
    kind = record.rpartition(".Asap")[2]
    if fact["rule"] not in _WITHOUT_UPDATE and (kind != "MessageSend" or fact["transitions"]):
        row["updated_at"] = fact["at"]
    if kind not in ("TaskUpdate", "TaskResponse"):
        return
    if payload["task_id"] not in (row["task_id"], *row["aliases"]):
        row["aliases"] = [*row["aliases"], payload["task_id"]]
    if fact["rule"] == "state_saved":
        return
    if payload.get("progress_json") is not None:
        row["progress_json"] = payload["progress_json"]
    if row["status"] == INPUT_REQUIRED and payload.get("input_request_json") is not None:
        row["input_request_json"] = payload["input_request_json"]
    if kind == "TaskResponse" and payload["status"] in MACHINE.terminal:
        size = sum(len(payload[name] or "") for name in _OPEN_MEMBERS)
        size += len(fact["envelope"]["extensions_json"] or "")
        if size <= RESPONSE_IN_ROW:
            row["response"] = fact["envelope"]


def _apply_snapshots(row: Row, fact: Fact) -> None:
    saved, versions = fact["snapshot_version"], set(row[_VERSIONS])
    deleted = _deleted_versions(fact)
    if saved is not None:
        versions.add(saved)
        row["snapshot_mark"] = max(row["snapshot_mark"], saved)
    if saved is not None or deleted:
        versions -= set(deleted)
        row[_VERSIONS] = sorted(versions)
        row["snapshot_version"] = max(versions, default=None)


def _deleted_versions(fact: Fact) -> list[int]:
    figures: dict[str, Any] = orjson.loads(fact["figures_json"])
    versions: list[int] = figures.get("deleted", [])
    return versions


FOLD = Fold(ASAP_TASKS_TABLE, (ASAP_EVENTS,), row_key, step)
