"""What a view keeps of each packet, read from its verdict without decoding all of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Self

import orjson

from schemas.apc.mapping import MAPPING, PAYLOADS
from schemas.json_mapping.json_form import number, open_json
from schemas.projection import Projection
from streams.views.keys import key, position_key
from streams.views.reads import ReadOnlyStore
from topology.apc import APC_EVENTS

Fact = Mapping[str, Any]
_CHUNK = 256
_EVENT = APC_EVENTS.record or ""

FACTS = Projection(
    _EVENT,
    (
        "verdict",
        "at",
        "cause",
        "session_id",
        "packet_id",
        "run_id",
        "task_id",
        "trace_id",
        "state",
        "packet/packet_type",
        "packet/channel",
        "packet/run_phase",
        "packet/sender/role",
        "packet/lineage",
        "packet/metadata_json",
        "packet/payload/TransferPayload/protocol_id",
        "packet/payload/TransferPayload/sender_score",
        "packet/payload/TransferPayload/receiver_score",
        "packet/payload/TransferPayload/transfer_policy/mode",
        "packet/payload/TransferPayload/accepted",
        "packet/payload/EvalPayload/metric_set/outcome",
        "packet/payload/EvalPayload/metric_set/drift_risk",
    ),
)
"""What is looked at of each fact; payloads only where lineage counts them."""
_PAYLOADS = Projection(
    _EVENT, [f"packet/payload/{name.rpartition('.')[2]}" for name in PAYLOADS.values()]
)


class Summary(NamedTuple):
    """place: (time in ms, partition, offset) of the packet's record; fact: that of its verdict."""

    session_id: str
    packet_id: str
    task_id: str | None
    run_id: str | None
    attempt_number: int
    packet_type: str
    channel: str
    run_phase: str
    sender_role: str
    trace_id: str | None
    place: tuple[int, int, int]
    fact: tuple[int, int, int]

    @property
    def fact_key(self) -> bytes:
        return key("fact", self.session_id, self.packet_id) + position_key(*self.fact)

    def dump(self) -> bytes:
        return orjson.dumps(tuple(self))

    @classmethod
    def load(cls, row: bytes) -> Self:
        return cls._make(orjson.loads(row))


def summary_of(fact: Fact, place: tuple[int, int, int], own: tuple[int, int, int]) -> Summary:
    """place: of the packet's record, own: of the fact."""
    packet = fact["packet"]
    attempt = 0
    if packet["metadata_json"] is not None:
        metadata = open_json(packet["metadata_json"])
        named = metadata.get("attempt_number") if isinstance(metadata, dict) else None
        attempt = named if isinstance(named, int) else 0
    return Summary(
        fact["session_id"],
        fact["packet_id"],
        fact["task_id"],
        fact["run_id"],
        attempt,
        packet["packet_type"],
        packet["channel"],
        packet["run_phase"],
        packet["sender"]["role"],
        fact["trace_id"],
        place,
        own,
    )


def told(packet: Fact) -> dict[str, Any] | None:
    """The members of the JSON form that lineage looks at, None for a packet of no account."""
    if packet["lineage"] is None and packet["packet_type"] != "EVAL":
        return None
    found = {
        "packet_type": packet["packet_type"],
        "run_phase": packet["run_phase"],
        "payload": _json(packet["payload"][1]),
    }
    if packet["lineage"] is not None:
        found["lineage"] = _json(packet["lineage"])
    if packet["metadata_json"] is not None:
        found["metadata"] = open_json(packet["metadata_json"])
    return found


def _json(value: Fact) -> dict[str, Any]:
    """The JSON form of members of a packet, as `to_json` gives it of the whole packet."""
    found: dict[str, Any] = {}
    for name, member in value.items():
        if isinstance(member, dict):
            found[name] = _json(member)
        elif member is not None:
            found[name] = number(member) if isinstance(member, float) else member
    return found


def find(view: ReadOnlyStore, session_id: str, packet_id: str) -> Summary | None:
    """packet_id: in lower case."""
    row = view.get("packet", packet_id, session_id)
    return None if row is None else Summary.load(row)


def among(
    view: ReadOnlyStore, wanted: Mapping[str, str], *, reverse: bool
) -> Iterator[list[Summary]]:
    """Packets that fit, in log order or against it, by the narrowest index there is."""
    if "packet_id" in wanted:
        rows = [Summary.load(row) for _, row in view.scan(key("packet", wanted["packet_id"]))]
        rows.sort(key=lambda row: row.place, reverse=reverse)
        yield _fitting(rows, wanted)
        return
    prefix = key("all")
    for name in ("run_id", "session_id"):
        if name in wanted:
            prefix = key(name.removesuffix("_id"), wanted[name])
            break
    refs = (ref for _, ref in view.scan(prefix, reverse=reverse))
    while chunk := list(islice(refs, _CHUNK)):
        found = (Summary.load(row) for row in view.get_many(chunk) if row is not None)
        yield _fitting(found, wanted)


def _fitting(rows: Iterator[Summary] | list[Summary], wanted: Mapping[str, str]) -> list[Summary]:
    return [row for row in rows if all(getattr(row, n) == value for n, value in wanted.items())]


def payload_keys(view: ReadOnlyStore, summaries: Sequence[Summary]) -> list[list[str]]:
    """The members of each packet's payload."""
    found = []
    for fact in view.get_many([summary.fact_key for summary in summaries]):
        _, payload = _PAYLOADS.of(fact)["packet"]["payload"]
        there = [name for name, value in payload.items() if value is not None]
        found.append(sorted(MAPPING.json_name(name) or name for name in there))
    return found
