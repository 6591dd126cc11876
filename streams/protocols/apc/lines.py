"""One line for each record of APC's topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streams.api.lines import Line, LineOf, count_of, names, one_line, parts, short, verdict_line
from streams.protocols.apc.lineage.effectiveness import BELOW_THRESHOLD
from topology import apc as topics

Json = Mapping[str, Any]


def _packet_name(value: Json) -> str:
    return f"{value.get('packet_type') or 'packet'} {short(value.get('packet_id'))}"


def _parties(packet: Json | None) -> str:
    if packet is None:
        return ""
    recipients = names([each["agent_id"] for each in packet["recipients"]])
    return f"{packet['sender']['agent_id']} → {recipients or 'nobody'}"


_SUMMARIES: Mapping[str, Callable[[Json], str]] = {
    "acked_packet_id": lambda p: f"{p['ack_status']} {short(p['acked_packet_id'])}",
    "target_packet_id": lambda p: f"retracts {short(p['target_packet_id'])}",
    "to_swarm": lambda p: f"{p['protocol_id']}, {p['from_swarm']} → {p['to_swarm']}",
    "winner_candidate_id": lambda p: f"{p['arbitration_id']}, winner {p['winner_candidate_id']}",
    "pass": lambda p: "passed" if p["pass"] else "not passed",
    "error_code": lambda p: f"{p['error_code']}: {p['message']}",
    "artifact_uri": lambda p: p["artifact_uri"],
    "intent": lambda p: p["intent"],
    "text": lambda p: p["text"],
    "signal": lambda p: p["signal"],
    "recommendation": lambda p: p["recommendation"],
}
"""By a required member of the payload: what is written to Kafka directly may have the payload of
another type."""


def _packet(value: Json) -> Line:
    payload = value["payload"]
    summaries = (form(payload) for member, form in _SUMMARIES.items() if member in payload)
    return Line(
        who=_packet_name(value),
        what=_parties(value),
        text=value["run_phase"],
        reason=one_line(parts(next(summaries, None), payload.get("reason"))),
    )


def _event(value: Json) -> Line:
    verdict, state = value["verdict"], value["state"]
    if verdict in ("effect", "fired"):
        verdict = f"{verdict}, {state}" if state else verdict
    parties = _parties(value["packet"])
    return verdict_line(_packet_name(value), parties, verdict, value["rule"], value["message"])


def _delivery(value: Json) -> Line:
    packet = value["packet"]
    return Line(
        who=value["recipient_agent_id"],
        what=f"{_packet_name(packet)} from {packet['sender']['agent_id']}",
        text=value["kind"],
        reason=f"attempt {value['attempt']}",
    )


def _packet_state(value: Json) -> Line:
    return Line(
        who=_packet_name(value),
        what=f"{value['sender_agent_id']} → {names(value['recipients']) or 'nobody'}",
        text=value["state"],
        rule=value["rule"],
    )


def _coordination(value: Json) -> Line:
    vetoes = names([each["agent_id"] for each in value["open_vetoes"]])
    return Line(
        who=short(value["session_id"]),
        what=value["agent_id"] or "",
        text=value["state"],
        reason=f"open veto of {vetoes}" if vetoes else "",
    )


def _throttle(value: Json) -> Line:
    refused = sum(value["rejected"].values())
    receivers = names([each["to_swarm"] for each in value["receivers"]])
    return Line(
        who=value["protocol_id"],
        what=f"from {value['from_swarm']}, generation {value['generation']}",
        text=f"{value['accepted']} accepted, {refused} refused",
        rule=", ".join(sorted(value["rejected"])),
        reason=f"received by {receivers}" if receivers else "",
    )


def _decision(value: Json) -> Line:
    if (decay := value["decay"]) is not None:
        return _decay(value, decay)
    if (arbitration := value["arbitration"]) is None:
        return Line(who=value["protocol_id"], text=value["kind"])
    chosen = names(arbitration["selected_packet_ids"]) or "none"
    blocked = arbitration["blocked"]
    reasons = ", ".join(sorted({each["reason"] for each in blocked}))
    return Line(
        who=short(arbitration["arbitration_id"]),
        text=f"selected {arbitration['selected_count']} of {arbitration['candidate_count']}"
        f" (top_k {arbitration['top_k']}): {chosen}"
        + (f"; blocked {len(blocked)}: {reasons}" if blocked else ""),
    )


def _decay(value: Json, decay: Json) -> Line:
    limits = [_limit(reason, decay) for reason in decay["reasons"]]
    transfers = count_of(decay["transfer_count"], "transfer")
    score = f"{decay['effectiveness_score']:.3g}"
    return Line(
        who=value["protocol_id"],
        text="decayed" if decay["blocked"] else "recovered",
        rule=", ".join(decay["reasons"]),
        reason="; ".join([*(limits or [f"effectiveness {score}"]), transfers]),
    )


def _limit(reason: str, decay: Json) -> str:
    if reason == BELOW_THRESHOLD:
        return f"{decay['effectiveness_score']:.3g} < {decay['score_threshold']:g}"
    return f"{decay['drift_used']:.3g} > {decay['drift_threshold']:g}"


def _lineage(value: Json) -> Line:
    return Line(
        who=value["protocol_id"],
        what="" if value["run_id"] is None else f"run {short(value['run_id'])}",
        text="decayed" if value["blocked"] else "in use",
        rule=", ".join(value["blocked_reasons"]),
        reason=f"{count_of(value['transfers'], 'transfer')}, {value['accepted']} accepted,"
        f" effectiveness {value['effectiveness_score']:.3g}",
    )


def _prior(value: Json) -> Line:
    return Line(
        who=value["strategy"],
        what=f"{value['kind']} in {value['use_case']}",
        text=count_of(value["attempts"], "attempt"),
        reason=f"outcomes {value['outcome_sum_nano'] / 10**9:.3g} in all,"
        f" gates met {value['gates_met']}",
    )


LINES: Mapping[str, LineOf] = {
    topics.APC_PACKETS.name: _packet,
    topics.APC_EVENTS.name: _event,
    topics.APC_INBOX.name: _delivery,
    topics.APC_PACKET_STATES.name: _packet_state,
    topics.APC_COORDINATION.name: _coordination,
    topics.APC_THROTTLING.name: _throttle,
    topics.APC_DECISIONS.name: _decision,
    topics.APC_LINEAGE.name: _lineage,
    topics.APC_PRIORS.name: _prior,
}
