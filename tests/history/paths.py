"""Facts of each key form a legal path through its machine, and count without a gap.

A step goes on from where the last one ended, along an edge: the one that the fact names, where it
names one.  The machines are the tables that the service declares; which facts are steps of which
is told here once more.  What RTES hears of another protocol's tasks is held to that protocol's
machine too.

Not here are the machines whose steps no fact names: admissions of ASAP and flights of SAP, whose
ends `tests.history.protocols` checks, and the blocks of private keys.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from schemas import Undecodable, decode_many
from streams.engine.records import position
from tests.history.anomalies import Anomaly, Violation
from tests.history.sources import Source
from topology.apc import APC_EVENTS
from topology.asap import ASAP_EVENTS
from topology.declarations import Topic
from topology.machine import Machine, define, step
from topology.machines import (
    apc_inter,
    apc_intra,
    apc_packet,
    asap_call,
    asap_task,
    rtes_call,
    rtes_thought,
    saop_rewind,
    saop_turn,
    sap_task,
    summit_agent,
    summit_run,
)
from topology.machines.task_profiles import DEVS, OPEN, Profile
from topology.saop import RTES_EVENTS, SAOP_REWIND_LOG, SAOP_VERDICTS
from topology.sap import SAP_OUTCOMES
from topology.summit import SUMMIT_EVENTS

Json = dict[str, Any]
_NONE = "none"
_BACK = "back to "
"""What the event of a rewind begins with; the rest is the state that it puts a task into."""


class Move(NamedTuple):
    """machine: None where any state may follow any other.  key: of what moves.  event: None where
    the fact does not name it.  start: None for what begins, or is not named.  stood: before any
    fact of it (`_NONE`: nowhere, or where its machine begins); None where it may begin anywhere."""

    machine: Machine[Any] | None
    key: tuple[object, ...]
    event: str | None
    start: str | None
    end: str
    stood: str | None = None


def check(source: Source) -> Iterator[Violation]:
    yield from _legal(source)
    yield from _numbered(source)


def _legal(source: Source) -> Iterator[Violation]:
    for topic, moves in MOVES.items():
        stands: dict[tuple[object, ...], str] = {}
        for place, fact in facts(source, topic):
            for move in moves(fact):
                detail = _wrong(move, stands.get(move.key))
                if detail is not None:
                    yield Violation(Anomaly.ILLEGAL_STEP, place, f"{move.key} {detail}")
                stands[move.key] = move.end


def _wrong(move: Move, stands: str | None) -> str | None:
    start, stands = move.start, move.stood if stands is None else stands
    if stands == _NONE and move.machine is not None and start == move.machine.initial:
        stands = start
    if stands is not None and start not in (None, stands):
        return f"leaves {start}, and stood in {stands}"
    stands = stands or start
    machine = move.machine
    if machine is None:
        return None
    if stands in (None, _NONE) and move.end == machine.initial:
        return None
    stands = stands or machine.initial
    events = machine.events if move.event is None else (move.event,)
    if all(step(machine, stands, event) != move.end for event in events):
        by = "" if move.event is None else f" by {move.event}"
        return f"goes from {stands} to {move.end}{by}, where no edge leads"
    return None


def _numbered(source: Source) -> Iterator[Violation]:
    """Sequences of a session on rtes.events run 1, 2, 3…, in the order of the log."""
    last: dict[str, int] = {}
    for place, fact in facts(source, RTES_EVENTS):
        session, before = fact["session_id"], last.get(fact["session_id"], 0)
        if fact["sequence"] != before + 1:
            detail = f"{session} has {fact['sequence']} after {before}"
            yield Violation(Anomaly.SEQUENCE, place, detail)
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
    for transition in fact["transitions"]:
        start, end = transition["from_state"], transition["to_state"]
        yield Move(apc_packet.MACHINE, key, transition["event"], start, end, _NONE)
    for note in fact["coordination"]:
        if note["applied"]:
            inter = note["machine"] == "inter"
            machine: Machine[Any] = apc_inter.MACHINE if inter else apc_intra.MACHINE
            key = ("session", fact["session_id"], note["agent_id"])
            start, end = note["from_state"], note["to_state"]
            yield Move(machine, key, note["event"], start, end, _NONE)


def _sap(outcome: Json) -> Iterator[Move]:
    """The event is the service's rule, or the status that the agent reported."""
    key, end = (outcome["taskId"].lower(),), outcome["status"]
    rule = json.loads(outcome["meta_json"])["headrace"]["rule"]
    event = end if rule == "agent_status" else rule
    yield Move(sap_task.MACHINE, key, event, None, end, sap_task.TaskState.QUEUED)


def _asap(fact: Json) -> Iterator[Move]:
    for transition in fact["transitions"]:
        start, end = transition["from_status"], transition["to_status"]
        yield Move(asap_task.MACHINE, (fact["task_id"],), None, start, end, _NONE)
    if fact["rule"] in _CALLS:
        event, end = _CALLS[fact["rule"]]
        yield Move(asap_call.MACHINE, ("call", fact["call_key"]), event, None, end, _NONE)


def _summit(fact: Json) -> Iterator[Move]:
    if fact["verdict"] not in ("accepted", "fired") or fact["toState"] is None:
        return
    start, end = fact["fromState"], fact["toState"]
    if fact["subject"] == "manifest":
        yield Move(summit_agent.MACHINE, ("agent", fact["agentId"]), None, start, end, _NONE)
    else:
        yield Move(summit_run.MACHINE, (fact["runId"],), None, start, end, _NONE)


