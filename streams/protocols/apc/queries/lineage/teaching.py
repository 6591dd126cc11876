"""Count which swarm hands which protocol to which, and sum up the transfers of each generation.

| key                                              | value                                     |
|--------------------------------------------------|-------------------------------------------|
| teaching, protocol_id, from_swarm, to_swarm      | JSON: `Teaching`                          |
| teaching in, run_id, protocol_id, from, to       | the same, of one run                      |
| transfer of, protocol_id, generation, position   | key of the packet's row, see `lineage`    |

Only accepted TRANSFERs have the third row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

import orjson

from schemas.formats import iso_ms
from schemas.projection import Projection
from streams.protocols.apc.lineage.effectiveness import round_figure, score
from streams.protocols.apc.queries.lineage.entry import Entry, Task
from streams.protocols.apc.queries.lineage.sums import Sums, mean_of_nano
from streams.protocols.apc.queries.lineage.tally import COUNTED, TASK
from streams.views.changes import WriteBatch
from streams.views.distinct import distinct_texts
from streams.views.keys import first_text, key, number_at_end, position_key, text_key, texts_in
from streams.views.pages import Entries, page_of, rows_of
from streams.views.parse import QueryParams
from streams.views.query_params import CURSOR, PROTOCOL_ID, RUN_ID, limit
from streams.views.reads import ReadOnlyStore
from topology.apc import APC_EVENTS

Json = dict[str, Any]
_ALL, _IN_RUN, _TRANSFERS = key("teaching"), key("teaching in"), key("transfer of")
_POSITION_BYTES = len(position_key(0, 0, 0))
_PAYLOAD = "packet/payload/TransferPayload"
_MEMBERS = Projection(
    APC_EVENTS.record or "",
    (
        *(f"{_PAYLOAD}/{name}" for name in ("protocol_id", "from_swarm", "to_swarm")),
        *("packet/trace/generation", "packet/trace/run_id"),
    ),
)
TEACHING_PARAMS = (RUN_ID, PROTOCOL_ID, limit(100, 1000), CURSOR)
GENERATION_PARAMS = (PROTOCOL_ID, limit(100, 1000), CURSOR)


class Teaching(NamedTuple):
    """The TRANSFERs of a protocol from one swarm to another.

    last_generation: the highest one.  last_at: ms since the epoch.
    """

    accepted: int = 0
    rejected: int = 0
    last_generation: int = 0
    last_at: int = 0

    @classmethod
    def load(cls, row: bytes | None) -> Self:
        return cls() if row is None else cls(*orjson.loads(row))


def add_transfer(
    fact: Mapping[str, Any], value: bytes | None, position: tuple[int, int, int], rows: WriteBatch
) -> None:
    """Add the TRANSFER of a verdict.  value: the fact's record; position: of the packet's."""
    packet = _MEMBERS.of(value)["packet"]
    _, payload = packet["payload"]
    generation, protocol = packet["trace"]["generation"], text_key(payload["protocol_id"])
    name = protocol + text_key(payload["from_swarm"]) + text_key(payload["to_swarm"])
    is_accepted = fact["verdict"] == "accepted"
    for row_key in (_ALL + name, _IN_RUN + text_key(packet["trace"]["run_id"]) + name):
        before = Teaching.load(rows.read(row_key))
        after = Teaching(
            before.accepted + is_accepted,
            before.rejected + (not is_accepted),
            max(before.last_generation, generation),
            max(before.last_at, fact["at"]),
        )
        rows[row_key] = orjson.dumps(tuple(after))
    if is_accepted:
        packet_key = key("lineage packet", fact["session_id"], fact["packet_id"])
        rows[_TRANSFERS + protocol + key(generation) + position_key(*position)] = packet_key


def teaching(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return who hands which protocol to whom, by protocol and swarms."""
    run_id, protocol_id = params.text("run_id"), params.text("protocol_id")
    base = _ALL if run_id is None else _IN_RUN + text_key(run_id)
    prefix = base if protocol_id is None else base + text_key(protocol_id)
    rows = rows_of(view, prefix, Teaching.load)

    def entries(after_key: bytes | None) -> Entries:
        for row_key, row in rows(after_key):
            protocol, from_swarm, to_swarm = texts_in(row_key[len(base) :])
            yield row_key, _teaching_json(protocol, from_swarm, to_swarm, row)

    return page_of(params, prefix, entries)


