"""Queries over packets: rows, facts and `packet-trace`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, get_args

from schemas import Undecodable, decode, to_json
from schemas.apc.vocabulary import PacketType, RunPhase
from schemas.formats import iso_ms
from schemas.json_mapping.json_form import open_json
from schemas.projection import Projection
from streams.engine.headers import iso
from streams.errors import NotFound
from streams.protocols.apc import packet_summaries as packets
from streams.views.keys import key
from streams.views.pages import Entries, page_of, rows_of
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
    window,
)
from streams.views.reads import ReadOnlyStore
from streams.views.values import filters_of, matches
from topology.apc import APC_EVENTS, APC_PACKET_STATES
from topology.machines.apc_packet import PacketEvent, PacketState

Json = dict[str, Any]
_ACCEPTED, _REJECTED = "accepted", "rejected"
_NO_REASON: Json = {"rule": None, "message": None}
_REJECTIONS = frozenset({PacketEvent.SCHEMA_FAIL, PacketEvent.POLICY_FAIL})


_ROW = ("logged_at", "position", "state", "sender_agent_id")
_STATE = Projection(APC_PACKET_STATES.record or "", _ROW)
_STATE_AND_HISTORY = Projection(APC_PACKET_STATES.record or "", (*_ROW, "history"))
"""The members of a row that lists show: they take a fourth of the time of the whole row."""


_VERDICT = Projection(
    APC_EVENTS.record or "",
    (
        *("verdict", "rule", "message", "cause", "session_id"),
        *("packet/sender/agent_id", "packet/recipients"),
        *packets.PAYLOAD_PATHS,
    ),
)
"""The members of a verdict that lists may show."""
_REASONS = Projection(APC_EVENTS.record or "", ("rule", "message", "transitions"))


class ListedPacket(NamedTuple):
    """A packet of a list.

    place: the position of its record.  steps: its transitions as (time in ms, seq, JSON form).
    decided_later: some of them were not made by its own verdict.
    """

    summary: packets.Summary
    place: str
    state: str
    steps: list[tuple[int, int, Json]]
    decided_later: bool

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
    one_of("state", "in this state", tuple(state.value for state in PacketState)),
    Parameter("sender", "of this agent", example="builder-1"),
    one_of("verdict", "with this verdict", (_ACCEPTED, _REJECTED)),
    *window("sent"),
    CURSOR,
)
_FILTERS = tuple(parameter.name for parameter in TRACE_PARAMS[:7])
_ROW_FILTERS = ("state", "sender", "verdict")


def trace(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return the newest packets that match, and the whole history of exactly these."""
    filters = filters_of(params, _FILTERS)
    if "packet_id" in filters:
        filters["packet_id"] = filters["packet_id"].lower()
    page = _page(view, filters, params)
    listed: list[ListedPacket] = page["items"]
    facts = view.get_many([each.summary.fact_key for each in listed])
    events = []
    if params.flag("include_events"):
        add_reasons(view, listed, facts)
        events = [{"packet_id": each.summary.packet_id, **step} for each, step in _steps(listed)]
        events.reverse()
    whole = params.flag(VERDICTS.name)
    return {
        "source": "views",
        "count": len(listed),
        "event_count": len(events),
        "packets": [_trace_row(*one, whole=whole) for one in zip(listed, facts, strict=True)],
        "events": events,
        "next": page["next"],
    }


def _page(view: ReadOnlyStore, filters: Mapping[str, str], params: QueryParams) -> Json:
    """Return the newest packets that match, in pages."""
    prefix, row_filters = packets.index_prefix(filters), filters_of(params, _ROW_FILTERS)
    start, end = params.window(prefix)

    def entries(cursor: bytes | None) -> Entries:
        before = min((each for each in (cursor, end) if each is not None), default=None)
        rows = list_packets(
            view,
            filters,
            row_filters,
            reverse=True,
            before=before,
            lowest=start or b"",
            first=params.limit() + 1,
            with_steps=params.flag("include_events"),
        )
        for each in rows:
            yield prefix + each.summary.sort_key, each

    return page_of(params, prefix, entries)


