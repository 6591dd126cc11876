"""Packets: `apc.packet-states`, of `apc.events`.

The verdict that keeps a packet makes its row; an effect and a timer show what moved, and the
standing that it came to.

Source: APC spec, 4 and 5.
"""

from __future__ import annotations

from typing import Any

import orjson

from streams.protocols.apc.processor.lifecycle import KEEPS_PACKET, NOT_COUNTED, recipients
from streams.replay.fold.fold import Commands, Fact, Fold, Row
from topology.apc import APC_EVENTS, APC_PACKET_STATES_TABLE
from topology.declarations import Topic
from topology.keys import composite

_STANDING = ("state", "gates", "acks", "verification")
_TRANSFER = "headrace.apc.TransferPayload"


def row_key(topic: Topic, fact: Fact) -> str | None:
    moves = fact["verdict"] in ("effect", "fired")
    judged = fact["verdict"] in ("accepted", "rejected") and fact["packet"] is not None
    return composite(fact["session_id"], fact["packet_id"]) if moves or judged else None


def step(row: Row | None, topic: Topic, fact: Fact, commands: Commands) -> Row | None:
    if fact["verdict"] in ("accepted", "rejected"):
        return _first(fact)
    return None if row is None else _next(row, fact)


def _first(fact: Fact) -> Row:
    packet = fact["packet"]
    trace, sender, metadata = packet["trace"], packet["sender"], _metadata(packet)
    project = metadata.get("project_id")
    return {
        "session_id": fact["session_id"],
        "packet_id": fact["packet_id"],
        "packet": packet if fact["state"] in KEEPS_PACKET else None,
        "packet_type": fact["packet_type"],
        "run_id": fact["run_id"],
        "task_id": fact["task_id"],
        "generation": trace["generation"],
        "sender_agent_id": sender["agent_id"],
        "sender_swarm_id": sender["swarm_id"],
        "recipients": recipients(packet),
        "transfer": _transfer(fact),
        "packet_hash": fact["packet_hash"],
        "identity_hash": fact["identity_hash"],
        "position": fact["cause"],
        "logged_at": fact["at"],
        "trace_id": fact["trace_id"],
        "project_id": project if isinstance(project, str) else None,
        **{name: fact[name] for name in _STANDING},
        "rule": fact["rule"],
        "history": list(fact["transitions"]),
        "counted": fact["state"] not in NOT_COUNTED,
        "updated_at": fact["at"],
        "version": 1,
    }


def _next(row: Row, fact: Fact) -> Row:
    """What the fact leaves out of its transitions is its own time and cause."""
    own = {
        "at": None if fact["at"] == row["logged_at"] else fact["at"],
        "cause": None if fact["cause"] == row["position"] else fact["cause"],
    }
    moved = [{**transition, **own} for transition in fact["transitions"]]
    return {
        **row,
        **{name: fact[name] for name in _STANDING},
        "packet": row["packet"] if fact["state"] in KEEPS_PACKET else None,
        "rule": fact["rule"] if moved else row["rule"],
        "history": [*row["history"], *moved],
        "counted": row["counted"] and fact["state"] not in NOT_COUNTED,
        "updated_at": fact["at"],
        "version": row["version"] + 1,
    }


def _metadata(packet: Fact) -> Row:
    text = packet["metadata_json"]
    found: Any = None if text is None else orjson.loads(text)
    return found if isinstance(found, dict) else {}


def _transfer(fact: Fact) -> Row | None:
    """The member `transfer` of a TRANSFER's row."""
    branch, payload = fact["packet"]["payload"]
    if fact["packet_type"] != "TRANSFER" or branch != _TRANSFER:
        return None
    lineage, throttle = fact["packet"]["lineage"] or {}, fact["throttle"]
    named = ("protocol_id", "to_swarm", "sender_score", "receiver_score")
    return {
        **{name: payload[name] for name in named},
        "accepted": bool(payload["accepted"]),
        "cross_use_case": bool(lineage.get("cross_use_case")),
        "selection": None if throttle is None else throttle["selection"],
    }


FOLD = Fold(APC_PACKET_STATES_TABLE, (APC_EVENTS,), row_key, step)
