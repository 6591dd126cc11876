"""Facts of each key form a legal path through its machine, and count without a gap.

A step goes on from where the last one ended, along an edge.  The machines are the tables that
the service declares; which facts are steps of which is told here once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from schemas import Undecodable, decode_many
from streams.engine.records import position
from tests.history.anomalies import Anomaly, Finding
from tests.history.sources import Source
from topology.declarations import Topic
from topology.machine import Machine, step
from topology.machines import (
    apc_inter,
    apc_intra,
    apc_packet,
    asap_task,
    sap_task,
    summit_run,
)
from topology.topics import APC_EVENTS, ASAP_EVENTS, RTES_EVENTS, SAP_OUTCOMES, SUMMIT_EVENTS

Json = dict[str, Any]
_NONE = "none"


class Move(NamedTuple):
    """machine: None where any state may follow any other.  key: of what moves.  event: None where
    the fact does not name it.  start: None for what begins.  stood: before any fact of it."""

    machine: Machine[Any] | None
    key: tuple[object, ...]
    event: str | None
    start: str | None
    end: str
    stood: str | None = None


def check(source: Source) -> Iterator[Finding]:
    yield from _legal(source)
    yield from _numbered(source)


def _legal(source: Source) -> Iterator[Finding]:
    for topic, moves in MOVES.items():
        stands: dict[tuple[object, ...], str] = {}
        for place, fact in facts(source, topic):
            for move in moves(fact):
                told = _wrong(move, stands.get(move.key))
                if told is not None:
                    yield Finding(Anomaly.ILLEGAL_STEP, place, f"{move.key} {told}")
                stands[move.key] = move.end


def _wrong(move: Move, stands: str | None) -> str | None:
    start = move.start
    if stands is not None and start not in (None, stands):
        return f"leaves {start}, and stood in {stands}"
    if stands is None:
        stands = start or move.stood
    machine = move.machine
    if machine is None:
        return None
    if stands in (None, _NONE) and move.end == machine.initial:
        return None
    stands = stands or machine.initial
    events = machine.events if move.event is None else (move.event,)
    if all(step(machine, stands, event) != move.end for event in events):
        return f"goes from {stands} to {move.end}, where no edge leads"
    return None


def _numbered(source: Source) -> Iterator[Finding]:
    """Sequences of a session on rtes.events run 1, 2, 3…, in the order of the log."""
    last: dict[str, int] = {}
    for place, fact in facts(source, RTES_EVENTS):
        session, before = fact["session_id"], last.get(fact["session_id"], 0)
        if fact["sequence"] != before + 1:
            told = f"{session} has {fact['sequence']} after {before}"
            yield Finding(Anomaly.SEQUENCE, place, told)
        last[session] = fact["sequence"]


def facts(source: Source, topic: Topic) -> Iterator[tuple[str, Json]]:
    """Positions and Avro values, by partition in order."""
    records = source.records(topic)
    values = decode_many([record.value for record in records], topic.record or "")
    for record, read in zip(records, values, strict=True):
        assert not isinstance(read, Undecodable), position(record)
        yield position(record), read.value


def _apc(fact: Json) -> Iterator[Move]:
    key = ("packet", fact["session_id"], fact["packet_id"])
    for moved in fact["transitions"]:
        yield Move(apc_packet.MACHINE, key, moved["event"], moved["from_state"], moved["to_state"])
    for note in fact["coordination"]:
        if note["applied"]:
            inter = note["machine"] == "inter"
            machine: Machine[Any] = apc_inter.MACHINE if inter else apc_intra.MACHINE
            key = ("session", fact["session_id"], note["agent_id"])
            yield Move(machine, key, note["event"], note["from_state"], note["to_state"])


def _sap(outcome: Json) -> Iterator[Move]:
    key, end = (outcome["taskId"].lower(),), outcome["status"]
    yield Move(sap_task.MACHINE, key, None, None, end, sap_task.TaskState.QUEUED)


def _asap(fact: Json) -> Iterator[Move]:
    for moved in fact["transitions"]:
        start, end = moved["from_status"], moved["to_status"]
        yield Move(asap_task.MACHINE, (fact["task_id"],), None, start, end)


def _summit(fact: Json) -> Iterator[Move]:
    runs = fact["subject"] != "manifest" and fact["verdict"] in ("accepted", "fired")
    if runs and fact["toState"] is not None:
        start, end = fact["fromState"], fact["toState"]
        yield Move(summit_run.MACHINE, (fact["runId"],), None, start, end)


def _rtes(event: Json) -> Iterator[Move]:
    """Of tasks as RTES tells them: each transition leaves the state that the last one entered."""
    _, payload = event["payload"]
    if "to_state" in payload:
        key = (event["session_id"], event["origin"], event["task_id"])
        yield Move(None, key, None, payload["from_state"], payload["to_state"])


MOVES = {
    APC_EVENTS: _apc,
    SAP_OUTCOMES: _sap,
    ASAP_EVENTS: _asap,
    SUMMIT_EVENTS: _summit,
    RTES_EVENTS: _rtes,
}
"""By the topic of the facts."""
