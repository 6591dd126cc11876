"""Pydantic models of the responses about the service, its declarations and its log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from schemas.rules import Stage, Where
from streams.gateway.responses import (
    Count,
    Json,
    Position,
    ResponseModel,
    ResponseShape,
    Time,
    ViewReadiness,
)
from streams.ops.audit.seals import RecordsMatch, Signature
from streams.verify.derivation import Outcome
from topology.declarations import TopicKind

From = Field(alias="from")
Cursor = Annotated[str | None, Field(description="The cursor of the next page.")]


class MachineEdge(ResponseModel):
    """An edge of a state machine; `*` stands for every state that is not sealed."""

    from_: Annotated[str, From]
    event: str
    to: str


class StateMachine(ResponseModel):
    name: str
    protocol: str
    title: str
    doc: str
    initial: str
    states: list[str]
    terminal: list[str]
    sealed: list[str]
    edges: list[MachineEdge]


class MachinePage(ResponseModel):
    items: list[StateMachine]
    next: Cursor


class DeclaredRule(ResponseModel):
    protocol: str
    code: str
    stage: Stage
    where: Where
    meaning: str


class RulePage(ResponseModel):
    items: list[DeclaredRule]
    next: Cursor


class PartitionOffsets(ResponseModel):
    partition: Count
    start: Count
    end: Count


class TopicOffsets(ResponseModel):
    """The offsets of a topic.  readable: whether `/v1/records` shows its records."""

    name: str
    kind: TopicKind
    readable: bool
    partitions: list[PartitionOffsets]


class InputOffsets(ResponseModel):
    """The progress of an input partition; null where the group's offsets are not known."""

    topic: str
    partition: Count
    committed: Count | None
    end: Count
    lag: Count | None


class ProcessorOffsets(ResponseModel):
    name: str
    partitions: list[InputOffsets]


class LogOffsets(ResponseModel):
    topics: list[TopicOffsets]
    processors: list[ProcessorOffsets]
    view: ViewReadiness


class ServiceCaller(ResponseModel):
    principal: str
    roles: list[str]
    expires_at: Time | None


class Service(ResponseModel):
    """The gateway itself.  caller: whom the request's token belongs to."""

    name: str
    version: str
    cluster_id: str
    prefix: str
    partitions: Count
    started_at: Time
    now: Time
    tokens: bool
    protocols: list[str]
    features: list[str]
    caller: ServiceCaller | None


class WrittenSchema(ResponseModel):
    """The schema that a value was written with."""

    id: Count
    name: str


class ListedRecord(ResponseModel):
    """A record without its value.  size: bytes of the value.  headers: the last of each name."""

    position: Position
    topic: str
    partition: Count
    offset: Count
    timestamp: Time
    key: str | None
    headers: dict[str, Json]
    size: Count
    schema_: Annotated[WrittenSchema | None, Field(alias="schema")]


class RecordPage(ResponseModel):
    """A page of a partition.  next: `from` of the next page."""

    items: list[ListedRecord]
    next: Count | None


class LoggedRecord(ListedRecord):
    """A record as it lies on the log.

    value: the protocol's JSON; `{"raw_base64"}` of what no schema decodes, `{"text"}` of a masked
    dead letter, null of a withdrawal.  value_base64: only with `bytes=true`.
    """

    value: Json
    value_base64: str | None = None


class Rederived(ResponseModel):
    """The outcome of deriving a fact again, by the checks of `headrace verify`.

    not_derivable: its command is gone, or its rule depends on earlier facts, rows or settings.
    """

    outcome: Outcome
    detail: str


class Sealed(ResponseModel):
    """A checkpoint over a fact.  from, to: the offsets that it adds, `to` exclusive.

    signature: `not_checked` without a public key; `invalid` too if the records between these
    offsets are not those that were signed.  records: the result of hashing them again.
    """

    sequence: Count
    from_: Annotated[Count, From]
    to: Count
    at: Time
    key_id: str
    signature: Signature
    records: RecordsMatch


class LogCosigner(ResponseModel):
    """A witness of the policy that has cosigned the newest checkpoint."""

    name: str
    at: Time


class LogSealed(ResponseModel):
    """The newest checkpoint of the transparency log, which covers the entry of a fact.

    index: of the entry.  size: of the log.  at: when the checkpoint was published.
    signature: `invalid` if the record is not the one that was logged.
    """

    index: Count
    size: Count
    origin: str
    at: Time
    cosigners: list[LogCosigner]
    signature: Signature


class Proof(ResponseModel):
    """A proof of one fact, computed when it was asked for.

    sealed: where there is a transparency log, the checkpoint of that.

    receipt: the path of its receipt, if it has a published entry in a transparency log.
    """

    position: Position
    recorded: bool
    rederived: Rederived
    sealed: Sealed | LogSealed | None
    receipt: str | None


class AuditedPartition(ResponseModel):
    """A partition of facts.  sealed_to: the first offset that no checkpoint covers."""

    topic: str
    partition: Count
    sealed_to: Count | None
    end: Count
    unsealed: Count
    sealed_at: Time | None
    key_id: str | None
    signature: Signature | None


class AuditedRedrive(ResponseModel):
    """A dead letter that was sent again.  position: of this record on `audit.redrives`."""

    position: Position
    redrive_id: str
    dead_letter: Position
    source: str
    topic: str
    record_key: str | None
    value_sha256: str
    code: str
    operator: str
    reason: str | None
    at: Time


class Audit(ResponseModel):
    """The partitions that checkpoints cover, and the newest 100 redrives, the latest first."""

    partitions: list[AuditedPartition]
    redrives: list[AuditedRedrive]


class LogPartition(ResponseModel):
    """A partition whose records get entries.

    covered_to: the first offset without a published entry.  uncovered: the records from there on.
    """

    topic: str
    partition: Count
    covered_to: Count
    end: Count
    uncovered: Count


class AuditLog(ResponseModel):
    """The transparency log of the policy.

    size, root, published_at: of the newest checkpoint that the policy accepts; root in base64.
    sequenced: the number of entries, published or not.  quorum: whether there is such a checkpoint.
    conflict: a signed checkpoint has a root that the log does not have.
    refused: records on the topics of the log that did not count.
    """

    origin: str
    size: Count
    root: str | None
    sequenced: Count
    published_at: Time | None
    cosigners: list[LogCosigner]
    quorum: bool
    conflict: bool
    refused: Count
    partitions: list[LogPartition]


RESPONSES: Mapping[str, ResponseShape] = {
    "MachinePage": MachinePage,
    "StateMachine": StateMachine,
    "RulePage": RulePage,
    "LogOffsets": LogOffsets,
    "RecordPage": RecordPage,
    "LoggedRecord": LoggedRecord,
    "Proof": Proof,
    "Audit": Audit,
    "AuditLog": AuditLog,
}
"""The shapes of the responses of this host's routes, by the names that the route table uses."""
TAGS: Mapping[str, str] = {
    "machines": "The state machines of all protocols, as they are declared.",
    "rules": "The rules that verdicts name.",
    "log": "The topics on Kafka, and how far they are read.",
    "things": "One thing of any protocol, by its node of the lineage graph.",
    "traces": "All things of a trace.",
    "records": "Records as they lie on the log. Topics are named with or without the prefix.",
    "audit": "How far the facts are sealed by signed checkpoints.",
}
"""Descriptions of the tags of these routes."""
