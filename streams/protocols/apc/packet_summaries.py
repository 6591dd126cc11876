"""Summaries of packets in a view, read from verdicts without decoding all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, takewhile
from typing import Any, NamedTuple, Self

import orjson

from schemas.apc.mapping import MAPPING, PAYLOADS
from schemas.json_mapping.json_form import number, open_json
from schemas.projection import Projection
from streams.views.keys import key, position_key
from streams.views.reads import ReadOnlyStore
from topology.apc import APC_EVENTS

Fact = Mapping[str, Any]
MOST_AT_ONCE = 256
_EVENT = APC_EVENTS.record or ""

FACTS = Projection(
    _EVENT,
    (
        "verdict",
        "rule",
        "fault",
        "message",
        "at",
        "cause",
        "session_id",
        "packet_id",
        "packet_type",
        "run_id",
        "task_id",
        "trace_id",
        "state",
        "strategies",
        "packet/packet_type",
        "packet/channel",
        "packet/run_phase",
        "packet/sender/role",
        "packet/sender/agent_id",
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
"""The members that are read of each fact; payloads only where lineage counts them."""
PAYLOAD_PATHS = tuple(f"packet/payload/{name.rpartition('.')[2]}" for name in PAYLOADS.values())
"""The paths of a projection that reads the payload of a fact's packet."""


class Summary(NamedTuple):
    """The members of a packet that lists show and filter by.

    position: (time in ms, partition, offset) of the packet's record; fact_position: of its verdict.
    """

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
    position: tuple[int, int, int]
    fact_position: tuple[int, int, int]

    @property
    def fact_key(self) -> bytes:
        return key("fact", self.session_id, self.packet_id) + position_key(*self.fact_position)

    @property
    def sort_key(self) -> bytes:
        """Return the bytes that sort packets in log order."""
        return position_key(*self.position)

    def dump(self) -> bytes:
        return orjson.dumps(tuple(self))

    @classmethod
    def load(cls, row: bytes) -> Self:
        return cls._make(orjson.loads(row))


def summary_of(
    fact: Fact, position: tuple[int, int, int], fact_position: tuple[int, int, int]
) -> Summary:
    """Return the summary of the packet that a verdict carries."""
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
        position,
        fact_position,
    )


def lineage_members(packet: Fact) -> dict[str, Any] | None:
    """Return the members of the JSON form that lineage uses; None if it does not use the packet."""
    if packet["lineage"] is None and packet["packet_type"] != "EVAL":
        return None
    members = {
        "packet_type": packet["packet_type"],
        "run_phase": packet["run_phase"],
        "payload": _json(packet["payload"][1]),
    }
    if packet["lineage"] is not None:
        members["lineage"] = _json(packet["lineage"])
    if packet["metadata_json"] is not None:
        members["metadata"] = open_json(packet["metadata_json"])
    return members


def _json(value: Fact) -> dict[str, Any]:
    """Return the JSON form of a packet's members, the same that `to_json` gives."""
    members: dict[str, Any] = {}
    for name, member in value.items():
        if isinstance(member, dict):
            members[name] = _json(member)
        elif member is not None:
            members[name] = number(member) if isinstance(member, float) else member
    return members


def find_summary(view: ReadOnlyStore, session_id: str, packet_id: str) -> Summary | None:
    """Return the summary of a packet; packet_id: in lower case."""
    row = view.get("packet", packet_id, session_id)
    return None if row is None else Summary.load(row)


def index_prefix(filters: Mapping[str, str]) -> bytes:
    """Return the prefix of the narrowest index of packets that match the filters."""
    for name in ("packet_id", "run_id", "session_id"):
        if name in filters:
            return key(name.removesuffix("_id"), filters[name])
    return key("all")


def scan_summaries(
    view: ReadOnlyStore,
    filters: Mapping[str, str],
    *,
    reverse: bool,
    before: bytes | None = None,
    lowest: bytes = b"",
    first: int = MOST_AT_ONCE,
) -> Iterator[list[Summary]]:
    """Yield the packets that match the filters, in log order or against it.

    before: only packets before this position in log order, as `index_prefix` and `position_key`
    make it; for `reverse` alone.  lowest: only packets from this key on.  first: how many rows
    are read at first, at most.
    """
    prefix = index_prefix(filters)
    if "packet_id" in filters:
        rows = [Summary.load(row) for _, row in view.scan(prefix)]
        rows.sort(key=lambda row: row.position, reverse=reverse)
        keyed = [(prefix + row.sort_key, row) for row in rows]
        fitting = [r for k, r in keyed if lowest <= k and (before is None or k < before)]
        yield _filter(fitting, filters)
        return
    scanned = view.scan(prefix, before, reverse=reverse)
    index = takewhile(lambda entry: entry[0] >= lowest, scanned)
    refs = (ref for index_key, ref in index if index_key != before)
    size = min(first, MOST_AT_ONCE)
    while chunk := list(islice(refs, size)):
        summaries = (Summary.load(row) for row in view.get_many(chunk) if row is not None)
        yield _filter(summaries, filters)
        size = MOST_AT_ONCE


def _filter(rows: Iterator[Summary] | list[Summary], filters: Mapping[str, str]) -> list[Summary]:
    return [row for row in rows if all(getattr(row, n) == value for n, value in filters.items())]


def payload_keys(packet: Fact) -> list[str]:
    """Return the names of the members of a packet's payload, sorted."""
    _, payload = packet["payload"]
    present = [name for name, value in payload.items() if value is not None]
    return sorted(MAPPING.json_name(name) or name for name in present)
