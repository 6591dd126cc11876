"""The projection of the records of Summit's topics to rows.

| key                                            | value                                           |
|------------------------------------------------|-------------------------------------------------|
| summit fact, eventId                           | SummitEvent as on its topic                     |
| summit of run, runId, partition, offset        | key of one of these                             |
| summit of agent, agentId, partition, offset    | the same, of facts about its manifests          |
| summit input, runId                            | key of the fact that accepted its call          |
| summit output, runId                           | key of the fact that completed it               |
| summit end, runId                              | nothing, once row and fact of its end are there |
| summit run, runId                              | SummitRun as on its topic                       |
| summit all, createdAt, runId                   | key of the run's row                            |
| summit by, filter, value, createdAt, runId     | the same                                        |
| summit queue, agentId, createdAt, runId        | nothing, while the run is queued                |
| summit count, agentId                          | how many runs are in which state, as JSON       |
| summit last reply, agentId                     | when its last accepted reply came (ms)          |
| summit totals, runId                           | SummitTreeTotals as on its topic                |
| summit agent, agentId                          | SummitAgent as on its topic, the current one    |
| summit version, agentId, version               | SummitAgent as on its topic                     |
| summit tool, agentId, name                     | a tool of a registered agent, as JSON           |

`streams.protocols.summit.queries.invoked` has the rows of its index.
A fact's partition and offset are its own.  An eventId names the record that a verdict is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from schemas.projection import Projection
from schemas.summit.words import TERMINAL
from streams.engine.records import Record
from streams.protocols.summit.queries import invoked
from streams.protocols.summit.verdicts import FACTS
from streams.views.changes import Cell, WriteBatch
from streams.views.decoded import decode_members
from streams.views.index import Index
from streams.views.keys import key, text_key
from streams.views.projection import Apply, put_once
from streams.views.service.open_work import OpenWork
from streams.views.values import json_of
from topology.declarations import Topic
from topology.keys import split
from topology.summit import (
    SUMMIT_AGENTS,
    SUMMIT_AUTO_CALLS_DLQ,
    SUMMIT_CALLS_DLQ,
    SUMMIT_EVENTS,
    SUMMIT_INBOX,
    SUMMIT_MANIFESTS_DLQ,
    SUMMIT_REPLIES_DLQ,
    SUMMIT_RUNS,
    SUMMIT_TREE_DLQ,
    SUMMIT_TREES,
)

REGISTERED, QUEUED = "registered", "queued"
FACT, RUN, AGENT = key("summit fact"), key("summit run"), key("summit agent")
VERSION, TOOL, QUEUE = key("summit version"), key("summit tool"), key("summit queue")
RUNS = Index(
    all=key("summit all"),
    of=key("summit by"),
    fixed=("parentRunId", "traceId", "caller", "agentId", "kind"),
    state="state",
    created_at="createdAt",
    id="runId",
)
OF_RUN, _OF_AGENT = key("summit of run"), key("summit of agent")
RUN_WORK = OpenWork("summit", "run", TERMINAL)
_ROWS = Projection(
    SUMMIT_RUNS.record or "", tuple(dict.fromkeys((*RUNS.members, *invoked.MEMBERS)))
)
_COMPLETED = "completed"


def fact_key(event_id: str) -> bytes:
    return FACT + text_key(event_id)


def run_events(run_id: str) -> bytes:
    return OF_RUN + text_key(run_id)


def agent_events(agent_id: str) -> bytes:
    return _OF_AGENT + text_key(agent_id)


def run_key(run_id: str) -> bytes:
    return RUN + text_key(run_id)


def input_key(run_id: str) -> bytes:
    return key("summit input") + text_key(run_id)


def output_key(run_id: str) -> bytes:
    return key("summit output") + text_key(run_id)


def end_key(run_id: str) -> bytes:
    """Return the key of a row that is written with both the row and the fact of a run's end."""
    return key("summit end") + text_key(run_id)


def totals_key(run_id: str) -> bytes:
    """Return the key of what a run and those below it have spent."""
    return key("summit totals") + text_key(run_id)


def count_key(agent_id: str) -> bytes:
    return key("summit count") + text_key(agent_id)


def last_reply_key(agent_id: str) -> bytes:
    return key("summit last reply") + text_key(agent_id)


