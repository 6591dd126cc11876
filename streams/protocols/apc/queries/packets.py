"""Queries over packets: rows, facts, `packet-trace` and `packet-replay`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple, get_args

from schemas import decode, to_json
from schemas.apc.vocabulary import PacketType, RunPhase
from schemas.formats import iso_ms
from schemas.json_mapping.json_form import open_json
from schemas.projection import Projection
from streams.engine.headers import iso
from streams.errors import NotFound
from streams.protocols.apc import packet_summaries as packets
from streams.views.keys import key
from streams.views.pages import page_of, rows_of
from streams.views.parse import QueryParams
from streams.views.query_params import (
    CURSOR,
    PACKET_ID,
    RUN_ID,
    SESSION_ID,
    TASK_ID,
    Parameter,
    ValueForm,
    limit,
    one_of,
)
from streams.views.reads import ReadOnlyStore
from topology.apc import APC_EVENTS, APC_PACKET_STATES

Json = dict[str, Any]


_STATE = Projection(APC_PACKET_STATES.record or "", ("logged_at", "state", "history"))
"""The members of a row that lists show: they take a fourth of the time of the whole row."""


_VERDICT = Projection(
    APC_EVENTS.record or "",
    (
        *("verdict", "rule", "message", "cause", "session_id"),
        *("packet/sender/agent_id", "packet/recipients"),
    ),
)
"""The members of a verdict that lists may show."""


class ListedPacket(NamedTuple):
    """A packet of a list.  steps: its transitions as (time in ms, seq, JSON form)."""

    summary: packets.Summary
    state: str
    steps: list[tuple[int, int, Json]]

    @property
    def created_at(self) -> str:
        return iso(self.summary.position[0]).decode()

    def members(self, *names: str) -> Json:
        """Return these members of the summary."""
        return {name: getattr(self.summary, name) for name in names}


def packet(view: ReadOnlyStore, session_id: str, packet_id: str) -> Json:
    """Return the ApcPacketState, with the packet of its verdict.  Raises NotFound."""
    packet_id = packet_id.lower()
    row = view.get("state", session_id, packet_id)
    if row is None:
        raise NotFound(f"session {session_id} has no packet {packet_id}")
    state = _json(APC_PACKET_STATES.record, row)
    summary = packets.find_summary(view, session_id, packet_id)
    if state["packet"] is None and summary is not None:
        (fact,) = view.get_many([summary.fact_key])
        state["packet"] = _json(APC_EVENTS.record, fact or b"")["packet"]
    return state


def packet_events(
    view: ReadOnlyStore, session_id: str, packet_id: str, params: QueryParams
) -> Json:
    """Return every ApcEvent about a packet, in log order.  Raises NotFound when there is none."""
    prefix = key("fact", session_id, packet_id.lower())
    rows = rows_of(view, prefix, lambda row: _json(APC_EVENTS.record, row))
    page = page_of(params, prefix, rows)
    if not page["items"] and params.text("cursor") is None:
        raise NotFound(f"session {session_id} has no packet {packet_id}")
    return page


VERDICTS = Parameter(
    "verdicts",
    "show the session, sender, recipients and verdict of each packet too",
    ValueForm.FLAG,
    default=False,
)
EVENTS_PARAMS = (limit(200), CURSOR)
TRACE_PARAMS = (
    SESSION_ID,
    RUN_ID,
    TASK_ID,
    PACKET_ID,
    one_of("packet_type", "of this type", get_args(PacketType)),
    one_of("run_phase", "of this phase", get_args(RunPhase)),
    Parameter("trace_id", "of this trace"),
    limit(200),
    Parameter("include_events", "show histories", ValueForm.FLAG, default=True),
    VERDICTS,
)
_FILTERS = tuple(parameter.name for parameter in TRACE_PARAMS[:7])


def trace(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return the newest packets that match, and the whole history of exactly these."""
    filters = {name: value for name in _FILTERS if (value := params.text(name)) is not None}
    if "packet_id" in filters:
        filters["packet_id"] = filters["packet_id"].lower()
    limit = params.limit()
    listed = list(islice(_packets(view, filters, reverse=True), limit))
    events = []
    if params.flag("include_events"):
        events = [{**each.members("packet_id"), **step} for each, step in _steps(listed)]
        events.reverse()
    keys = packets.payload_keys(view, [each.summary for each in listed])
    rows = list(map(_trace_row, listed, keys))
    return {
        "source": "views",
        "count": len(listed),
        "event_count": len(events),
        "packets": _with_verdicts(view, listed, rows) if params.flag(VERDICTS.name) else rows,
        "events": events,
    }


