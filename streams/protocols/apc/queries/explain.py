"""`packet-explain`: the reasons of a packet's verdict, and that of a packet with other values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, NamedTuple, get_args

import orjson

from schemas import apc, decode, to_json
from schemas.apc.vocabulary import RunPhase, TransferMode
from streams.errors import NotFound
from streams.protocols.apc import packet_summaries as packets
from streams.protocols.apc.processor.throttling import decay_record
from streams.protocols.apc.processor.transfer_checks import (
    FAIL,
    NOT_REACHED,
    PASS,
    ThrottleState,
    checks_of,
)
from streams.protocols.apc.queries.trial import Outcome, bounds_of, try_transfer
from streams.protocols.apc.settings import ApcSettings
from streams.views.keys import key
from streams.views.parse import QueryError, QueryParams
from streams.views.query_params import MAX_NUMBER, Parameter, ValueForm, one_of
from streams.views.reads import ReadOnlyStore
from topology.apc import APC_EVENTS, APC_LINEAGE, APC_PACKET_STATES, APC_THROTTLING
from topology.core import LINEAGE_EDGES
from topology.declarations import Topic

Json = dict[str, Any]
_FIRST_RULES = ("phase_type", "drift_check_failed", "drift_check_missing")
_VERDICTS = ("accepted", "rejected", "duplicate")


class WhatIf(NamedTuple):
    """A what-if value: the member of a packet that it replaces, and its query parameter."""

    path: tuple[str, ...]
    parameter: Parameter


_POLICY = ("payload", "transfer_policy")
_IF = "what if this were"


def _number(name: str, parents: tuple[str, ...], low: int, high: int, form: ValueForm) -> WhatIf:
    return WhatIf((*parents, name), Parameter(name, f"{_IF} the {name}", form, low, high))


def _word(name: str, parents: tuple[str, ...], choices: tuple[str, ...]) -> WhatIf:
    return WhatIf((*parents, name), one_of(name, f"{_IF} the {name}", choices))


WHAT_IFS: Mapping[str, WhatIf] = {
    name.parameter.name: name
    for name in (
        _number("sender_score", ("payload",), 0, 1, ValueForm.NUMBER),
        _number("receiver_score", ("payload",), 0, 1, ValueForm.NUMBER),
        _number("top_k", _POLICY, 1, 10, ValueForm.WHOLE),
        _number("generation", ("trace",), 0, MAX_NUMBER, ValueForm.WHOLE),
        _word("run_phase", (), get_args(RunPhase)),
        _word("mode", _POLICY, get_args(TransferMode)),
        WhatIf(
            ("lineage", "cross_use_case"),
            Parameter("cross_use_case", f"{_IF} the cross_use_case", ValueForm.FLAG),
        ),
        _number("min_generation", _POLICY, 0, MAX_NUMBER, ValueForm.WHOLE),
        _number("threshold_multiplier", _POLICY, 1, 3, ValueForm.NUMBER),
        WhatIf(("payload", "to_swarm"), Parameter("to_swarm", f"{_IF} the to_swarm", low=1)),
    )
}
RECORDED, NOW = "recorded", "now"
EXPLAIN_PARAMS = (
    *(name.parameter for name in WHAT_IFS.values()),
    one_of("standing", "which receivers and decay a what-if meets", (RECORDED, NOW)),
)


def explain(
    view: ReadOnlyStore, session_id: str, packet_id: str, params: QueryParams, settings: ApcSettings
) -> Json:
    """Return everything that is known about a verdict.

    What-if values in params add `counterfactual`.  Raises NotFound for a packet without a fact.
    """
    packet_id = packet_id.lower()
    facts = [_avro(APC_EVENTS, row) for _, row in view.scan(key("fact", session_id, packet_id))]
    fact = _verdict(view, session_id, packet_id, facts)
    if fact is None:
        raise NotFound(f"session {session_id} has no packet {packet_id}")
    verdict = to_json(APC_EVENTS.record or "", fact)
    stored = view.get("state", session_id, packet_id)
    row = {} if stored is None else _json(APC_PACKET_STATES, stored)
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
    standing = params.text("standing") or RECORDED
    what_if = {name: text for name in WHAT_IFS if (text := params.text(name)) is not None}
    if what_if:
        answer["counterfactual"] = _counterfactual(view, fact, verdict, what_if, standing, settings)
    return answer


def _verdict(
    view: ReadOnlyStore, session_id: str, packet_id: str, facts: list[Json]
) -> Json | None:
    """Return the verdict that made the packet known, else the first on a record with its id."""
    summary = packets.find_summary(view, session_id, packet_id)
    if summary is not None:
        (row,) = view.get_many([summary.fact_key])
        return _avro(APC_EVENTS, row or b"")
    return next((each for each in facts if each["verdict"] in _VERDICTS), None)


def _edges(view: ReadOnlyStore, cause: str) -> Iterator[Json]:
    for _, row in view.scan(key("edge", cause)):
        yield _json(LINEAGE_EDGES, row)


def _counterfactual(
    view: ReadOnlyStore,
    fact: Json,
    verdict: Json,
    texts: Mapping[str, str],
    standing: str,
    settings: ApcSettings,
) -> Json:
    packet = verdict["packet"]
    if packet is None or packet["packet_type"] != "TRANSFER":
        raise QueryError(next(iter(texts)), "only a TRANSFER can be asked about")
    if problems := apc.validate(packet, max_bytes=settings.apc_max_packet_bytes):
        message = f"the packet itself breaks {problems[0].rule}, so nothing else was looked at"
        raise QueryError(next(iter(texts)), message)
    values = {name: _value(name, text) for name, text in texts.items()}
    changed = _with_values(packet, values)
    recorded = fact["throttle"]
    same_row = changed["trace"]["generation"] == packet["trace"]["generation"]
    if standing == RECORDED and recorded is not None and same_row:
        used = RECORDED
        state = ThrottleState(recorded["receivers_before"], recorded["decay"], bounds_of(settings))
    else:
        used, state = NOW, throttle_state_now(view, changed, settings)
    outcome = try_transfer(changed, state, settings)
    return {
        "given": values,
        "standing": used,
        "passes": outcome.refusal is None,
        "decided_by": _rule(outcome),
        "throttle": _throttle_json(outcome.throttle, fact),
        "changed": _differing(
            _outcomes(verdict["rule"], recorded, packet["run_phase"]),
            _outcomes(_rule(outcome), outcome.throttle, changed["run_phase"]),
        ),
    }


def throttle_state_now(view: ReadOnlyStore, packet: Json, settings: ApcSettings) -> ThrottleState:
    """Return the receivers so far and the protocol's decay, as far as the view has read."""
    trace, payload = packet["trace"], packet["payload"]
    stored = view.get(
        "throttle",
        trace["session_id"],
        trace["run_id"],
        trace["generation"],
        payload["protocol_id"],
        payload["from_swarm"],
    )
    receivers = [] if stored is None else _avro(APC_THROTTLING, stored)["receivers"]
    total = view.get("protocol", payload["protocol_id"])
    lineage = None if total is None else _avro(APC_LINEAGE, total)
    return ThrottleState(
        [receiver["to_swarm"] for receiver in receivers],
        decay_record(lineage, settings.apc_decay_mode),
        bounds_of(settings),
    )


