"""Rows, inboxes, RTES and lineage hold what the facts come to: that, once, and nothing else.

Source: Summit guide, 5.2 to 5.7.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from hashlib import sha256

import rfc8785

from tests.e2e.findings import differences, repeated
from tests.e2e.outputs import Json
from tests.e2e.summit_fold import Fold
from tests.e2e.summit_history import Logged
from topology.core import LINEAGE_EDGES, RTES_RAW
from topology.summit import SUMMIT_AGENTS, SUMMIT_EVENTS, SUMMIT_INBOX, SUMMIT_RUNS

LATE_MS = 10_000
"""How long after its time a timer may fire."""


def check(history: Logged, fold: Fold) -> Iterator[str]:
    yield from _rows(history, fold)
    yield from _delivered(history, fold)
    yield from _reported(history, fold)
    yield from _drawn(history, fold)
    yield from _timely(history, fold)


def _rows(history: Logged, fold: Fold) -> Iterator[str]:
    rows = history.rows(SUMMIT_RUNS)
    expected = {id: _worded(run.row, rows.get(id)) for id, run in fold.runs.items()}
    yield from differences("row of run", rows, expected)
    agent_rows: dict[str, list[Json]] = defaultdict(list)
    for entry in history.of(SUMMIT_AGENTS):
        agent_rows[entry.text_key].append(entry.value)
    yield from differences("rows of agent", agent_rows, fold.registry.rows())


def _worded(row: Json, actual: Json | None) -> Json:
    """With the words of an error as they are, where the guide leaves them to the service."""
    error, words = row.get("error"), (actual or {}).get("error")
    if error is None or words is None or "message" in error:
        return row
    rule, errors = error["data"]["rule"], error["data"].get("errors")
    message = f"{rule}: "
    if errors:
        message += f"{errors[0]['path']}: {errors[0]['keyword']}"
    fits = words["message"] == message if errors else words["message"].startswith(message)
    data = dict(error["data"])
    if "path" in words.get("data", {}):
        data["path"] = words["data"]["path"]
    rendered = words["message"] if fits else message
    return {**row, "error": {**error, "message": rendered, "data": data}}


def _delivered(history: Logged, fold: Fold) -> Iterator[str]:
    inbox = history.of(SUMMIT_INBOX)
    yield from repeated("the delivery", (entry.headers["ce_id"] for entry in inbox))
    deliveries = Counter(
        _text(entry.cause, entry.text_key, entry.headers["ce_id"].decode(), entry.value)
        for entry in inbox
    )
    owed = Counter(_text(*promise) for promise in fold.promises)
    yield from (
        f"the inbox has {n} too many of {expected}" for expected, n in (deliveries - owed).items()
    )
    yield from (f"the inbox lacks {n} of {expected}" for expected, n in (owed - deliveries).items())


def _text(cause: str, agent_id: str, id: str, call: Json) -> str:
    return f"{id} by {cause} to {agent_id}: {rfc8785.dumps(call).decode()}"


def _reported(history: Logged, fold: Fold) -> Iterator[str]:
    events: dict[str, list[Json]] = defaultdict(list)
    for entry in history.of(RTES_RAW):
        if entry.value.get("origin") == "summit":
            events[entry.value["event_id"]].append(entry.value)
    owed: dict[str, list[Json]] = defaultdict(list)
    for report in fold.reports:
        name = f"headrace:summit:{report.event_id}:{report.n}"
        event: Json = {"event_id": str(uuid.uuid5(uuid.NAMESPACE_URL, name)), "origin": "summit"}
        event |= {"session_id": report.session, "payload": report.payload}
        owed[event["event_id"]].append(event)
    yield from differences("RTES event", events, owed)


def _drawn(history: Logged, fold: Fold) -> Iterator[str]:
    drawn: Counter[tuple[str, tuple[str, str, str]]] = Counter()
    for entry in history.of(LINEAGE_EDGES):
        value = entry.value
        ends = value["from_node"], value["relation"], value["to_node"]
        if not ends[0].startswith("summit:"):
            continue
        if value["edge_id"] != sha256("|".join(ends).encode()).hexdigest():
            yield f"the edge {ends} has another's id"
        if value["cause"] != entry.cause:
            yield f"the edge {ends} is by {value['cause']} and by {entry.cause}"
        drawn[(value["cause"], ends)] += 1
    owed = Counter(fold.edges)
    yield from (f"{cause} does not draw {edge}" for cause, edge in owed - drawn)
    yield from (f"{cause} draws {edge}" for cause, edge in drawn - owed)


def _timely(history: Logged, fold: Fold) -> Iterator[str]:
    """Nothing stays open when its time is over."""
    end = max((fact["at"] for fact in history.values(SUMMIT_EVENTS)), default=0) - LATE_MS
    for id, run in fold.runs.items():
        if run.open and run.row["dueAt"] < end:
            yield f"the run {id} is open though its time was over at {run.row['dueAt']}"
