"""`packet-explain`: why a packet was judged so, and how another would have been."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, NamedTuple, get_args

import orjson

from schemas import apc, decode, to_json
from schemas.apc.words import RunPhase, TransferMode
from streams.errors import NotFound
from streams.protocols.apc import packet_rows as packets
from streams.protocols.apc.processor.throttling import decay_of
from streams.protocols.apc.processor.transfer_checks import (
    FAIL,
    NOT_REACHED,
    PASS,
    ThrottleState,
    checks_of,
)
from streams.protocols.apc.queries.trial import Outcome, try_transfer
from streams.protocols.apc.settings import ApcSettings
from streams.views.keys import key
from streams.views.parse import QueryError, QueryParams
from streams.views.query_params import MAX_NUMBER, Parameter, ValueForm, one_of
from streams.views.reads import ReadOnlyStore
from topology.apc import APC_EVENTS, APC_LINEAGE, APC_PACKET_STATES, APC_THROTTLING
from topology.core import LINEAGE_EDGES
from topology.declarations import Topic

Json = dict[str, Any]
_FIRST = ("phase_type", "drift_check_failed", "drift_check_missing")
_VERDICTS = ("accepted", "rejected", "duplicate")


class Name(NamedTuple):
    """A what-if: the member of a packet that has another value."""

    path: tuple[str, ...]
    parameter: Parameter


_POLICY = ("payload", "transfer_policy")
_IF = "what if this were"


def _number(name: str, parents: tuple[str, ...], low: int, high: int, form: ValueForm) -> Name:
    return Name((*parents, name), Parameter(name, f"{_IF} the {name}", form, low, high))


def _word(name: str, parents: tuple[str, ...], choices: tuple[str, ...]) -> Name:
    return Name((*parents, name), one_of(name, f"{_IF} the {name}", choices))


NAMES: Mapping[str, Name] = {
    name.parameter.name: name
    for name in (
        _number("sender_score", ("payload",), 0, 1, ValueForm.NUMBER),
        _number("receiver_score", ("payload",), 0, 1, ValueForm.NUMBER),
        _number("top_k", _POLICY, 1, 10, ValueForm.WHOLE),
        _number("generation", ("trace",), 0, MAX_NUMBER, ValueForm.WHOLE),
        _word("run_phase", (), get_args(RunPhase)),
        _word("mode", _POLICY, get_args(TransferMode)),
        Name(
            ("lineage", "cross_use_case"),
            Parameter("cross_use_case", f"{_IF} the cross_use_case", ValueForm.FLAG),
        ),
        _number("min_generation", _POLICY, 0, MAX_NUMBER, ValueForm.WHOLE),
        _number("threshold_multiplier", _POLICY, 1, 3, ValueForm.NUMBER),
        Name(("payload", "to_swarm"), Parameter("to_swarm", f"{_IF} the to_swarm", low=1)),
    )
}
RECORDED, NOW = "recorded", "now"
EXPLAIN_PARAMS = (
    *(name.parameter for name in NAMES.values()),
    one_of("standing", "which receivers and decay a what-if meets", (RECORDED, NOW)),
)


def explain(
    view: ReadOnlyStore, session_id: str, packet_id: str, params: QueryParams, settings: ApcSettings
) -> Json:
    """Everything that is known of a verdict.

    What-if values in params add `counterfactual`.  Raises NotFound for a packet without a fact.
    """
    packet_id = packet_id.lower()
    facts = [_avro(APC_EVENTS, row) for _, row in view.scan(key("fact", session_id, packet_id))]
    fact = _verdict(view, session_id, packet_id, facts)
    if fact is None:
        raise NotFound(f"session {session_id} has no packet {packet_id}")
    verdict = to_json(APC_EVENTS.record or "", fact)
    kept = view.get("state", session_id, packet_id)
    row = {} if kept is None else _json(APC_PACKET_STATES, kept)
    answer = {
        "packet_id": packet_id,
        "session_id": session_id,
        "verdict": verdict["verdict"],
        "rule": verdict["rule"],
        "message": verdict["message"],
        "position": verdict["cause"],
        "state": row.get("state"),
        "transitions": row.get("history", verdict["transitions"]),
        "acks": row.get("acks"),
        "throttle": verdict["throttle"],
        "gates": row.get("gates"),
        "anti_drift": verdict["anti_drift"],
        "coordination": verdict["coordination"],
        "warnings": verdict["warnings"],
        "facts": [each["event_id"] for each in facts],
        "edges": list(_edges(view, verdict["cause"])),
    }
    wanted = params.text("standing") or RECORDED
    given = {name: text for name in NAMES if (text := params.text(name)) is not None}
    if given:
        answer["counterfactual"] = _what_if(view, fact, verdict, given, wanted, settings)
    return answer


def _verdict(
    view: ReadOnlyStore, session_id: str, packet_id: str, facts: list[Json]
) -> Json | None:
    """Of the record that made the packet known, else of the first that bore its id."""
    summary = packets.find(view, session_id, packet_id)
    if summary is not None:
        (row,) = view.get_many([summary.fact_key])
        return _avro(APC_EVENTS, row or b"")
    return next((each for each in facts if each["verdict"] in _VERDICTS), None)


def _edges(view: ReadOnlyStore, cause: str) -> Iterator[Json]:
    for _, row in view.scan(key("edge", cause)):
        yield _json(LINEAGE_EDGES, row)


def _what_if(
    view: ReadOnlyStore,
    fact: Json,
    verdict: Json,
    given: Mapping[str, str],
    wanted: str,
    settings: ApcSettings,
) -> Json:
    packet = verdict["packet"]
    if packet is None or packet["packet_type"] != "TRANSFER":
        raise QueryError(next(iter(given)), "only a TRANSFER can be asked about")
    if problems := apc.validate(packet, max_bytes=settings.apc_max_packet_bytes):
        message = f"the packet itself breaks {problems[0].rule}, so nothing else was looked at"
        raise QueryError(next(iter(given)), message)
    values = {name: _value(name, text) for name, text in given.items()}
    changed = _changed(packet, values)
    recorded = fact["throttle"]
    same_row = changed["trace"]["generation"] == packet["trace"]["generation"]
    if wanted == RECORDED and recorded is not None and same_row:
        used, state = RECORDED, ThrottleState(recorded["receivers_before"], recorded["decay"])
    else:
        used, state = NOW, throttle_state_now(view, changed, settings)
    outcome = try_transfer(changed, state, settings)
    return {
        "given": values,
        "standing": used,
        "passes": outcome.refusal is None,
        "decided_by": _rule(outcome),
        "throttle": _shown(outcome.throttle, fact),
        "changed": _differing(
            _outcomes(verdict["rule"], recorded, packet["run_phase"]),
            _outcomes(_rule(outcome), outcome.throttle, changed["run_phase"]),
        ),
    }


def throttle_state_now(view: ReadOnlyStore, packet: Json, settings: ApcSettings) -> ThrottleState:
    """Who has received, and how the protocol does, as far as the view has read."""
    trace, payload = packet["trace"], packet["payload"]
    kept = view.get(
        "throttle",
        trace["session_id"],
        trace["run_id"],
        trace["generation"],
        payload["protocol_id"],
        payload["from_swarm"],
    )
    receivers = [] if kept is None else _avro(APC_THROTTLING, kept)["receivers"]
    total = view.get("protocol", payload["protocol_id"])
    lineage = None if total is None else _avro(APC_LINEAGE, total)
    return ThrottleState(
        [receiver["to_swarm"] for receiver in receivers],
        decay_of(lineage, settings.apc_decay_mode),
    )


def _value(name: str, text: str) -> Any:
    """The JSON value that a text stands for."""
    match NAMES[name].parameter.form:
        case ValueForm.WHOLE:
            return int(text)
        case ValueForm.NUMBER:
            return orjson.loads(text)
        case ValueForm.FLAG:
            return text == "true"
        case _:
            return text


def _changed(packet: Json, values: Mapping[str, Any]) -> Json:
    """The packet with other values, if they may stand in one.  Raises QueryError."""
    changed = deepcopy(packet)
    for name, value in values.items():
        *parents, member = NAMES[name].path
        holder = changed
        for parent in parents:
            holder = holder[parent]
        holder[member] = value
        path = "/" + "/".join(NAMES[name].path)
        for problem in apc.validate(changed):
            if problem.path == path:
                raise QueryError(name, problem.message)
    return changed


def _rule(outcome: Outcome) -> str:
    return "accepted" if outcome.refusal is None else outcome.refusal.rule


def _outcomes(rule: str, throttle: Json | None, run_phase: str) -> list[tuple[str, str]]:
    """Rules 2 to 14 in order, and how each went."""
    found = []
    reached = not rule.startswith("session_")
    for code in _FIRST:
        outcome = FAIL if rule == code else PASS if reached else NOT_REACHED
        reached = reached and rule != code
        found.append((code, outcome))
    if throttle is None:
        return found + [(code, NOT_REACHED) for code, _ in checks_of(run_phase)]
    return found + [(check["rule"], check["outcome"]) for check in throttle["checks"]]


def _differing(before: list[tuple[str, str]], after: list[tuple[str, str]]) -> list[str]:
    """Under the name that the rule has now, unless it has only now no name of its own."""
    return [
        old if new == "phase_guard" else new
        for (old, was), (new, now) in zip(before, after, strict=True)
        if was != now
    ]


def _shown(throttle: Json | None, fact: Json) -> Json | None:
    """As a fact (Avro value) shows it."""
    shown: Json | None = to_json(APC_EVENTS.record or "", {**fact, "throttle": throttle})[
        "throttle"
    ]
    return shown


def _avro(topic: Topic, row: bytes) -> Json:
    assert topic.record is not None
    return decode(row, topic.record).value


def _json(topic: Topic, row: bytes) -> Json:
    return to_json(topic.record or "", _avro(topic, row))
