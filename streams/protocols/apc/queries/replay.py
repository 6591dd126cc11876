"""`packet-replay`: the packets of a run and all their transitions, from a view or from files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from schemas import Undecodable, decode, encode
from schemas.projection import Projection
from streams.engine.records import Record
from streams.protocols.apc.fold import FOLD
from streams.protocols.apc.projection import FOLLOWED
from streams.protocols.apc.queries.packets import ListedPacket, add_reasons, list_packets
from streams.replay.fold.fold import Row
from streams.views.changes import MemoryStore, WriteBatch
from streams.views.keys import key
from streams.views.parse import QueryParams
from streams.views.query_params import RUN_ID, SESSION_ID, TASK_ID, limit
from streams.views.reads import ReadOnlyStore, StoredRows
from streams.views.values import filters_of
from topology.apc import APC_EVENTS
from topology.keys import split

Json = dict[str, Any]
_RUN_ID = Projection(APC_EVENTS.record or "", ("run_id",))
_IN_STREAM = ("packet_id", "packet_type", "run_phase")

REPLAY_PARAMS = (RUN_ID._replace(required=True), SESSION_ID, TASK_ID, limit(500))


def replay(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return a run's packets in log order with their histories, and one stream of all steps."""
    filters = filters_of(params, ("run_id", "session_id", "task_id"))
    return answer_of(packets_of(view, filters), filters, params.limit())


def packets_of(view: ReadOnlyStore, filters: dict[str, str]) -> list[Json]:
    """Return the packets that match, in log order, each with all its transitions."""
    listed = list(list_packets(view, filters, {}, reverse=False))
    add_reasons(view, listed, view.get_many([each.summary.fact_key for each in listed]))
    return [_packet_row(each) for each in listed]


def _packet_row(listed: ListedPacket) -> Json:
    return {
        **listed.members(*_IN_STREAM, "trace_id"),
        "created_at": listed.created_at,
        "final_state": listed.state,
        "transitions": [step for _, _, step in listed.steps],
        **listed.members("session_id", "task_id"),
        "position": listed.place,
    }


def answer_of(packets: Sequence[Json], filters: dict[str, str], limit: int) -> Json:
    """Return the answer about these packets of a run, which are in log order.

    The stream is sorted by time; steps of one time stay in the order of packets and histories.
    """
    stream = [
        {**{name: packet[name] for name in _IN_STREAM}, **step}
        for packet in packets
        for step in packet["transitions"]
    ]
    stream.sort(key=lambda step: str(step["occurred_at"]))
    count = len(stream)
    return {
        "source": "views",
        "run_id": filters["run_id"],
        "task_id": filters.get("task_id"),
        "packet_count": len(packets),
        "event_count": count,
        "packets": list(packets),
        "event_stream": stream[:limit],
        "session_id": filters.get("session_id"),
        "returned": min(count, limit),
        "hint": None if count <= limit else f"limit={count} returns all {count} steps",
    }


def packets_in(facts: Iterable[Record], filters: dict[str, str]) -> list[Json]:
    """Return the packets that match, folded from facts on `apc.events`.

    facts: those of each partition in log order; the facts of other runs are passed over.
    """
    records = [record for record in facts if _is_of(record, filters["run_id"])]
    if not records:
        return []
    rows = _folded(records)
    store = MemoryStore()
    batch = WriteBatch(store)
    apply = FOLLOWED[APC_EVENTS.name]
    assert apply is not None
    apply(APC_EVENTS, records, batch)
    for row_key, row in rows.items():
        batch[key("state", *split(row_key))] = encode(FOLD.table.record, row)
    store.write(batch)
    return packets_of(StoredRows(store), filters)


def _is_of(record: Record, run_id: str) -> bool:
    (members,) = _RUN_ID.many([record.value])
    return not isinstance(members, Undecodable) and members["run_id"] == run_id


def _folded(records: Iterable[Record]) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for record in records:
        fact = decode(record.value, APC_EVENTS.record or "").value
        row_key = FOLD.row_key(APC_EVENTS, fact)
        if row_key is not None:
            row = FOLD.step(rows.get(row_key), APC_EVENTS, fact, lambda position: None)
            if row is not None:
                rows[row_key] = row
    return rows
