"""The packet itself: one model per packet type, told apart by `packet_type` (APC guide, 2.1)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from schemas.apc.envelope import (
    Lineage,
    ProofBundle,
    Recipients,
    Routing,
    Sender,
    SymbolicKeys,
    Time,
    Trace,
    Uuid,
)
from schemas.apc.payloads import (
    AckPayload,
    ArbitrationPayload,
    ArtifactPayload,
    ClaimPayload,
    DecisionPayload,
    ErrorPayload,
    EvalPayload,
    IdeaPayload,
    RetractionPayload,
    SignalPayload,
    TaskIrPayload,
    TransferPayload,
)
from schemas.apc.vocabulary import Channel, PacketType, RunPhase
from schemas.model import ClosedModel, OpenObject, Share, Text


class Envelope(ClosedModel):
    """A packet of any type; payload is an object that is looked at no further."""

    protocol_version: Literal["apc/1.0"]
    packet_id: Uuid
    packet_type: PacketType
    channel: Channel
    run_phase: RunPhase
    created_at: Time
    expires_at: Time | None = None
    sender: Sender
    recipients: Recipients
    trace: Trace
    routing: Routing
    confidence: Share
    symbolic_keys: SymbolicKeys
    capability_tags: list[Text] | None = None
    lineage: Lineage | None = None
    proof_bundle: ProofBundle | None = None
    payload: Any
    metadata: OpenObject | None = None


class TaskIrPacket(Envelope):
    packet_type: Literal["TASK_IR"]
    payload: TaskIrPayload


class IdeaPacket(Envelope):
    packet_type: Literal["IDEA"]
    payload: IdeaPayload


class ClaimPacket(Envelope):
    packet_type: Literal["CLAIM"]
    payload: ClaimPayload
    proof_bundle: ProofBundle


class ArtifactPacket(Envelope):
    packet_type: Literal["ARTIFACT"]
    payload: ArtifactPayload


class SignalPacket(Envelope):
    packet_type: Literal["SIGNAL"]
    payload: SignalPayload


class EvalPacket(Envelope):
    packet_type: Literal["EVAL"]
    payload: EvalPayload
    proof_bundle: ProofBundle


class TransferPacket(Envelope):
    packet_type: Literal["TRANSFER"]
    payload: TransferPayload
    lineage: Lineage


class ArbitrationPacket(Envelope):
    packet_type: Literal["ARBITRATION"]
    payload: ArbitrationPayload


class DecisionPacket(Envelope):
    packet_type: Literal["DECISION"]
    payload: DecisionPayload


class RetractionPacket(Envelope):
    packet_type: Literal["RETRACTION"]
    payload: RetractionPayload


class AckPacket(Envelope):
    packet_type: Literal["ACK"]
    payload: AckPayload


class NackPacket(Envelope):
    packet_type: Literal["NACK"]
    payload: AckPayload


class ErrorPacket(Envelope):
    packet_type: Literal["ERROR"]
    payload: ErrorPayload


class HeartbeatPacket(Envelope):
    packet_type: Literal["HEARTBEAT"]
    payload: SignalPayload


Packet = Annotated[
    TaskIrPacket
    | IdeaPacket
    | ClaimPacket
    | ArtifactPacket
    | SignalPacket
    | EvalPacket
    | TransferPacket
    | ArbitrationPacket
    | DecisionPacket
    | RetractionPacket
    | AckPacket
    | NackPacket
    | ErrorPacket
    | HeartbeatPacket,
    Field(discriminator="packet_type"),
]

MODELS: dict[str, type[Envelope]] = {
    "TASK_IR": TaskIrPacket,
    "IDEA": IdeaPacket,
    "CLAIM": ClaimPacket,
    "ARTIFACT": ArtifactPacket,
    "SIGNAL": SignalPacket,
    "EVAL": EvalPacket,
    "TRANSFER": TransferPacket,
    "ARBITRATION": ArbitrationPacket,
    "DECISION": DecisionPacket,
    "RETRACTION": RetractionPacket,
    "ACK": AckPacket,
    "NACK": NackPacket,
    "ERROR": ErrorPacket,
    "HEARTBEAT": HeartbeatPacket,
}
