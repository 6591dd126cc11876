"""What the coordination and throttle rows must be, from the facts alone."""

from __future__ import annotations

from collections.abc import Iterable

from tests.unit.protocols.apc.processor.packets import Json
from topology.keys import composite


def lived(fact: Json) -> bool:
    """The fact accepts a packet that had not expired when it came."""
    return bool(fact["verdict"] == "accepted" and fact["state"] != "EXPIRED")


def coordination_rows(facts: Iterable[Json]) -> dict[str, Json]:
    """Rows of `apc.coordination` in JSON, by key, from facts in log order."""
    rows: dict[str, Json] = {}
    for fact in facts:
        before = {key: _held(row) for key, row in rows.items()}
        if lived(fact):
            _accepted(rows, fact)
        elif fact["verdict"] == "fired":
            _noted(rows, fact["session_id"], fact["coordination"])
        for key, row in rows.items():
            if before.get(key) != _held(row):
                row["updated_at"] = fact["at"]
                row["version"] += 1
    return rows


def throttle_rows(facts: Iterable[Json]) -> dict[str, Json]:
    """Rows of `apc.throttling` in JSON, by key, from facts in log order."""
    rows: dict[str, Json] = {}
    for fact in facts:
        if fact["throttle"] is None or not (fact["verdict"] == "rejected" or lived(fact)):
            continue
        packet, throttle = fact["packet"], fact["throttle"]
        trace, payload = packet["trace"], packet["payload"]
        members = {
            "session_id": trace["session_id"],
            "run_id": trace["run_id"],
            "generation": trace["generation"],
            "protocol_id": payload["protocol_id"],
            "from_swarm": payload["from_swarm"],
        }
        start: Json = {"receivers": [], "last_top_k": None, "accepted": 0, "rejected": {}}
        window = {"window": throttle["window"]}
        key = composite(*map(str, members.values()))
        row = rows.setdefault(key, {**members, **window, **start})
        row["updated_at"] = fact["at"]
        if fact["verdict"] == "rejected":
            row["rejected"][fact["rule"]] = row["rejected"].get(fact["rule"], 0) + 1
            continue
        row["accepted"] += 1
        row["last_top_k"] = payload["transfer_policy"]["top_k"]
        if payload["to_swarm"] not in [one["to_swarm"] for one in row["receivers"]]:
            place = {"to_swarm": payload["to_swarm"], "packet_id": fact["packet_id"]}
            row["receivers"].append({**place, "at": fact["at"]})
    return rows


def _held(row: Json) -> Json:
    return {name: list(v) if isinstance(v, list) else v for name, v in row.items()}


def _row(rows: dict[str, Json], session_id: str, agent_id: str | None) -> Json:
    key = composite(session_id) if agent_id is None else composite(session_id, agent_id)
    blank: Json = {
        "session_id": session_id,
        "agent_id": agent_id,
        "machine": "intra" if agent_id else "inter",
        "state": "LOCAL_IDLE" if agent_id else "SESSION_OPEN",
        "history": [],
        "swarms": [],
        "swarms_ready": [],
        "open_vetoes": [],
        "artifact_seen": False,
        "eval_seen": False,
        "generation_opened": False,
        "awaiting_packet_id": None,
        "halted_by": None,
        "limits": None,
        "used": None,
        "opened_at": None,
        "version": 0,
    }
    return rows.setdefault(key, blank)


def _accepted(rows: dict[str, Json], fact: Json) -> None:
    packet, notes = fact["packet"], list(fact["coordination"])
    row = _row(rows, fact["session_id"], None)
    row["opened_at"] = row["opened_at"] or fact["at"]
    agents = [packet["sender"], *packet["recipients"]]
    swarms = {agent["swarm_id"] for agent in agents if "swarm_id" in agent}
    row["swarms"] = sorted(swarms | set(row["swarms"]))
    _vetoes(row, packet)
    if "coordination_event" in packet.get("metadata", {}):
        _noted(rows, fact["session_id"], notes[:1])
        del notes[0]
    if packet["trace"]["generation"] >= 11:
        row["generation_opened"] = True
    signal = packet["payload"].get("signal") if packet["packet_type"] == "SIGNAL" else None
    if signal == "SYNC" and row["state"] == "DIFFERENTIATED_RESEARCH":
        ready = {*row["swarms_ready"], packet["sender"]["swarm_id"]}
        row["swarms_ready"] = sorted(ready)
    if row["state"] == "EXECUTION":
        row["artifact_seen"] |= packet["packet_type"] == "ARTIFACT"
        row["eval_seen"] |= packet["packet_type"] == "EVAL"
    _noted(rows, fact["session_id"], notes)


def _vetoes(row: Json, packet: Json) -> None:
    agent, packet_id = packet["sender"]["agent_id"], packet["packet_id"]
    payload, vetoes = packet["payload"], row["open_vetoes"]
    match packet["packet_type"]:
        case "SIGNAL":
            if payload["signal"] == "VETO":
                vetoes = [*vetoes, {"agent_id": agent, "packet_id": packet_id}]
            elif payload["signal"] == "RESUME":
                vetoes = [veto for veto in vetoes if veto["agent_id"] != agent]
        case "RETRACTION":
            target = payload["target_packet_id"]
            vetoes = [veto for veto in vetoes if veto["packet_id"] != target]
        case "ARBITRATION":
            named = [veto["agent_id"] for veto in payload.get("vetoes", [])]
            vetoes = [{"agent_id": name, "packet_id": packet_id} for name in named]
    row["open_vetoes"] = vetoes


def _noted(rows: dict[str, Json], session_id: str, notes: Iterable[Json]) -> None:
    for note in notes:
        if not note["applied"]:
            continue
        row = _row(rows, session_id, note["agent_id"])
        assert row["state"] == note["from_state"]
        row["state"] = note["to_state"]
        row["history"] = [*row["history"], note][-20:]
        if note["machine"] == "intra":
            waits = note["to_state"] == "WAIT_FOR_ACK"
            row["awaiting_packet_id"] = note["packet_id"] if waits else None
        elif note["to_state"] == "DIFFERENTIATED_RESEARCH":
            row["swarms_ready"] = []
        elif note["to_state"] == "HALTED":
            row["halted_by"] = "signal"
        elif note["to_state"] == "EXECUTION":
            row["artifact_seen"] = row["eval_seen"] = False
