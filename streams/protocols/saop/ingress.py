"""The ingress topics of SAOP and RTES: the kind of their envelopes, and the permitted senders."""

from __future__ import annotations

import uuid
from typing import Any

from schemas import saop
from schemas.members import MAX_ERRORS
from schemas.rtes import drop_unknown, validate_event, validate_payload
from streams.access.callers import OPERATOR_NAME, Caller
from streams.access.sender import Sender, own_name
from streams.engine.headers import iso
from streams.processing.ingress import EnvelopeType, IngressTopic, Prepared, prepare_unchanged
from streams.protocols.saop.notes import (
    notes_on_control,
    notes_on_event,
    notes_on_rewind,
    notes_on_turn,
)
from streams.protocols.saop.rtes.event_handlers import mask_at_edge
from topology.core import RTES_RAW
from topology.saop import SAOP_CONTROLS, SAOP_REWINDS, SAOP_TURNS

PRINCIPAL_MISMATCH = "principal_mismatch"
_SAOP = "saop:"
_ANY_AGENT = "saop:*"


def _event(value: Any, now_ms: int) -> Prepared:
    clean, dropped = drop_unknown(value)
    return Prepared(clean, dropped)


def _pulse(line: str, session_id: str, now_ms: int) -> Any:
    """Return the SANDBOX_PULSE for a line of a program's output."""
    payload = {"type": "SANDBOX_PULSE", "line": line, "masked": False}
    payload["timestamp"] = iso(now_ms).decode()
    return {"event_id": str(uuid.uuid4()), "session_id": session_id, "payload": payload}


def _turn(value: Any, now_ms: int) -> Prepared:
    return Prepared(*saop.drop_unknown_turn(value))


def _rewind(value: Any, now_ms: int) -> Prepared:
    return Prepared(*saop.drop_unknown_rewind(value))


def _control(value: Any, now_ms: int) -> Prepared:
    return Prepared(*saop.drop_unknown_control(value))


def _as_agent(caller: Caller, name: str | None) -> bool:
    """Return whether the caller may send as the agent; None: for records without an agent."""
    if name is None:
        return caller.principal.startswith(_SAOP)
    return caller.principal in (_SAOP + name, _ANY_AGENT)


TURN = EnvelopeType(
    "saop.turn",
    _turn,
    lambda value, _: saop.validate_turn(value),
    MAX_ERRORS,
    notes=notes_on_turn,
)
REWIND = EnvelopeType(
    "saop.rewind",
    _rewind,
    lambda value, _: saop.validate_rewind(value),
    MAX_ERRORS,
    notes=notes_on_rewind,
)
CONTROL = EnvelopeType(
    "saop.control",
    _control,
    lambda value, _: saop.validate_control(value),
    MAX_ERRORS,
    notes=notes_on_control,
)
EVENT = EnvelopeType(
    "rtes.event",
    _event,
    lambda value, _: validate_event(value),
    MAX_ERRORS,
    mask=mask_at_edge,
    from_output=_pulse,
    notes=notes_on_event,
)
PAYLOAD = EnvelopeType(
    "rtes.payload", prepare_unchanged, lambda value, _: validate_payload(value), MAX_ERRORS
)
KINDS = (TURN, REWIND, CONTROL, EVENT, PAYLOAD)
EVENTS = IngressTopic(RTES_RAW, EVENT)
REWINDS = IngressTopic(SAOP_REWINDS, REWIND)
CONTROLS = IngressTopic(SAOP_CONTROLS, CONTROL)
EDGES = (IngressTopic(SAOP_TURNS, TURN), EVENTS, REWINDS, CONTROLS)
_OPERATORS = Sender(
    PRINCIPAL_MISMATCH, "", lambda value: OPERATOR_NAME, lambda caller, _: caller.is_operator
)
SENDERS = {
    SAOP_TURNS: own_name(PRINCIPAL_MISMATCH, "agent_id")._replace(may=_as_agent),
    RTES_RAW: own_name(PRINCIPAL_MISMATCH, "payload", "agent_id")._replace(may=_as_agent),
    SAOP_REWINDS: _OPERATORS,
    SAOP_CONTROLS: _OPERATORS,
}
