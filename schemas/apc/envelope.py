"""The members that every packet has (APC guide, 2.1 to 2.3)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, Strict, WithJsonSchema
from pydantic_core import PydanticCustomError

from schemas.apc.vocabulary import DeliveryMode, FalsifierCost, TransferMode
from schemas.formats import is_uuid, parse_time
from schemas.model import ClosedModel, Flag, Id, Name, Natural, Share, ShortText, Text


def _uuid(text: str) -> str:
    if not is_uuid(text):
        raise PydanticCustomError("format_uuid", "must be a UUID")
    return text


def _time(text: str) -> str:
    if parse_time(text) is None:
        raise PydanticCustomError("format_time", "must be an RFC 3339 date-time with a zone")
    return text


FORMATS = {_uuid: "uuid", _time: "time"}
"""What the functions check, for `schemas.shapes`."""

Uuid = Annotated[
    str,
    Strict(),
    AfterValidator(_uuid),
    WithJsonSchema(
        {"type": "string", "pattern": "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"}
    ),
]
Time = Annotated[
    str, Strict(), AfterValidator(_time), WithJsonSchema({"type": "string", "format": "date-time"})
]


class Sender(ClosedModel):
    agent_id: Id
    role: Name
    swarm_id: Id
    dialect_id: ShortText | None = None
    dialect_hash: Text | None = None
    model_id: Text | None = None
    capabilities: list[Text] | None = None


class Recipient(ClosedModel):
    agent_id: Id
    role: Text | None = None
    swarm_id: ShortText | None = None


class Trace(ClosedModel):
    session_id: Id
    run_id: Id
    task_id: Id
    root_packet_id: Uuid
    parent_packet_id: Uuid | None = None
    generation: Natural
    step: Natural
    vector_clock: dict[str, Natural] | None = None


class Routing(ClosedModel):
    delivery_mode: DeliveryMode
    priority: Annotated[int, Strict(), Field(ge=0, le=9)]
    ttl_ms: Annotated[int, Strict(), Field(ge=1, le=86_400_000)]
    requires_ack: Flag
    ack_timeout_ms: Annotated[int, Strict(), Field(ge=1, le=3_600_000)] | None = None
    retry_limit: Annotated[int, Strict(), Field(ge=0, le=10)] | None = None


class Lineage(ClosedModel):
    protocol_id: Id
    parent_protocol_ids: list[ShortText] | None = None
    ancestor_swarms: list[ShortText] | None = None
    cross_use_case: Flag | None = None
    transfer_mode: TransferMode | None = None


class FalsifierContract(ClosedModel):
    id: Text
    target_claim_id: Text
    test: Text
    fail_if: Text
    cost: FalsifierCost


Ratio = Annotated[float, Strict(), Field(ge=0, le=2)]


class GateScores(ClosedModel):
    rtf: Share | None = None
    stability: Share | None = None
    audit: Share | None = None
    outcome: Share | None = None
    learnability: Share | None = None
    symbol_coverage: Share | None = None
    drift_risk: Share | None = None
    generalization_ratio: Ratio | None = None


class Signature(ClosedModel):
    """Kept as sent; not verified."""

    agent_id: Text
    payload_hash: Text
    signature: Text | None = None


class ProofBundle(ClosedModel):
    evidence_refs: list[Text] | None = None
    falsifiers: list[FalsifierContract] | None = None
    gate_scores: GateScores | None = None
    signatures: list[Signature] | None = None


Recipients = Annotated[list[Recipient], Field(min_length=1)]
SymbolicKeys = Annotated[
    list[Name],
    Field(max_length=32),
    WithJsonSchema(
        {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "maxItems": 32,
            "uniqueItems": True,
        }
    ),
]
