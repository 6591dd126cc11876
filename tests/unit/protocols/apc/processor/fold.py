"""What the rows must be, from the facts alone: an account of its own, not the processor's."""

from __future__ import annotations

from collections.abc import Iterable

from tests.unit.protocols.apc.processor.packets import Json

KEEPS = ("ROUTED", "DELIVERED", "APPLIED")
LOST = ("REJECTED_SCHEMA", "REJECTED_POLICY", "EXPIRED", "RETRACTED")


def packet_rows(facts: Iterable[Json]) -> dict[tuple[str, str], Json]:
    """Rows of `apc.packet-states` in JSON, by (session, packet), from facts in log order."""
    rows: dict[tuple[str, str], Json] = {}
    packets: dict[tuple[str, str], Json] = {}
    for fact in facts:
        place = (fact["session_id"], fact["packet_id"])
        if fact["verdict"] in ("accepted", "rejected") and fact["state"] is not None:
            packets[place] = fact["packet"]
            rows[place] = _first(fact)
        elif fact["verdict"] in ("effect", "fired"):
            _change(rows[place], fact)
        if place in rows:
            row = rows[place]
            row["packet"] = packets[place] if row["state"] in KEEPS else None
    return rows


def _first(fact: Json) -> Json:
    packet = fact["packet"]
    metadata = packet.get("metadata")
    project = metadata.get("project_id") if isinstance(metadata, dict) else None
    return {
        "session_id": fact["session_id"],
        "packet_id": fact["packet_id"],
        "packet_type": fact["packet_type"],
        "run_id": fact["run_id"],
        "task_id": fact["task_id"],
        "generation": packet["trace"]["generation"],
        "sender_agent_id": packet["sender"]["agent_id"],
        "sender_swarm_id": packet["sender"]["swarm_id"],
        "recipients": list(dict.fromkeys(one["agent_id"] for one in packet["recipients"])),
        "transfer": _transfer(fact),
        "packet_hash": fact["packet_hash"],
        "identity_hash": fact["identity_hash"],
        "position": fact["cause"],
        "logged_at": fact["at"],
        "trace_id": fact["trace_id"],
        "project_id": project if isinstance(project, str) else None,
        "state": fact["state"],
        "rule": fact["rule"],
        "history": fact["transitions"],
        "acks": fact["acks"],
        "verification": fact["verification"],
        "gates": fact["gates"],
        "counted": fact["state"] not in LOST,
        "updated_at": fact["at"],
        "version": 1,
        "strategies": fact["strategies"],
    }


def _transfer(fact: Json) -> Json | None:
    packet = fact["packet"]
    payload = packet["payload"]
    if packet["packet_type"] != "TRANSFER" or "transfer_policy" not in payload:
        return None
    throttle = fact["throttle"]
    return {
        "protocol_id": payload["protocol_id"],
        "to_swarm": payload["to_swarm"],
        "sender_score": payload["sender_score"],
        "receiver_score": payload["receiver_score"],
        "accepted": payload.get("accepted", False),
        "cross_use_case": packet.get("lineage", {}).get("cross_use_case", False),
        "selection": throttle and throttle["selection"],
    }


def _change(row: Json, fact: Json) -> None:
    if fact["transitions"]:
        row["rule"] = fact["rule"]
    row["state"] = fact["state"]
    row["history"] = row["history"] + fact["transitions"]
    row["acks"] = fact["acks"]
    row["verification"] = fact["verification"]
    row["counted"] = row["counted"] and row["state"] not in LOST
    row["updated_at"] = fact["at"]
    row["version"] += 1
