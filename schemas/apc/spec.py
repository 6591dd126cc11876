"""APC/1.0 in this layer."""

from __future__ import annotations

from schemas.apc.mapping import MAPPING
from schemas.apc.meanings import MEANINGS
from schemas.apc.packets import Packet
from schemas.apc.validate import validate
from schemas.model import json_schema_text
from schemas.spec import Spec


def _export() -> dict[str, str]:
    return {"apc/packet.json": json_schema_text(Packet)}


SPEC = Spec(
    "apc",
    records=(
        "headrace.apc.ApcPacket",
        "headrace.apc.ApcEvent",
        "headrace.apc.ApcDelivery",
        "headrace.apc.ApcPacketState",
        "headrace.apc.ApcCoordination",
        "headrace.apc.ApcThrottle",
        "headrace.apc.ApcTransferDelta",
        "headrace.apc.ApcLineage",
        "headrace.apc.ApcDecision",
        "headrace.apc.ApcTask",
        "headrace.apc.ApcOutcomeDelta",
        "headrace.apc.ApcPrior",
    ),
    kinds={"apc.packet": validate},
    export=_export,
    mapping=MAPPING,
    meanings=MEANINGS,
)
