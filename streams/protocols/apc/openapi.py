"""The parts of the OpenAPI document of APC/1.0 besides routes and responses."""

from __future__ import annotations

from streams.api.description import Body, Description, PathId, envelope, read_example
from streams.api.openapi import Json, ref
from streams.views.query_params import PACKET_ID, SESSION_ID
from topology.apc import APC_COORDINATION, APC_DECISIONS, APC_EVENTS, APC_PACKET_STATES
from topology.core import LINEAGE_EDGES

_PACKET = envelope("apc/packet", "apc", filled_in="created_at")


def _metrics() -> Json:
    """Return the schemas of an evaluation's input: an EVAL packet, its metrics, or its payload."""
    metrics = {**_PACKET.components()["apc.packet.MetricSet"], "title": "Metrics"}
    metrics.pop("required")
    wrapped = {"type": "object", "properties": {"metric_set": ref("Metrics")}}
    return {
        "Metrics": metrics,
        "metrics": {
            "anyOf": [
                ref("apc.packet.EvalPacket"),
                ref("Metrics"),
                {**wrapped, "required": ["metric_set"], "additionalProperties": False},
            ]
        },
    }


def _transfers() -> Json:
    several = {"type": "array", "items": {}}
    wrapped = {"type": "object", "properties": {"packets": several}, "required": ["packets"]}
    return {"transfers": {"anyOf": [several, wrapped]}}


def _evaluation() -> Json:
    return {"eval": {"value": read_example("apc/eval")}}


def _transfer() -> Json:
    return {"transfer": {"value": [read_example("apc/transfer")]}}


DESCRIPTION = Description(
    tags={
        "apc": "APC/1.0: packets, transfers, coordination.",
        "lineage": "How protocols spread, and how well they do.",
    },
    ids={
        "session_id": PathId(SESSION_ID.example),
        "packet_id": PathId(PACKET_ID.example),
        "protocol_id": PathId(None),
    },
    records=(APC_EVENTS, APC_PACKET_STATES, APC_COORDINATION, APC_DECISIONS, LINEAGE_EDGES),
    bodies=(
        _PACKET,
        Body("metrics", _metrics, _evaluation, composed=True),
        Body("transfers", _transfers, _transfer, composed=True),
    ),
)
