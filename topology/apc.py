"""The topics, tables, processors and lineage nodes of APC/1.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from topology.core import LINEAGE_EDGES, RTES_RAW
from topology.declarations import (
    NodeKind,
    ProcessorDeclaration,
    ProtocolTopology,
    Table,
    Topic,
    TopicKind,
    public_table,
)
from topology.keys import composite, integer_of, member, text_of
from topology.retention import (
    FACT_BYTES,
    INBOX_RETENTION_MS,
    INPUT_BYTES,
    TABLE_BYTES,
    dead_letters,
)


def _packet_state(value: Mapping[str, Any]) -> str:
    return composite(text_of(value, "session_id"), text_of(value, "packet_id"))


def _coordination(value: Mapping[str, Any]) -> str:
    session_id = text_of(value, "session_id")
    if value.get("agent_id") is None:
        return composite(session_id)
    return composite(session_id, text_of(value, "agent_id"))


def _throttle(value: Mapping[str, Any]) -> str:
    generation = str(integer_of(value, "generation"))
    before = [text_of(value, "session_id"), text_of(value, "run_id"), generation]
    return composite(*before, text_of(value, "protocol_id"), text_of(value, "from_swarm"))


def _protocol_lineage(value: Mapping[str, Any]) -> str:
    protocol_id = text_of(value, "protocol_id")
    if value.get("run_id") is None:
        return composite(protocol_id)
    return composite(protocol_id, text_of(value, "run_id"))


def _strategy(value: Mapping[str, Any]) -> str:
    return composite(*(text_of(value, name) for name in ("use_case", "kind", "strategy")))


APC_PACKETS = Topic(
    "apc.packets",
    TopicKind.COMMAND,
    "headrace.apc.ApcPacket",
    key="trace.session_id",
    key_of=member("trace.session_id"),
    meaning="packets as agents send them",
    max_bytes=INPUT_BYTES,
)
APC_EVENTS = Topic(
    "apc.events",
    TopicKind.FACT,
    "headrace.apc.ApcEvent",
    key="session_id",
    key_of=member("session_id"),
    meaning="the verdict on each packet record, its effects on other packets, timers that fired",
    max_bytes=FACT_BYTES,
)
APC_INBOX = Topic(
    "apc.inbox",
    TopicKind.INBOX,
    "headrace.apc.ApcDelivery",
    key="recipient agent_id",
    key_of=member("recipient_agent_id"),
    meaning="deliveries, redeliveries and retraction notices, for the recipient to read",
    retention_ms=INBOX_RETENTION_MS,
    max_bytes=FACT_BYTES,
)
APC_PACKET_STATES = Topic(
    "apc.packet-states",
    TopicKind.TABLE,
    "headrace.apc.ApcPacketState",
    key="session_id/packet_id",
    key_of=_packet_state,
    meaning="the state of each packet, with its history and acknowledgements",
    max_bytes=TABLE_BYTES,
)
APC_COORDINATION = Topic(
    "apc.coordination",
    TopicKind.TABLE,
    "headrace.apc.ApcCoordination",
    key="session_id[/agent_id]",
    key_of=_coordination,
    meaning="the coordination state of each session, and of each agent in it",
    max_bytes=TABLE_BYTES,
)
APC_THROTTLING = Topic(
    "apc.throttling",
    TopicKind.TABLE,
    "headrace.apc.ApcThrottle",
    key="session_id/run_id/generation/protocol_id/from_swarm",
    key_of=_throttle,
    meaning="who received a protocol from a swarm in a generation, and how many transfers passed",
    max_bytes=TABLE_BYTES,
)
APC_TRANSFERS = Topic(
    "apc.transfers",
    TopicKind.INTERNAL,
    "headrace.apc.ApcTransferDelta",
    key="protocol_id",
    key_of=member("protocol_id"),
    meaning="what each packet adds to the sums of a protocol or takes back, and arbitrations",
    max_bytes=FACT_BYTES,
)
APC_DECISIONS = Topic(
    "apc.decisions",
    TopicKind.FACT,
    "headrace.apc.ApcDecision",
    key="protocol_id",
    key_of=member("protocol_id"),
    meaning="arbitrations of transfers, and protocols that decayed or recovered",
    max_bytes=FACT_BYTES,
)
APC_LINEAGE = Topic(
    "apc.lineage",
    TopicKind.TABLE,
    "headrace.apc.ApcLineage",
    key="protocol_id[/run_id]",
    key_of=_protocol_lineage,
    meaning="the sums and the effectiveness of each protocol, in total and in each run",
    max_bytes=TABLE_BYTES,
)

APC_OUTCOMES = Topic(
    "apc.outcomes",
    TopicKind.INTERNAL,
    "headrace.apc.ApcOutcomeDelta",
    key="use_case/kind/strategy",
    key_of=_strategy,
    meaning="what each packet adds to the evidence about a strategy, or takes back",
    max_bytes=FACT_BYTES,
)
APC_PRIORS = Topic(
    "apc.priors",
    TopicKind.TABLE,
    "headrace.apc.ApcPrior",
    key="use_case/kind/strategy",
    key_of=_strategy,
    meaning="the evidence about each strategy in each use case: attempts, and how they ended",
    max_bytes=TABLE_BYTES,
)

APC_PACKETS_DLQ = dead_letters(APC_PACKETS, "packet records that could not be judged, as sent")
APC_TRANSFERS_DLQ = dead_letters(APC_TRANSFERS, "deltas that could not be read")

APC_OUTCOMES_DLQ = dead_letters(APC_OUTCOMES, "changes of evidence that could not be read")

APC_PACKET_STATES_TABLE = public_table(APC_PACKET_STATES)
APC_COORDINATION_TABLE = public_table(APC_COORDINATION)
APC_THROTTLING_TABLE = public_table(APC_THROTTLING)
APC_LINEAGE_TABLE = public_table(APC_LINEAGE, copied_parts=1)
APC_PRIORS_TABLE = public_table(APC_PRIORS)
APC_TASK_FACTS = Table(
    "apc-tasks",
    "headrace.apc.ApcTask",
    key="session_id/run_id/task_id[/packet_id]",
    meaning="the counted evaluations, transfers and strategies of each task; of earlier releases"
    " also other packets with lineage",
)

APC_PROCESSOR = ProcessorDeclaration(
    "apc",
    "decides packets, throttles transfers, delivers, waits for acknowledgements, retracts,"
    " verifies, promotes, and tracks the coordination state of each session and agent",
    inputs=(APC_PACKETS,),
    outputs=(
        APC_EVENTS,
        APC_PACKET_STATES,
        APC_INBOX,
        APC_THROTTLING,
        APC_COORDINATION,
        RTES_RAW,
        LINEAGE_EDGES,
        APC_TRANSFERS,
        APC_OUTCOMES,
        APC_PACKETS_DLQ,
    ),
    tables=(APC_PACKET_STATES_TABLE, APC_COORDINATION_TABLE, APC_THROTTLING_TABLE, APC_TASK_FACTS),
    global_tables=(APC_LINEAGE_TABLE,),
)
APC_LINEAGE_PROCESSOR = ProcessorDeclaration(
    "apc-lineage",
    "aggregates the transfers and evaluations of each protocol, and decides which have decayed",
    inputs=(APC_TRANSFERS,),
    outputs=(APC_LINEAGE, APC_DECISIONS, APC_TRANSFERS_DLQ),
    tables=(APC_LINEAGE_TABLE,),
)
APC_PRIORS_PROCESSOR = ProcessorDeclaration(
    "apc-priors",
    "adds up how the attempts of each strategy in each use case ended",
    inputs=(APC_OUTCOMES,),
    outputs=(APC_PRIORS, APC_OUTCOMES_DLQ),
    tables=(APC_PRIORS_TABLE,),
)

DECLARED = ProtocolTopology(
    "apc",
    topics=(
        APC_PACKETS,
        APC_EVENTS,
        APC_INBOX,
        APC_PACKET_STATES,
        APC_COORDINATION,
        APC_THROTTLING,
        APC_TRANSFERS,
        APC_DECISIONS,
        APC_LINEAGE,
        APC_PACKETS_DLQ,
        APC_TRANSFERS_DLQ,
        APC_OUTCOMES,
        APC_PRIORS,
        APC_OUTCOMES_DLQ,
    ),
    processors=(APC_PROCESSOR, APC_LINEAGE_PROCESSOR, APC_PRIORS_PROCESSOR),
    verdicts={APC_PACKETS: (APC_EVENTS,)},
    node_kinds=(
        NodeKind("apc:packet:<packet_id>", "an APC packet"),
        NodeKind(
            "apc:protocol:<protocol_id>",
            "an APC protocol, a method that swarms transfer to each other",
        ),
    ),
)
