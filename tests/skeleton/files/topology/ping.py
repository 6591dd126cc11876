"""What pings have on the log."""

from __future__ import annotations

from topology.core import LINEAGE_EDGES
from topology.declarations import (
    NodeKind,
    ProcessorDeclaration,
    ProtocolTopology,
    Topic,
    TopicKind,
    public_table,
)
from topology.keys import member
from topology.retention import dead_letters

PING_PINGS = Topic(
    "ping.pings",
    TopicKind.COMMAND,
    "headrace.ping.Ping",
    key="ping_id",
    key_of=member("ping_id"),
    meaning="pings as agents send them",
)
PING_ANSWERS = Topic(
    "ping.answers",
    TopicKind.FACT,
    "headrace.ping.PingAnswer",
    key="ping_id",
    key_of=member("ping_id"),
    meaning="the verdict on each ping",
)
PING_STATES = Topic(
    "ping.states",
    TopicKind.TABLE,
    "headrace.ping.PingState",
    key="ping_id",
    key_of=member("ping_id"),
    meaning="where each ping stands",
)
PING_PINGS_DLQ = dead_letters(PING_PINGS, "pings that could not be judged, as sent")

PING_STATES_TABLE = public_table(PING_STATES)

PING_PROCESSOR = ProcessorDeclaration(
    "ping",
    "answers each ping once",
    inputs=(PING_PINGS,),
    outputs=(PING_ANSWERS, PING_STATES, LINEAGE_EDGES, PING_PINGS_DLQ),
    tables=(PING_STATES_TABLE,),
)

DECLARED = ProtocolTopology(
    "ping",
    topics=(PING_PINGS, PING_ANSWERS, PING_STATES, PING_PINGS_DLQ),
    processors=(PING_PROCESSOR,),
    verdicts={PING_PINGS: (PING_ANSWERS,)},
    node_kinds=(NodeKind("ping:ping:<ping_id>", "a ping"),),
)