def _trace_row(listed: ListedPacket, verdict: bytes | None, *, whole: bool) -> Json:
    names = ("packet_id", "task_id", "run_id", "attempt_number", "packet_type", "channel")
    fact = _VERDICT.of(verdict or b"")
    return {
        **listed.members(*names, "run_phase", "sender_role", "trace_id"),
        "lifecycle_state": listed.state,
        "created_at": listed.created_at,
        "payload_keys": packets.payload_keys(fact["packet"]),
        **_verdict(fact, whole=whole),
    }


def _verdict(fact: Mapping[str, Any], *, whole: bool) -> Json:
    """Return what the verdict on a packet says.  whole: also about who sent it, and to whom."""
    verdict = {name: fact[name] for name in ("verdict", "rule", "message")}
    verdict["position"] = fact["cause"]
    if not whole:
        return verdict
    packet = fact["packet"]
    parties = {
        "session_id": fact["session_id"],
        "sender": packet["sender"]["agent_id"],
        "recipients": [recipient["agent_id"] for recipient in packet["recipients"]],
    }
    return parties | verdict


def add_reasons(
    view: ReadOnlyStore, listed: Sequence[ListedPacket], facts: Sequence[bytes | None]
) -> None:
    """Add to each step the rule and the message of the fact that has it.  facts: the verdicts."""
    for each, verdict in zip(listed, facts, strict=True):
        summary, rows = each.summary, [verdict]
        if each.decided_later:
            prefix = key("fact", summary.session_id, summary.packet_id)
            rows = [row for _, row in view.scan(prefix)]
        reasons = _reasons_by_seq(rows)
        for _, seq, step in each.steps:
            step |= reasons.get(seq, _NO_REASON)


def _reasons_by_seq(facts: Sequence[bytes | None]) -> dict[int, Json]:
    """Return the rule and the message of each step that one of the facts has."""
    reasons: dict[int, Json] = {}
    for fact in _REASONS.many(facts):
        if not isinstance(fact, Undecodable):
            reason = {"rule": fact["rule"], "message": fact["message"]}
            reasons |= dict.fromkeys((step["seq"] for step in fact["transitions"]), reason)
    return reasons


def _listed_packet(
    summary: packets.Summary, state: Mapping[str, Any], *, with_steps: bool
) -> ListedPacket:
    history = state["history"] if with_steps else ()
    later = any(step["cause"] not in (None, state["position"]) for step in history)
    steps = [_step(transition, state) for transition in history]
    return ListedPacket(summary, state["position"], state["state"], steps, later)


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


def list_packets(
    view: ReadOnlyStore,
    filters: Mapping[str, str],
    row_filters: dict[str, str],
    *,
    reverse: bool,
    before: bytes | None = None,
    lowest: bytes = b"",
    first: int = packets.MOST_AT_ONCE,
    with_steps: bool = True,
) -> Iterator[ListedPacket]:
    """Yield the packets that match, in log order or against it.

    filters: on members of the summary.  row_filters: on the packet's row.
    before, lowest, first: as of `packets.scan_summaries`.
    """
    projection = _STATE_AND_HISTORY if with_steps or "verdict" in row_filters else _STATE
    for fitting in packets.scan_summaries(
        view, filters, reverse=reverse, before=before, lowest=lowest, first=first
    ):
        states = view.get_many([key("state", s.session_id, s.packet_id) for s in fitting])
        for summary, row in zip(fitting, states, strict=True):
            if row is not None and _row_matches(state := projection.of(row), row_filters):
                yield _listed_packet(summary, state, with_steps=with_steps)


def _row_matches(state: Mapping[str, Any], row_filters: dict[str, str]) -> bool:
    """Return whether a packet's row matches; the history of a rejected one says so."""
    row = {"state": state["state"], "sender": state["sender_agent_id"]}
    if "verdict" in row_filters:
        is_rejected = any(step["event"] in _REJECTIONS for step in state["history"])
        row["verdict"] = _REJECTED if is_rejected else _ACCEPTED
    return matches(row, row_filters)


def _json(record: str | None, row: bytes) -> Json:
    assert record is not None
    return to_json(record, decode(row, record).value)
