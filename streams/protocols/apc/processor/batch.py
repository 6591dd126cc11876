"""A batch of packet records: each packet as it is read, the tables of the batch, and the policy.

`Inbound` is one packet on its way through the rules; `BatchContext` has the tables and the
policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from schemas import CATALOGUE, AvroBody, decode
from schemas.apc import fold_ids, packet_hashes, packet_json
from schemas.formats import MAX_ID, is_uuid
from streams.engine.headers import trace_id
from streams.engine.processor import AvroValue, Message, ProcessorContext, Rows
from streams.engine.records import header, position
from streams.processing.decision import Decision
from streams.protocols.apc.policy_values import ApcPolicy
from topology.apc import (
    APC_COORDINATION_TABLE,
    APC_LINEAGE_TABLE,
    APC_PACKET_STATES_TABLE,
    APC_TASK_FACTS,
    APC_THROTTLING_TABLE,
)
from topology.keys import composite

PACKET = "headrace.apc.ApcPacket"

CONTENT = frozenset(
    {"TASK_IR", "IDEA", "CLAIM", "ARTIFACT", "EVAL", "TRANSFER", "ARBITRATION", "DECISION"}
)
CONTROL = frozenset({"SIGNAL", "RETRACTION", "ACK", "NACK", "ERROR", "HEARTBEAT"})
ALL_TYPES = CONTENT | CONTROL

_TRACE_IDS = ("root_packet_id", "parent_packet_id")
_PAYLOAD_IDS = ("acked_packet_id", "target_packet_id", "replacement_packet_id")


class EventContext(Decision):
    """The decision that one fact states; its other outputs have the same time and cause."""

    __slots__ = ("event_id",)

    def __init__(
        self, ctx: ProcessorContext, cause: str, at: int, traceparent: bytes | None, event_id: str
    ) -> None:
        super().__init__(ctx, cause, at, traceparent)
        self.event_id = event_id

    def for_fact(self, event_id: str) -> EventContext:
        """Return the context of another fact that the same record causes."""
        return EventContext(self.work, self.cause, self.at, self.traceparent, event_id)


class Inbound:
    """A packet record, and what the rules have learnt about it so far.

    at: the record's time (ms).  cause: its position.  packet: the form that facts and rows store,
    the record's own bytes if they may be spliced.  json: the packet's JSON form, ids folded.
    session_row, agent_row: the coordination of its session and of its sender, from `meet` on; the
    sender's only where the policy compares with it.
    target: the row of the packet that an ACK, NACK or RETRACTION names.
    identified: it has a session and a valid id.  warnings: the codes so far.
    effects: facts about other packets, in order.  throttle: the Throttle of a TRANSFER.
    event_context: of its verdict, from `begin` on.
    """

    __slots__ = (
        "agent_row", "at", "cause", "effects", "event_context", "gates", "identified",
        "identity_hash", "json", "key", "message", "metadata", "packet", "packet_hash",
        "packet_id", "packet_type", "payload", "session_id", "session_row", "target", "throttle",
        "trace", "trace_id", "traceparent", "value", "warnings",
    )  # fmt: skip

    def __init__(self, message: Message) -> None:
        self.message = message
        self.value = message.value
        self.at = message.record.timestamp
        self.cause = position(message.record)
        self.trace: AvroValue = self.value["trace"]
        self.session_id: str = self.trace["session_id"]
        sent: str = self.value["packet_id"]
        self.identified = 0 < len(self.session_id) <= MAX_ID and is_uuid(sent)
        self.packet_id = sent.lower() if self.identified else sent
        self.packet_type: str = self.value["packet_type"]
        self.payload: AvroValue = self.value["payload"][1]
        self.key = composite(self.session_id, self.packet_id)
        self.traceparent = header(message.record, "traceparent")
        self.trace_id = trace_id(self.traceparent) or self.trace["run_id"]
        self.warnings: list[str] = []
        self.effects: list[AvroValue] = []
        self.session_row: AvroValue | None = None
        self.agent_row: AvroValue | None = None
        self.target: AvroValue | None = None
        self.gates: AvroValue | None = None
        self.throttle: AvroValue | None = None

    @property
    def task_key(self) -> str:
        return composite(self.session_id, self.trace["run_id"], self.trace["task_id"])

    @property
    def transfer_key(self) -> str | None:
        """Return the key of a TRANSFER's throttle row; None if the payload is not a TRANSFER's."""
        if "protocol_id" not in self.payload:
            return None
        return composite(
            self.session_id,
            self.trace["run_id"],
            str(self.trace["generation"]),
            self.payload["protocol_id"],
            self.payload["from_swarm"],
        )

    def begin(self, ctx: ProcessorContext) -> None:
        """Begin the decision on this packet; outputs from here on belong to it."""
        fact_id = f"{self.cause}/0"
        self.event_context = EventContext(ctx, self.cause, self.at, self.traceparent, fact_id)

    def read(self) -> None:
        """Make the JSON form, fold the ids, compute the hashes."""
        plain = packet_json(self.value)
        self.json = fold_ids(plain)
        self.packet_hash, self.identity_hash = packet_hashes(self.json)
        metadata = self.json.get("metadata")
        self.metadata = metadata if isinstance(metadata, dict) else {}
        self.packet: AvroBody | AvroValue
        if self.json is not plain:
            self.value = _folded_value(self.value, self.json)
            self.payload = self.value["payload"][1]
            self.packet = self.value
        else:
            self.packet = AvroBody(self.message.body) if self.message.current else self.value


def target_ids(packet: Inbound) -> list[str]:
    """Return the ids of packets whose rows a packet may change, lower case; rules may be broken."""
    payload = packet.payload
    target = payload.get("acked_packet_id") or payload.get("target_packet_id")
    if target is not None:
        return [target.lower()]
    if packet.packet_type == "EVAL":
        bundle = packet.value["proof_bundle"] or {}
        return referenced_ids(bundle.get("evidence_refs"))
    refs = [ref for c in payload.get("candidates", ()) for ref in c["packet_ref_ids"]]
    return [ref.lower() for ref in refs]


def referenced_ids(evidence_refs: Sequence[str] | None) -> list[str]:
    """Return the ids of the packets that evidence references name as `packet:<packet_id>`."""
    return [ref[7:].lower() for ref in evidence_refs or () if ref.startswith("packet:")]


def _folded_value(value: AvroValue, json: AvroValue) -> AvroValue:
    """Return the Avro value with the ids of its folded JSON form; the packet may break rules."""
    branch, payload = value["payload"]
    folded = {
        **value,
        "packet_id": json["packet_id"],
        "trace": _replace_members(value["trace"], json["trace"], _TRACE_IDS),
        "payload": (branch, _payload(payload, json["payload"])),
    }
    if value["proof_bundle"] is not None:
        bundle = _replace_members(value["proof_bundle"], json["proof_bundle"], ("evidence_refs",))
        folded["proof_bundle"] = bundle
    return folded


def _payload(payload: AvroValue, json: AvroValue) -> AvroValue:
    folded = _replace_members(payload, json, _PAYLOAD_IDS)
    if "candidates" in payload:
        pairs = zip(payload["candidates"], json["candidates"], strict=True)
        folded["candidates"] = [
            _replace_members(one, other, ("packet_ref_ids",)) for one, other in pairs
        ]
    return folded


def _replace_members(members: AvroValue, json: AvroValue, names: tuple[str, ...]) -> AvroValue:
    return {**members, **{name: json[name] for name in names if name in json}}


class CachedRows:
    """Rows that many packets of a batch read, decoded once.

    A caller that changes a row must `put` it, even one that `get` returned.
    """

    __slots__ = ("_rows", "_seen")

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._seen: dict[str, AvroValue | None] = {}

    def load(self, keys: Iterable[str]) -> None:
        self._rows.load(keys)

    def get(self, key: str) -> AvroValue | None:
        if key not in self._seen:
            self._seen[key] = self._rows.get(key)
        return self._seen[key]

    def put(self, key: str, row: AvroValue) -> None:
        self._seen[key] = row
        self._rows.put(key, row)

    def delete(self, key: str) -> None:
        self._seen[key] = None
        self._rows.delete(key)


class BatchContext:
    """The tables of a batch, and the policy that decides it.

    swarms: the swarms of each session's row.
    """

    __slots__ = (
        "_lineage", "coordination", "policy", "states", "swarms", "tasks", "throttling", "work",
    )  # fmt: skip

    def __init__(self, ctx: ProcessorContext) -> None:
        self.work = ctx
        self.policy = ApcPolicy.of(ctx.settings)
        self.states: Rows = ctx.rows(APC_PACKET_STATES_TABLE)
        self.coordination = CachedRows(ctx.rows(APC_COORDINATION_TABLE))
        self.throttling = CachedRows(ctx.rows(APC_THROTTLING_TABLE))
        self.tasks = CachedRows(ctx.rows(APC_TASK_FACTS))
        self._lineage = ctx.global_table(APC_LINEAGE_TABLE)
        self.swarms: dict[str, set[str]] = {}

    def meet(self, packet: Inbound) -> None:
        """Read the coordination that a packet meets."""
        packet.session_row = self.session(packet.session_id)
        mode = self.policy.agent_mode
        is_step = packet.packet_type in CONTENT or packet.packet_type == "SIGNAL"
        if mode == "enforce" or (mode == "halt" and is_step):
            key = composite(packet.session_id, packet.value["sender"]["agent_id"])
            packet.agent_row = self.coordination.get(key)

    def session(self, session_id: str) -> AvroValue | None:
        """Return the coordination row of a session."""
        return self.coordination.get(composite(session_id))

    def lineage(self, protocol_id: str) -> AvroValue | None:
        """Return the total row of a protocol, as far as this worker has read it."""
        return self._lineage.get(composite(protocol_id))

    def target(self, packet: Inbound, packet_id: str) -> AvroValue | None:
        """Return the row of another packet of the same session."""
        if packet_id.lower() == packet.packet_id:
            return None
        return self.states.get(composite(packet.session_id, packet_id.lower()))

    @staticmethod
    def key_of(row: AvroValue) -> str:
        return composite(row["session_id"], row["packet_id"])

    def put(self, row: AvroValue) -> None:
        self.states.put(self.key_of(row), row)


def packet_value(packet: AvroValue | AvroBody) -> AvroValue:
    """Return the packet of a row as a value; it is still in bytes if this step wrote the row."""
    if not isinstance(packet, AvroBody):
        return packet
    frame = b"\0" + CATALOGUE.id_of(PACKET).to_bytes(4, "big")
    return decode(frame + packet, PACKET).value
