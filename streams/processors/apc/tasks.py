"""The counted EVALs of each task, in log order: what a DECISION is promoted on."""

from __future__ import annotations

from schemas.apc.decimals import to_nano
from streams.engine.processor import AvroValue
from streams.processors.apc.inbound import Desk, Inbound
from topology.keys import composite


def add(packet: Inbound, desk: Desk, gates_met: bool) -> None:
    """An accepted EVAL is counted from now on."""
    metrics = packet.payload["metric_set"]
    drift = metrics["drift_risk"]
    key = composite(packet.session_id, packet.trace["run_id"], packet.trace["task_id"])
    task = desk.tasks.get(key) or {"evals": [], "protocols": {}}
    counted = {
        "packet_id": packet.packet_id,
        "outcome_nano": to_nano(metrics["outcome"]),
        "drift_nano": None if drift is None else to_nano(drift),
        "gates_met": gates_met,
    }
    desk.tasks.put(key, {**task, "evals": [*task["evals"], counted]})


def remove(row: AvroValue, desk: Desk) -> None:
    """A packet has ceased to be counted; only EVALs have a place to give back."""
    if row["packet_type"] != "EVAL":
        return
    key = _key(row)
    task = desk.tasks.get(key)
    if task is None:
        return
    evals = [counted for counted in task["evals"] if counted["packet_id"] != row["packet_id"]]
    if evals or task["protocols"]:
        desk.tasks.put(key, {**task, "evals": evals})
    else:
        desk.tasks.delete(key)


def newest_eval_met_gates(row: AvroValue, desk: Desk) -> bool:
    """Whether the newest counted EVAL of the task of this packet met the gates."""
    task = desk.tasks.get(_key(row))
    return bool(task and task["evals"] and task["evals"][-1]["gates_met"])


def _key(row: AvroValue) -> str:
    return composite(row["session_id"], row["run_id"], row["task_id"])
