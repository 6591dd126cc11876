"""The things of APC for `GET /v1/things/{node}`: packets and protocols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from schemas import decode, to_json
from streams.api.route import Call
from streams.api.things import (
    Check,
    Ids,
    Step,
    Thing,
    ThingAgent,
    ThingQuery,
    ThingVerdict,
    last_change,
    merge_by_cause,
    unknown_node,
)
from streams.protocols.apc import as_of
from streams.protocols.apc.packet_summaries import Summary, find_summary
from streams.protocols.apc.processor.lifecycle import recipients
from streams.protocols.apc.processor.transfer_checks import FAIL, PASS
from streams.protocols.apc.queries import packets, protocols
from streams.views.keys import key, position_at_end
from streams.views.reads import ReadOnlyStore
from topology.apc import APC_DECISIONS, APC_EVENTS
from topology.machines.apc_packet import MACHINE

Fact = dict[str, Any]
_VERDICTS = ("accepted", "duplicate", "rejected")
_TIMER = "fired"
_FIGURES = ("throttle", "gates", "anti_drift", "acks", "verification")
_HOLDS = {PASS: True, FAIL: False}
_EFFECTIVE, _DECAYED = "effective", "decayed"


def _find_packets(view: ReadOnlyStore, packet_id: str, session_id: str | None) -> list[Ids]:
    packet_id = packet_id.lower()
    if session_id is not None:
        return [{"session_id": session_id, "packet_id": packet_id}]
    summaries = (Summary.load(row) for _, row in view.scan(key("packet", packet_id)))
    return [{"session_id": each.session_id, "packet_id": packet_id} for each in summaries]


def _packet(call: Call) -> Thing:
    session_id, packet_id = call.ids["session_id"], call.ids["packet_id"]
    facts = _facts(call, session_id, packet_id)
    if not facts:
        raise unknown_node(f"apc:packet:{packet_id}")
    steps = merge_by_cause(_steps(facts))
    state, last = steps[-1].after, facts[-1][1]
    summary = find_summary(call.view, session_id, packet_id)
    is_end = state in MACHINE.terminal
    return Thing(
        node=f"apc:packet:{packet_id}",
        title=_title(packet_id, summary),
        state=state,
        terminal=is_end,
        machine=MACHINE.name,
        api=_packet_path(session_id, packet_id),
        details=lambda: None if state is None else packets.packet(call.view, session_id, packet_id),
        steps=steps,
        verdicts=lambda: [_verdict(place, fact) for place, fact in facts if _is_ruling(fact)],
        agents=_agents(facts),
        session_id=session_id,
        trace=session_id,
        started_at=steps[0].at,
        ended_at=last_change(steps) if is_end else None,
        due_at=None if is_end else _due_at(last),
    )


def _packet_path(session_id: str, packet_id: str) -> str:
    return f"/v1/apc/sessions/{quote(session_id, safe='')}/packets/{packet_id}"


def _title(packet_id: str, summary: Summary | None) -> str:
    short = packet_id[:8]
    if summary is None:
        return f"packet {short}"
    return f"{summary.packet_type} {short} in {summary.run_phase}"


def _facts(call: Call, session_id: str, packet_id: str) -> list[tuple[str, Fact]]:
    """Return the positions and values of the facts about a packet, in log order."""
    facts = []
    for row_key, row in call.view.scan(key("fact", session_id, packet_id)):
        _, partition, offset = position_at_end(row_key)
        fact = decode(row, APC_EVENTS.record or "").value
        facts.append(((partition, offset), fact))
    facts.sort(key=lambda each: each[0])
    topic = call.settings.prefix + APC_EVENTS.name
    return [(f"{topic}/{partition}/{offset}", fact) for (partition, offset), fact in facts]


def _steps(facts: Sequence[tuple[str, Fact]]) -> Iterator[Step]:
    state: str | None = None
    for place, fact in facts:
        transitions = fact["transitions"]
        before, state = state, fact["state"] or state
        yield Step(
            at=fact["at"],
            event=transitions[-1]["event"] if transitions else None,
            before=before,
            after=state,
            verdict=fact["verdict"] if fact["verdict"] in _VERDICTS else None,
            rule=fact["rule"],
            message=fact["message"],
            cause=_cause(fact),
            fact=place,
        )


def _is_ruling(fact: Fact) -> bool:
    """Return whether a fact is a verdict on the packet, or the expiry that ended it."""
    has_expired = fact["verdict"] == _TIMER and fact["state"] in MACHINE.terminal
    return has_expired or fact["verdict"] in _VERDICTS


def _cause(fact: Fact) -> str | None:
    """Return the position of the record that a fact was decided on; None for a timer's."""
    cause: str = fact["cause"]
    return None if fact["verdict"] == _TIMER else cause