def _value(name: str, text: str) -> Any:
    """Return the JSON value of a parameter's text."""
    match WHAT_IFS[name].parameter.form:
        case ValueForm.WHOLE:
            return int(text)
        case ValueForm.NUMBER:
            return orjson.loads(text)
        case ValueForm.FLAG:
            return text == "true"
        case _:
            return text


def _with_values(packet: Json, values: Mapping[str, Any]) -> Json:
    """Return the packet with these values.  Raises QueryError for a value that it may not have."""
    changed = deepcopy(packet)
    for name, value in values.items():
        *parents, member = WHAT_IFS[name].path
        holder = changed
        for parent in parents:
            holder = holder[parent]
        holder[member] = value
        path = "/" + "/".join(WHAT_IFS[name].path)
        for problem in apc.validate(changed):
            if problem.path == path:
                raise QueryError(name, problem.message)
    return changed


def _rule(outcome: Outcome) -> str:
    return "accepted" if outcome.refusal is None else outcome.refusal.rule


def _outcomes(rule: str, throttle: Json | None, run_phase: str) -> list[tuple[str, str]]:
    """Return rules 2 to 14 in order with their outcomes."""
    outcomes = []
    reached = not rule.startswith("session_")
    for code in _FIRST_RULES:
        outcome = FAIL if rule == code else PASS if reached else NOT_REACHED
        reached = reached and rule != code
        outcomes.append((code, outcome))
    if throttle is None:
        return outcomes + [(code, NOT_REACHED) for code, _ in checks_of(run_phase)]
    return outcomes + [(check["rule"], check["outcome"]) for check in throttle["checks"]]


def _differing(before: list[tuple[str, str]], after: list[tuple[str, str]]) -> list[str]:
    """Under the name that the rule has now, unless it has only now no name of its own."""
    return [
        old if new == "phase_guard" else new
        for (old, was), (new, now) in zip(before, after, strict=True)
        if was != now
    ]


def _throttle_json(throttle: Json | None, fact: Json) -> Json | None:
    """Return the throttle in the JSON form that the fact has; fact: its Avro value."""
    throttle_json: Json | None = to_json(APC_EVENTS.record or "", {**fact, "throttle": throttle})[
        "throttle"
    ]
    return throttle_json


def _avro(topic: Topic, row: bytes) -> Json:
    assert topic.record is not None
    return decode(row, topic.record).value


def _json(topic: Topic, row: bytes) -> Json:
    return to_json(topic.record or "", _avro(topic, row))
