"""The declarations of SAOP, with the events of RTES, for the schema layer."""

from __future__ import annotations

from schemas.model import json_schema_text
from schemas.rtes.models import EVENT_TYPES, Event, Payload
from schemas.rtes.validate import validate_event, validate_payload
from schemas.saop.mapping import MAPPING
from schemas.saop.meanings import MEANINGS
from schemas.saop.models import Control, Rewind, Turn
from schemas.saop.validate import validate_control, validate_rewind, validate_turn
from schemas.spec import Spec


def _export() -> dict[str, str]:
    return {
        "saop/turn.json": json_schema_text(Turn),
        "saop/rewind.json": json_schema_text(Rewind),
        "saop/control.json": json_schema_text(Control),
        "rtes/event.json": json_schema_text(Event),
        "rtes/payload.json": json_schema_text(Payload),
    }


SPEC = Spec(
    "saop",
    records=(
        "headrace.rtes.RtesEvent",
        "headrace.rtes.RtesRecord",
        "headrace.rtes.RtesRejection",
        "headrace.rtes.RtesSession",
        "headrace.rtes.RtesId",
        "headrace.saop.SaopTask",
        "headrace.saop.SaopTurn",
        "headrace.saop.SaopVerdict",
        "headrace.saop.SaopTurnLogged",
        "headrace.saop.SaopEscalation",
        "headrace.saop.SaopRewind",
        "headrace.saop.SaopRewindLogged",
        "headrace.saop.SaopTaskSignal",
        "headrace.saop.SaopTurnHead",
        "headrace.saop.SaopTurnKnown",
        "headrace.saop.SaopTurnHeld",
        "headrace.saop.SaopDetectors",
        "headrace.saop.SaopRewindRow",
        "headrace.rtes.RtesCall",
        "headrace.rtes.RtesThought",
        "headrace.rtes.RtesTasks",
        "headrace.saop.SaopControl",
        "headrace.saop.SaopControlLogged",
        "headrace.saop.SaopControlRow",
    ),
    kinds={
        "saop.turn": validate_turn,
        "saop.rewind": validate_rewind,
        "saop.control": validate_control,
        "rtes.event": validate_event,
        "rtes.payload": validate_payload,
    },
    export=_export,
    mapping=MAPPING,
    meanings=MEANINGS,
    unions={"headrace.rtes.Payload": tuple(each.record for each in EVENT_TYPES)},
)
