"""The mapping of turns, rewinds and events to the Avro records of SAOP and RTES."""

from __future__ import annotations

from schemas.json_mapping.mapping import Codes, JsonMapping
from schemas.rtes.models import NAMES

_SENT = (
    "headrace.rtes.RtesEvent",
    "headrace.saop.SaopTurn",
    "headrace.saop.SaopRewind",
    "headrace.saop.SaopControl",
)
_CODES = Codes(
    named={"type_unknown": "event_type_unknown", "lone_surrogate": "text_invalid"},
    enums={
        "headrace.saop.AgentId": "agent_unknown",
        "headrace.saop.Complexity": "complexity_unknown",
        "headrace.rtes.ToolStatus": "status_unknown",
    },
    otherwise="schema_invalid",
)

MAPPING = JsonMapping(
    namespaces=("headrace.saop", "headrace.rtes"),
    tags=NAMES,
    sparse=frozenset(
        {
            "headrace.rtes.RtesEvent",
            "headrace.saop.SaopRewind",
            "headrace.saop.SaopControl",
            *NAMES,
        }
    ),
    codes_of=dict.fromkeys(_SENT, _CODES),
)