def _teaching_json(protocol_id: str, from_swarm: str, to_swarm: str, row: Teaching) -> Json:
    return {
        "from_swarm": from_swarm,
        "to_swarm": to_swarm,
        "protocol_id": protocol_id,
        "accepted": row.accepted,
        "rejected": row.rejected,
        "last_generation": row.last_generation,
        "last_at": iso_ms(row.last_at),
    }


def generations(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return what the transfers of a protocol come to up to each generation, with what is known
    now of their tasks.
    """
    protocol_id = params.text("protocol_id")
    prefix = _TRANSFERS if protocol_id is None else _TRANSFERS + text_key(protocol_id)

    def entries(after_key: bytes | None) -> Entries:
        names: Iterator[str] = (
            iter((protocol_id,))
            if protocol_id is not None
            else (
                distinct_texts(
                    view,
                    prefix,
                    None if after_key is None else first_text(after_key[len(prefix) :]),
                )
            )
        )
        for name in names:
            for generation, row in _by_generation(view, name):
                row_key = _TRANSFERS + text_key(name) + key(generation)
                if after_key is None or row_key > after_key:
                    yield row_key, row

    return page_of(params, prefix, entries)


def _by_generation(view: ReadOnlyStore, protocol_id: str) -> Iterator[tuple[int, Json]]:
    """Yield each generation with the figures up to it; only packets that count are summed."""
    prefix = _TRANSFERS + text_key(protocol_id)
    index = list(view.scan(prefix))
    packets = view.get_many([packet_key for _, packet_key in index])
    sums = Sums()
    tasks: dict[tuple[str, str, str], Task] = {}
    rows: dict[int, Json] = {}
    for (index_key, _), row in zip(index, packets, strict=True):
        generation = number_at_end(index_key[:-_POSITION_BYTES])
        if row is not None and row.startswith(COUNTED):
            sums = _plus(view, sums, Entry.load(row[1:]), tasks)
        rows[generation] = _generation_json(protocol_id, generation, sums)
    yield from rows.items()


def _plus(
    view: ReadOnlyStore, sums: Sums, entry: Entry, tasks: dict[tuple[str, str, str], Task]
) -> Sums:
    """Return the sums with one transfer more, which weighs with the means of its task."""
    if entry.task not in tasks:
        (tasks[entry.task],) = TASK.load(view.get("lineage task", "", *entry.task))
    outcome, drift = tasks[entry.task].outcome, tasks[entry.task].drift
    is_accepted = entry.transfer is not None and entry.transfer.accepted
    return sums._replace(
        transfers=sums.transfers + 1,
        accepted=sums.accepted + is_accepted,
        outcome_weight=sums.outcome_weight + (outcome is not None),
        outcome_sum_nano=sums.outcome_sum_nano + (outcome or 0),
        drift_weight=sums.drift_weight + (drift is not None),
        drift_sum_nano=sums.drift_sum_nano + (drift or 0),
    )


def _generation_json(protocol_id: str, generation: int, sums: Sums) -> Json:
    figures = (sums.transfers, sums.accepted, sums.outcome_weight, sums.outcome_sum_nano)
    return {
        "protocol_id": protocol_id,
        "generation": generation,
        "transfers": sums.transfers,
        "accepted": sums.accepted,
        "avg_outcome": mean_of_nano(sums.outcome_sum_nano, sums.outcome_weight),
        "avg_drift_risk": mean_of_nano(sums.drift_sum_nano, sums.drift_weight),
        "effectiveness_score": round_figure(
            score(*figures, sums.drift_weight, sums.drift_sum_nano)
        ),
    }
