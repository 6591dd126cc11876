"""Queries over packets: rows, facts, `packet-trace` and `packet-replay`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple, get_args

from schemas import decode, to_json
from schemas.apc.words import PacketType, RunPhase
from schemas.formats import iso_ms
from schemas.json_mapping.json_form import open_json
from schemas.projection import Projection
from streams.engine.headers import iso
from streams.errors import NotFound
from streams.protocols.apc import packet_rows as packets
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


_STANDING = Projection(APC_PACKET_STATES.record or "", ("logged_at", "state", "history"))
"""What lists show of a row: a fourth of the time that all of it takes."""


class Shown(NamedTuple):
    """A packet of a list.  steps: its transitions as (time in ms, seq, as shown)."""

    summary: packets.Summary
    state: str
    steps: list[tuple[int, int, Json]]

    @property
    def created_at(self) -> str:
        return iso(self.summary.place[0]).decode()

    def members(self, *names: str) -> Json:
        """Of the summary."""
        return {name: getattr(self.summary, name) for name in names}


def packet(view: ReadOnlyStore, session_id: str, packet_id: str) -> Json:
    """ApcPacketState, with the packet of its verdict.  Raises NotFound."""
    packet_id = packet_id.lower()
    row = view.get("state", session_id, packet_id)
    if row is None:
        raise NotFound(f"session {session_id} has no packet {packet_id}")
    state = _json(APC_PACKET_STATES.record, row)
    summary = packets.find(view, session_id, packet_id)
    if state["packet"] is None and summary is not None:
        (fact,) = view.get_many([summary.fact_key])
        state["packet"] = _json(APC_EVENTS.record, fact or b"")["packet"]
    return state


def packet_events(
    view: ReadOnlyStore, session_id: str, packet_id: str, params: QueryParams
) -> Json:
    """Every ApcEvent about a packet, in log order.  Raises NotFound when there is none."""
    prefix = key("fact", session_id, packet_id.lower())
    rows = rows_of(view, prefix, lambda row: _json(APC_EVENTS.record, row))
    found = page_of(params, prefix, rows)
    if not found["items"] and params.text("cursor") is None:
        raise NotFound(f"session {session_id} has no packet {packet_id}")
    return found


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
)
_FILTERS = tuple(parameter.name for parameter in TRACE_PARAMS[:7])


def trace(view: ReadOnlyStore, params: QueryParams) -> Json:
    """The newest packets that fit, and the whole history of exactly these."""
    wanted = {name: value for name in _FILTERS if (value := params.text(name)) is not None}
    if "packet_id" in wanted:
        wanted["packet_id"] = wanted["packet_id"].lower()
    limit = params.limit()
    shown = list(islice(_packets(view, wanted, reverse=True), limit))
    events = []
    if params.flag("include_events"):
        events = [{**each.members("packet_id"), **step} for each, step in _steps(shown)]
        events.reverse()
    keys = packets.payload_keys(view, [each.summary for each in shown])
    return {
        "source": "views",
        "count": len(shown),
        "event_count": len(events),
        "packets": list(map(_trace_row, shown, keys)),
        "events": events,
    }


def _trace_row(shown: Shown, payload_keys: list[str]) -> Json:
    names = ("packet_id", "task_id", "run_id", "attempt_number", "packet_type", "channel")
    return {
        **shown.members(*names, "run_phase", "sender_role", "trace_id"),
        "lifecycle_state": shown.state,
        "created_at": shown.created_at,
        "payload_keys": payload_keys,
    }


REPLAY_PARAMS = (RUN_ID._replace(required=True), SESSION_ID, TASK_ID, limit(500))


def replay(view: ReadOnlyStore, params: QueryParams) -> Json:
    """All packets of a run in log order with their histories, and one stream of all steps."""
    run_id = params.required("run_id")
    limit = params.limit()
    wanted = {"run_id": run_id}
    wanted |= {n: v for n in ("session_id", "task_id") if (v := params.text(n)) is not None}
    shown = list(_packets(view, wanted, reverse=False))
    named = ("packet_id", "packet_type", "run_phase")
    stream = [{**each.members(*named), **step} for each, step in _steps(shown)]
    return {
        "source": "views",
        "run_id": run_id,
        "task_id": params.text("task_id"),
        "packet_count": len(shown),
        "event_count": len(stream),
        "packets": [_replay_row(each) for each in shown],
        "event_stream": stream[:limit],
    }


def _replay_row(shown: Shown) -> Json:
    return {
        **shown.members("packet_id", "packet_type", "run_phase", "trace_id"),
        "created_at": shown.created_at,
        "final_state": shown.state,
        "transitions": [step for _, _, step in shown.steps],
    }


def _shown(summary: packets.Summary, row: bytes) -> Shown:
    standing = _STANDING.of(row)
    return Shown(summary, standing["state"], [_step(t, standing) for t in standing["history"]])


def _step(transition: Mapping[str, Any], standing: Mapping[str, Any]) -> tuple[int, int, Json]:
    at = standing["logged_at"] if transition["at"] is None else transition["at"]
    metadata = transition["metadata_json"]
    shown = {
        "event": transition["event"],
        "from_state": transition["from_state"],
        "to_state": transition["to_state"],
        "metadata": None if metadata is None else open_json(metadata),
        "occurred_at": iso_ms(at),
    }
    return at, transition["seq"], shown


def _steps(shown: list[Shown]) -> list[tuple[Shown, Json]]:
    """Every transition of these packets by (time, the packet's place, seq)."""
    steps = [
        (at, each.summary.place, seq, each, step) for each in shown for at, seq, step in each.steps
    ]
    steps.sort(key=lambda step: step[:3])
    return [step[3:] for step in steps]


def _packets(view: ReadOnlyStore, wanted: Mapping[str, str], *, reverse: bool) -> Iterator[Shown]:
    """Packets that fit, in log order or against it."""
    for fitting in packets.among(view, wanted, reverse=reverse):
        states = view.get_many([key("state", s.session_id, s.packet_id) for s in fitting])
        for summary, row in zip(fitting, states, strict=True):
            if row is not None:
                yield _shown(summary, row)


def _json(record: str | None, row: bytes) -> Json:
    assert record is not None
    return to_json(record, decode(row, record).value)
