"""The index of invoked runs by their last change, and how many there are in each state.

| key                                                  | value                                     |
|------------------------------------------------------|-------------------------------------------|
| summit changed, agentId, updatedAt, runId            | key of the run's row                      |
| summit changed by, agentId, caller, updatedAt, runId | the same, for runs that have a caller     |
| summit invoked, agentId                              | how many runs are in which state, as JSON |
| summit invoked by, agentId, caller                   | the same, of one caller                   |

Runs of tools are not among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from schemas.summit.words import INVOKE
from streams.views.changes import Cell, WriteBatch
from streams.views.keys import key, number_at_end, text_key, texts_in
from streams.views.reads import ReadOnlyStore

MEMBERS = ("runId", "agentId", "caller", "kind", "state", "updatedAt")
"""The members of a row that the index needs."""
_CHANGED, _CHANGED_BY = key("summit changed"), key("summit changed by")
_COUNT, _COUNT_BY = key("summit invoked"), key("summit invoked by")
_TIME_BYTES = len(key(0))


class Change(NamedTuple):
    """The last change of a run.  at: ms since the epoch."""

    at: int
    run_id: str


def _load(row: bytes | None) -> dict[str, int]:
    return {} if row is None else orjson.loads(row)


_COUNTS: Cell[dict[str, int]] = Cell(_load, orjson.dumps)


def note(
    row: Mapping[str, Any], before: Mapping[str, Any] | None, row_key: bytes, rows: WriteBatch
) -> None:
    """Update the index for a run.  before: its earlier row, if there was one."""
    if row["kind"] != INVOKE:
        return
    for prefix in _index_prefixes(row):
        if before is not None:
            rows[prefix + _order(before)] = None
        rows[prefix + _order(row)] = row_key
    if before is not None and before["state"] == row["state"]:
        return
    for count_key in _count_keys(row["agentId"], row["caller"]):
        counts = rows.cell(count_key, _COUNTS)
        counts[row["state"]] = counts.get(row["state"], 0) + 1
        if before is not None:
            counts[before["state"]] -= 1


def counts_of(view: ReadOnlyStore, agent_id: str, caller: str | None) -> dict[str, int]:
    """Return how many runs of an agent are in which state.  caller: None for those of all."""
    count_key = _count_keys(agent_id, caller)[-1]
    (row,) = view.get_many([count_key])
    return _load(row)


def each_changed(
    view: ReadOnlyStore, agent_id: str, caller: str | None, before: Change | None = None
) -> Iterator[tuple[Change, bytes]]:
    """Yield the last changes of an agent's runs, the newest first, with the keys of their rows.

    caller: None for the runs of all.  before: only those further back than this one.
    """
    prefix = _index_prefixes({"agentId": agent_id, "caller": caller})[-1]
    start = None if before is None else prefix + key(before.at) + text_key(before.run_id)
    for index_key, row_key in view.scan(prefix, start, reverse=True):
        if start is None or index_key < start:
            order = index_key[len(prefix) :]
            (run_id,) = texts_in(order[_TIME_BYTES:])
            yield Change(number_at_end(order[:_TIME_BYTES]), run_id), row_key


def _order(row: Mapping[str, Any]) -> bytes:
    return key(row["updatedAt"]) + text_key(row["runId"])


def _index_prefixes(row: Mapping[str, Any]) -> list[bytes]:
    agent_key, caller = text_key(row["agentId"]), row["caller"]
    prefixes = [_CHANGED + agent_key]
    return prefixes if caller is None else [*prefixes, _CHANGED_BY + agent_key + text_key(caller)]


def _count_keys(agent_id: str, caller: str | None) -> list[bytes]:
    agent_key = text_key(agent_id)
    keys = [_COUNT + agent_key]
    return keys if caller is None else [*keys, _COUNT_BY + agent_key + text_key(caller)]