def _verdict(place: str, fact: Fact) -> ThingVerdict:
    as_json = to_json(APC_EVENTS.record or "", fact)
    return ThingVerdict(
        at=fact["at"],
        verdict=fact["verdict"],
        rule=fact["rule"],
        message=fact["message"],
        fault=fact["fault"],
        figures={name: as_json[name] for name in _FIGURES if as_json[name] is not None},
        errors=as_json["errors"],
        checks=list(_checks(as_json)),
        cause=_cause(fact),
        fact=place,
    )


def _checks(fact: Fact) -> Iterator[Check]:
    """Yield the checks of a transfer and the gates of an evaluation, in their order."""
    for check in (fact["throttle"] or {}).get("checks", ()):
        bound = None if check["op"] is None else f"{check['op']} {check['right']}"
        yield Check(check["rule"], _HOLDS.get(check["outcome"]), check["left"], bound)
    for gate in (fact["gates"] or {}).get("checks", ()):
        used = None if gate["used"] is None else str(gate["used"])
        yield Check(gate["metric"], gate["ok"], used, f"{gate['op']} {gate['threshold']}")


def _agents(facts: Sequence[tuple[str, Fact]]) -> list[ThingAgent]:
    """Return the sender and the recipients, as the fact that has the packet names them."""
    packet = next((fact["packet"] for _, fact in facts if fact["packet"] is not None), None)
    if packet is None:
        return []
    sender = ThingAgent(packet["sender"]["agent_id"], "sender")
    return [sender, *(ThingAgent(each, "recipient") for each in recipients(packet))]


def _due_at(fact: Fact) -> int | None:
    """Return when the next timer of a packet fires, as its last fact says."""
    acks = fact["acks"] or {}
    due: int | None = acks.get("ack_due_at") or acks.get("deadline_at") or fact["due_at"]
    return due


def _find_protocol(view: ReadOnlyStore, protocol_id: str, session_id: str | None) -> list[Ids]:
    return [{"protocol_id": protocol_id}]


def _protocol(call: Call) -> Thing:
    protocol_id = call.ids["protocol_id"]
    details = protocols.protocol(call.view, protocol_id)
    decisions = list(_decisions(call, protocol_id))
    steps = list(_protocol_steps(decisions))
    return Thing(
        node=f"apc:protocol:{protocol_id}",
        title=f"protocol {protocol_id}",
        state=steps[-1].after if steps else None,
        terminal=False,
        machine=None,
        api=f"/v1/apc/protocols/{quote(protocol_id, safe='')}",
        details=lambda: details,
        steps=steps,
    )


def _decisions(call: Call, protocol_id: str) -> Iterator[tuple[str, Fact]]:
    """Yield the positions and values of the decisions whether a protocol has decayed."""
    topic = call.settings.prefix + APC_DECISIONS.name
    for index_key, row_key in call.view.scan(key("decision of", protocol_id)):
        (row,) = call.view.get_many([row_key])
        decision = decode(row or b"", APC_DECISIONS.record or "").value
        if decision["decay"] is not None:
            _, partition, offset = position_at_end(index_key)
            yield f"{topic}/{partition}/{offset}", decision


def _protocol_steps(decisions: Sequence[tuple[str, Fact]]) -> Iterator[Step]:
    state = _EFFECTIVE
    for place, decision in decisions:
        before, state = state, _DECAYED if decision["decay"]["blocked"] else _EFFECTIVE
        reasons = ", ".join(decision["decay"]["reasons"]) or None
        yield Step(
            at=decision["at"],
            event=_DECAYED if decision["decay"]["blocked"] else "recovered",
            before=before,
            after=state,
            message=reasons,
            cause=decision["cause"],
            fact=place,
        )


THINGS: Mapping[str, ThingQuery] = {
    "apc:packet": ThingQuery(
        _packet,
        _find_packets,
        as_of.packet,
        lambda ids: key("state", ids["session_id"], ids["packet_id"]),
    ),
    "apc:protocol": ThingQuery(
        _protocol, _find_protocol, row=lambda ids: key("protocol", ids["protocol_id"])
    ),
}