def _turn(verdict: Json) -> Iterator[Move]:
    """How a turn begins: one that was held is logged without another verdict.  What is missed is
    missed again whenever it is sent, and no step."""
    if verdict["verdict"] == "accepted":
        states, events = saop_turn.TurnState, saop_turn.TurnEvent
        is_held = verdict["rule"] == "turn_held"
        event, end = (events.AHEAD, states.HELD) if is_held else (events.DUE, states.LOGGED)
        key = ("turn", verdict["task_id"], verdict["turn_index"])
        yield Move(saop_turn.MACHINE, key, event, states.NEW, end, states.NEW)


def _rewind(fact: Json) -> Iterator[Move]:
    if fact["verdict"] == "accepted":
        key = (fact["session_id"], fact["rewind_id"].lower())
        start = saop_rewind.RewindState.NONE
        yield Move(saop_rewind.MACHINE, key, fact["phase"], None, fact["state"], start)


def _rtes(event: Json) -> Iterator[Move]:
    name, payload = event["payload"]
    if name in _OBSERVED:
        yield _OBSERVED[name](event, payload)


def _task(event: Json, payload: Json) -> Move:
    """Each transition leaves the state that the last one entered, as its profile allows."""
    key = ("task", event["session_id"], event["origin"], payload["task_id"])
    start, end = payload["from_state"], payload["to_state"]
    by: str | None = None
    if event["profile"] == DEVS.name:
        by = f"{_BACK}{end}" if event["rule"] == "rewind" else end
    stood = None if event["origin"] is None else _NONE
    return Move(_TASKS[event["profile"]], key, by, start, end, stood)


def _invoked(event: Json, payload: Json) -> Move:
    states, event_kind = rtes_call.CallState, rtes_call.CallEvent.INVOKED
    start, end = states.NONE, states.OPEN
    if "out_of_order" in event["flags"]:
        start, end = states.UNPAIRED, states.CLOSED
    return Move(rtes_call.MACHINE, _call(event, payload), event_kind, start, end, states.NONE)


def _completed(event: Json, payload: Json) -> Move:
    states, event_kind = rtes_call.CallState, rtes_call.CallEvent.COMPLETED
    start, end = states.OPEN, states.CLOSED
    if "unpaired" in event["flags"]:
        start, end = states.NONE, states.UNPAIRED
    return Move(rtes_call.MACHINE, _call(event, payload), event_kind, start, end, states.NONE)


def _call(event: Json, payload: Json) -> tuple[object, ...]:
    return ("call", event["session_id"], event["origin"], payload["call_id"])


def _thought(event: Json, payload: Json) -> Move:
    """A stream is that of an agent's turn in one task, or in none."""
    states, events = rtes_thought.ThoughtState, rtes_thought.ThoughtEvent
    turn = (payload["agent_id"], payload["turn_index"], event["task_id"])
    key = ("thought", event["session_id"], *turn)
    final = payload["is_final"]
    by, end = (events.FINAL_CHUNK, states.CLOSED) if final else (events.CHUNK, states.OPEN)
    return Move(rtes_thought.MACHINE, key, by, None, end, states.NONE)


def _of_profile(profile: Profile) -> Machine[str]:
    """The edges of a vocabulary, each named by the state it leads to, and those of a rewind."""
    edges = {one: {to: to for to in profile.targets(one)} for one in profile.states}
    back = {f"{_BACK}{to}": to for to in (profile.rewind_target, profile.rewind_later) if to}
    return define(profile.name, profile.states[0], edges, anywhere=back)


_CALLS: Mapping[str, tuple[str, str]] = {
    "call_opened": (asap_call.CallEvent.CALL, asap_call.CallState.OPEN),
    "call_answered": (asap_call.CallEvent.ANSWER, asap_call.CallState.ANSWERED),
    "call_timeout": (asap_call.CallEvent.TIME_OUT, asap_call.CallState.TIMED_OUT),
}
"""By the rule of the fact."""
_TASKS: Mapping[str, Machine[Any] | None] = {
    DEVS.name: _of_profile(DEVS),
    OPEN.name: None,
    "apc": apc_inter.MACHINE,
    "asap": asap_task.MACHINE,
    "otel": None,
    "sap": sap_task.MACHINE,
    "summit": summit_run.MACHINE,
}
"""By the profile of a transition: any state may follow any other in an open vocabulary, and in that
of spans, which say what has happened."""
_OBSERVED: Mapping[str, Callable[[Json, Json], Move]] = {
    "headrace.rtes.TaskTransition": _task,
    "headrace.rtes.ToolInvoked": _invoked,
    "headrace.rtes.ToolCompleted": _completed,
    "headrace.rtes.ThoughtStream": _thought,
}
"""By the record of the payload; a line of output is no step of anything."""
MOVES: Mapping[Topic, Callable[[Json], Iterator[Move]]] = {
    APC_EVENTS: _apc,
    SAP_OUTCOMES: _sap,
    ASAP_EVENTS: _asap,
    SUMMIT_EVENTS: _summit,
    RTES_EVENTS: _rtes,
    SAOP_VERDICTS: _turn,
    SAOP_REWIND_LOG: _rewind,
}
"""By the topic of the facts."""
