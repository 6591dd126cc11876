"""Queries over packets: rows, facts, `packet-trace` and `packet-replay`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import orjson

from schemas import decode, to_json
from streams.engine.headers import iso
from streams.errors import NotFound
from streams.views.keys import key
from streams.views.params import Params, page
from streams.views.view import View
from topology.topics import APC_EVENTS, APC_PACKET_STATES

Json = dict[str, Any]
_CHUNK = 256


class Shown(NamedTuple):
    """A packet of a list.  place: (time, partition, offset) of its record."""

    summary: Json
    state: Json

    @property
    def place(self) -> list[int]:
        place: list[int] = self.summary["place"]
        return place

    @property
    def created_at(self) -> str:
        return iso(self.place[0]).decode()


def packet(view: View, session_id: str, packet_id: str) -> Json:
    """ApcPacketState, with the packet of its verdict.  Raises NotFound."""
    packet_id = packet_id.lower()
    row = view.get("state", session_id, packet_id)
    if row is None:
        raise NotFound(f"session {session_id} has no packet {packet_id}")
    state = _json(APC_PACKET_STATES.record, row)
    summary = view.get("packet", session_id, packet_id)
    if state["packet"] is None and summary is not None:
        (fact,) = view.get_many([bytes.fromhex(orjson.loads(summary)["fact"])])
        state["packet"] = _json(APC_EVENTS.record, fact or b"")["packet"]
    return state


def packet_events(view: View, session_id: str, packet_id: str, params: Params) -> Json:
    """Every ApcEvent about a packet, in log order.  Raises NotFound when there is none."""
    prefix = key("fact", session_id, packet_id.lower())
    found = page(view, prefix, params, params.limit(200), lambda row: _json(APC_EVENTS.record, row))
    if not found["items"] and params.text("cursor") is None:
        raise NotFound(f"session {session_id} has no packet {packet_id}")
    return found


TRACE_PARAMS = (
    "session_id",
    "run_id",
    "task_id",
    "packet_id",
    "packet_type",
    "run_phase",
    "trace_id",
    "limit",
    "include_events",
)
_FILTERS = TRACE_PARAMS[:7]


def trace(view: View, params: Params) -> Json:
    """The newest packets that fit, and the whole history of exactly these."""
    wanted = {name: value for name in _FILTERS if (value := params.text(name)) is not None}
    if "packet_id" in wanted:
        wanted["packet_id"] = wanted["packet_id"].lower()
    limit = params.limit(200)
    shown = list(islice(_packets(view, wanted, reverse=True), limit))
    events = []
    if params.flag("include_events", True):
        events = [{"packet_id": row["packet_id"], **row["step"]} for row in _steps(shown)]
        events.reverse()
    return {
        "source": "views",
        "count": len(shown),
        "event_count": len(events),
        "packets": [_trace_row(each) for each in shown],
        "events": events,
    }


def _trace_row(shown: Shown) -> Json:
    names = ("packet_id", "task_id", "run_id", "attempt_number", "packet_type", "channel")
    more = ("run_phase", "sender_role", "trace_id")
    return {
        **{name: shown.summary[name] for name in names + more},
        "lifecycle_state": shown.state["state"],
        "created_at": shown.created_at,
        "payload_keys": shown.summary["payload_keys"],
    }


REPLAY_PARAMS = ("run_id", "session_id", "task_id", "limit")


def replay(view: View, params: Params) -> Json:
    """All packets of a run in log order with their histories, and one stream of all steps."""
    run_id = params.required("run_id")
    limit = params.limit(500)
    wanted = {"run_id": run_id}
    wanted |= {n: v for n in ("session_id", "task_id") if (v := params.text(n)) is not None}
    shown = list(_packets(view, wanted, reverse=False))
    named = ("packet_id", "packet_type", "run_phase")
    stream = [{**{n: row[n] for n in named}, **row["step"]} for row in _steps(shown)]
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
        **{n: shown.summary[n] for n in ("packet_id", "packet_type", "run_phase", "trace_id")},
        "created_at": shown.created_at,
        "final_state": shown.state["state"],
        "transitions": [_step(transition) for transition in shown.state["history"]],
    }


def _step(transition: Mapping[str, Any]) -> Json:
    return {
        "event": transition["event"],
        "from_state": transition["from_state"],
        "to_state": transition["to_state"],
        "metadata": transition["metadata"],
        "occurred_at": transition["at"],
    }


def _steps(shown: list[Shown]) -> list[Json]:
    """Every transition of these packets by (time, the packet's place, seq)."""
    steps = [
        (
            transition["at"],
            each.place,
            transition["seq"],
            {**each.summary, "step": _step(transition)},
        )
        for each in shown
        for transition in each.state["history"]
    ]
    steps.sort(key=lambda step: step[:3])
    return [step[3] for step in steps]


def _packets(view: View, wanted: Mapping[str, str], *, reverse: bool) -> Iterator[Shown]:
    """Packets that fit, in log order or against it, by the narrowest index there is."""
    prefix = key("all")
    for index, name in (("id", "packet_id"), ("run", "run_id"), ("session", "session_id")):
        if name in wanted:
            prefix = key(index, wanted[name])
            break
    refs = (value for _, value in view.scan(prefix, reverse=reverse))
    while chunk := list(islice(refs, _CHUNK)):
        summaries = [orjson.loads(row) for row in view.get_many(chunk) if row is not None]
        fitting = [s for s in summaries if all(s[n] == value for n, value in wanted.items())]
        states = view.get_many([key("state", s["session_id"], s["packet_id"]) for s in fitting])
        for summary, row in zip(fitting, states, strict=True):
            if row is not None:
                yield Shown(summary, _json(APC_PACKET_STATES.record, row))


def _json(record: str | None, row: bytes) -> Json:
    assert record is not None
    return to_json(record, decode(row, record).value)
