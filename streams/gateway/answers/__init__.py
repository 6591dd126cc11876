"""What every route answers, by the names that the route table uses."""

from __future__ import annotations

from collections.abc import Mapping

from streams.gateway.answers import asap, lineage, packets, sap, service, sessions, summit
from streams.gateway.answers.shapes import Answer, Extended, Page, Row
from topology import topics
from topology.declarations import Topic


def _record(topic: Topic) -> str:
    assert topic.record is not None
    return topic.record


ANSWERS: Mapping[str, type[Answer] | Row | Page | Extended | tuple[type[Answer], ...]] = {
    "Positions": service.Positions,
    "Trace": packets.Trace,
    "Replay": packets.Replay,
    "Packet": Row(_record(topics.APC_PACKET_STATES)),
    "PacketEvents": Page(_record(topics.APC_EVENTS)),
    "Explanation": (packets.Explanation, packets.WhatIf),
    "Ranking": packets.Ranking,
    "Evaluation": packets.Evaluation,
    "Coordination": packets.Coordination,
    "Throttles": Page(_record(topics.APC_THROTTLING)),
    "Decisions": Page(_record(topics.APC_DECISIONS)),
    "ProtocolTotal": Row(_record(topics.APC_LINEAGE)),
    "LineageSummary": lineage.LineageSummary,
    "Protocols": lineage.Protocols,
    "Propagation": lineage.Propagation,
    "TransferQuality": lineage.TransferQuality,
    "EvalCorrelation": lineage.EvalCorrelation,
    "Effectiveness": lineage.Effectiveness,
    "LineageGraph": lineage.LineageGraph,
    "Events": Page(_record(topics.RTES_EVENTS)),
    "Rejections": Page(_record(topics.RTES_REJECTIONS)),
    "Calls": sessions.Calls,
    "Turns": Page(_record(topics.SAOP_LOG)),
    "Verdicts": Page(_record(topics.SAOP_VERDICTS)),
    "Escalations": Page(_record(topics.SAOP_ESCALATIONS)),
    "Tasks": Page(_record(topics.SAOP_TASKS)),
    "Sessions": sessions.Sessions,
    "ThoughtAudit": sessions.ThoughtAudit,
    "Rewind": Row(_record(topics.SAOP_REWIND_LOG)),
    "RewindPlan": sessions.RewindPlan,
    "SapAck": Row(_record(topics.SAP_ACKS)),
    "SapOutcome": Row(_record(topics.SAP_OUTCOMES)),
    "SapPending": sap.SapPending,
    "SapTaskAnswer": sap.SapTaskAnswer,
    **{extended.name: extended for extended in sap.EXTENDED},
    "SapVersions": sap.SapVersions,
    "SapLearnings": sap.SapLearnings,
    **asap.ANSWERS,
    "AsapAgentManifest": Row(_record(topics.ASAP_MANIFESTS)),
    **summit.ANSWERS,
    "Placed": service.Placed,
}