def _apply_events(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    facts = rows.shared[records[0].topic] = decode_members(topic, records, FACTS)
    for record, fact in facts:
        row_key = fact_key(fact["eventId"])
        rows[row_key] = record.value
        position = key(record.partition, record.offset)
        if fact["subject"] == "manifest":
            if fact["agentId"] is not None:
                rows[agent_events(fact["agentId"]) + position] = row_key
        elif fact["runId"] is not None:
            rows[run_events(fact["runId"]) + position] = row_key
        if fact["verdict"] in ("accepted", "fired"):
            _apply_change(fact, row_key, rows)


def _apply_change(fact: Mapping[str, Any], row_key: bytes, rows: WriteBatch) -> None:
    """Index a fact that has changed a row."""
    run_id, state = fact["runId"], fact["toState"]
    if fact["subject"] == "reply":
        last = rows.cell(last_reply_key(fact["agentId"]), _TIME)
        last[0] = max(last[0], fact["at"])
    if fact["subject"] == "manifest":
        return
    if state == QUEUED:
        rows[input_key(run_id)] = row_key
    elif state == _COMPLETED:
        rows[output_key(run_id)] = row_key
    if state in TERMINAL:
        rows[end_key(run_id)] = b""


def _time_of(row: bytes | None) -> list[int]:
    return [0 if row is None else int(row)]


_TIME: Cell[list[int]] = Cell(_time_of, lambda at: b"%d" % at[0])


def _counts_of(row: bytes | None) -> dict[str, int]:
    return {} if row is None else orjson.loads(row)


_COUNTS: Cell[dict[str, int]] = Cell(_counts_of, orjson.dumps)


def _apply_runs(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    changed = [
        (record, row, run_key(row["runId"]))
        for record, row in decode_members(topic, records, _ROWS)
    ]
    rows.load([row_key for _, _, row_key in changed])
    for record, row, row_key in changed:
        stored = rows.read(row_key)
        before = None if stored is None else _ROWS.of(stored)
        rows[row_key] = record.value
        RUNS.note(row, before, row_key, rows)
        invoked.note(row, before, row_key, rows)
        RUN_WORK.move(None if before is None else before["state"], row["state"], rows)
        _update_counts(row, before, rows)
        if row["state"] in TERMINAL:
            rows[end_key(row["runId"])] = b""


def _apply_totals(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    for record in records:
        rows[totals_key((record.key or b"").decode())] = record.value


def _update_counts(
    row: Mapping[str, Any], before: Mapping[str, Any] | None, rows: WriteBatch
) -> None:
    state = row["state"]
    if before is not None and before["state"] == state:
        return
    counts = rows.cell(count_key(row["agentId"]), _COUNTS)
    counts[state] = counts.get(state, 0) + 1
    if before is not None:
        counts[before["state"]] -= 1
    rows[queue_key(row["agentId"]) + RUNS.sort_key(row)] = b"" if state == QUEUED else None


def agent_key(agent_id: str) -> bytes:
    return AGENT + text_key(agent_id)


def queue_key(agent_id: str) -> bytes:
    """Return the prefix of the keys of an agent's queued runs, the oldest first."""
    return QUEUE + text_key(agent_id)


def _apply_agents(topic: Topic, records: Sequence[Record], rows: WriteBatch) -> None:
    versions = []
    for record in records:
        agent_id, *version = split((record.key or b"").decode())
        if version:
            row_key = VERSION + text_key(agent_id) + text_key(version[0])
            versions.append((row_key, record))
            continue
        rows[agent_key(agent_id)] = record.value
        prefix = TOOL + text_key(agent_id)
        for tool_key, _ in list(rows.under(prefix)):
            rows[tool_key] = None
        for tool in _callable_tools(topic, record):
            rows[prefix + text_key(tool["name"])] = orjson.dumps({"agentId": agent_id, **tool})
    put_once(rows, versions)


def _callable_tools(topic: Topic, record: Record) -> list[dict[str, Any]]:
    row = {} if record.value is None else json_of(topic, record.value)
    if row.get("state") != REGISTERED:
        return []
    tools: list[dict[str, Any]] = row["manifest"]["spec"].get("tools", [])
    return tools


FOLLOWED: Mapping[str, Apply | None] = {
    SUMMIT_EVENTS.name: _apply_events,
    SUMMIT_RUNS.name: _apply_runs,
    SUMMIT_AGENTS.name: _apply_agents,
    SUMMIT_INBOX.name: None,
    SUMMIT_MANIFESTS_DLQ.name: None,
    SUMMIT_CALLS_DLQ.name: None,
    SUMMIT_REPLIES_DLQ.name: None,
    SUMMIT_AUTO_CALLS_DLQ.name: None,
    SUMMIT_TREES.name: _apply_totals,
    SUMMIT_TREE_DLQ.name: None,
}
"""The projection by topic, as in `streams.view_store.rows`."""