def _trace_row(listed: ListedPacket, payload_keys: list[str]) -> Json:
    names = ("packet_id", "task_id", "run_id", "attempt_number", "packet_type", "channel")
    return {
        **listed.members(*names, "run_phase", "sender_role", "trace_id"),
        "lifecycle_state": listed.state,
        "created_at": listed.created_at,
        "payload_keys": payload_keys,
    }


def _with_verdicts(view: ReadOnlyStore, listed: list[ListedPacket], rows: list[Json]) -> list[Json]:
    """Add to each row what the verdict on its packet says."""
    facts = view.get_many([each.summary.fact_key for each in listed])
    return [{**row, **_verdict(fact or b"")} for row, fact in zip(rows, facts, strict=True)]


def _verdict(row: bytes) -> Json:
    fact = _VERDICT.of(row)
    packet = fact["packet"]
    return {
        "session_id": fact["session_id"],
        "sender": packet["sender"]["agent_id"],
        "recipients": [recipient["agent_id"] for recipient in packet["recipients"]],
        "verdict": fact["verdict"],
        "rule": fact["rule"],
        "message": fact["message"],
        "position": fact["cause"],
    }


REPLAY_PARAMS = (RUN_ID._replace(required=True), SESSION_ID, TASK_ID, limit(500))


def replay(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return a run's packets in log order with their histories, and one stream of all steps."""
    run_id = params.required("run_id")
    limit = params.limit()
    filters = {"run_id": run_id}
    filters |= {n: v for n in ("session_id", "task_id") if (v := params.text(n)) is not None}
    listed = list(_packets(view, filters, reverse=False))
    named = ("packet_id", "packet_type", "run_phase")
    stream = [{**each.members(*named), **step} for each, step in _steps(listed)]
    return {
        "source": "views",
        "run_id": run_id,
        "task_id": params.text("task_id"),
        "packet_count": len(listed),
        "event_count": len(stream),
        "packets": [_replay_row(each) for each in listed],
        "event_stream": stream[:limit],
    }


def _replay_row(listed: ListedPacket) -> Json:
    return {
        **listed.members("packet_id", "packet_type", "run_phase", "trace_id"),
        "created_at": listed.created_at,
        "final_state": listed.state,
        "transitions": [step for _, _, step in listed.steps],
    }


def _listed_packet(summary: packets.Summary, row: bytes) -> ListedPacket:
    state = _STATE.of(row)
    return ListedPacket(summary, state["state"], [_step(t, state) for t in state["history"]])


def _step(transition: Mapping[str, Any], state: Mapping[str, Any]) -> tuple[int, int, Json]:
    at = state["logged_at"] if transition["at"] is None else transition["at"]
    metadata = transition["metadata_json"]
    as_json = {
        "event": transition["event"],
        "from_state": transition["from_state"],
        "to_state": transition["to_state"],
        "metadata": None if metadata is None else open_json(metadata),
        "occurred_at": iso_ms(at),
    }
    return at, transition["seq"], as_json


def _steps(listed: list[ListedPacket]) -> list[tuple[ListedPacket, Json]]:
    """Return every transition of these packets, ordered by time, packet position, and seq."""
    steps = [
        (at, each.summary.position, seq, each, step)
        for each in listed
        for at, seq, step in each.steps
    ]
    steps.sort(key=lambda step: step[:3])
    return [step[3:] for step in steps]


def _packets(
    view: ReadOnlyStore, filters: Mapping[str, str], *, reverse: bool
) -> Iterator[ListedPacket]:
    """Yield the packets that match, in log order or against it."""
    for fitting in packets.scan_summaries(view, filters, reverse=reverse):
        states = view.get_many([key("state", s.session_id, s.packet_id) for s in fitting])
        for summary, row in zip(fitting, states, strict=True):
            if row is not None:
                yield _listed_packet(summary, row)


def _json(record: str | None, row: bytes) -> Json:
    assert record is not None
    return to_json(record, decode(row, record).value)
