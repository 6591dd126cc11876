"""The fold of `apc.events` to `apc.packet-states`.

The verdict on a packet makes its row.  A fact of an effect or a timer carries the transitions,
and the state after them.

Source: APC guide, 4 and 5.
"""

from __future__ import annotations

from typing import Any

import orjson

from streams.protocols.apc.processor.lifecycle import KEEPS_PACKET, NOT_COUNTED, recipients
from streams.replay.fold.fold import Commands, Fact, Fold, Row
from topology.apc import APC_EVENTS, APC_PACKET_STATES_TABLE
from topology.declarations import Topic
from topology.keys import composite

_STATE_MEMBERS = ("state", "gates", "acks", "verification")
_TRANSFER = "headrace.apc.TransferPayload"


def row_key(topic: Topic, fact: Fact) -> str | None:
    changes_row = fact["verdict"] in ("effect", "fired") and fact["packet_id"] is not None
    makes_row = fact["verdict"] in ("accepted", "rejected") and fact["packet"] is not None
    return composite(fact["session_id"], fact["packet_id"]) if changes_row or makes_row else None


def step(row: Row | None, topic: Topic, fact: Fact, commands: Commands) -> Row | None:
    if fact["verdict"] in ("accepted", "rejected"):
        return _new_row(fact)
    return None if row is None else _apply(row, fact)


def _new_row(fact: Fact) -> Row:
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
        **{name: fact[name] for name in _STATE_MEMBERS},
        "rule": fact["rule"],
        "history": list(fact["transitions"]),
        "counted": fact["state"] not in NOT_COUNTED,
        "updated_at": fact["at"],
        "version": 1,
        "strategies": fact["strategies"],
    }


def _apply(row: Row, fact: Fact) -> Row:
    """Apply a fact to the row, filling in the time and cause that its transitions leave out."""
    origin = {
        "at": None if fact["at"] == row["logged_at"] else fact["at"],
        "cause": None if fact["cause"] == row["position"] else fact["cause"],
    }
    transitions = [{**transition, **origin} for transition in fact["transitions"]]
    return {
        **row,
        **{name: fact[name] for name in _STATE_MEMBERS},
        "packet": row["packet"] if fact["state"] in KEEPS_PACKET else None,
        "rule": fact["rule"] if transitions else row["rule"],
        "history": [*row["history"], *transitions],
        "counted": row["counted"] and fact["state"] not in NOT_COUNTED,
        "updated_at": fact["at"],
        "version": row["version"] + 1,
    }


def _metadata(packet: Fact) -> Row:
    text = packet["metadata_json"]
    metadata: Any = None if text is None else orjson.loads(text)
    return metadata if isinstance(metadata, dict) else {}


def _transfer(fact: Fact) -> Row | None:
    """Return the member `transfer` of a TRANSFER's row."""
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
