"""Arbitration of transfers: the selection among the transfers that an ARBITRATION names.

    references → known and live → ranked → not decayed → the first top_k → past their gate

The decision informs; it moves no packet and changes no verdict.  It is made here, where the packet
rows are, and apc-lineage writes it, since that processor owns the topic.

Source: APC guide, 5.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.engine.processor import AvroValue
from streams.protocols.apc.lineage.effectiveness import gate_fails, score_of
from streams.protocols.apc.processor import contributions
from streams.protocols.apc.processor.batch import BatchContext, Inbound, target_ids
from streams.protocols.apc.processor.lifecycle import NOT_COUNTED
from streams.protocols.apc.processor.throttling import rank, ranking_row

Known = Mapping[str, AvroValue]
"""Rows of known packets of type TRANSFER, by packet id."""


def decide(packet: Inbound, row: AvroValue, context: BatchContext) -> None:
    """Send the decision of an accepted ARBITRATION, if it names a TRANSFER that is known."""
    references: dict[str, int] = {}
    for index, ref in enumerate(target_ids(packet), 1):
        references.setdefault(ref, index)
    rows = {ref: context.target(packet, ref) for ref in references}
    known = {
        ref: target for ref, target in rows.items() if target is not None and target["transfer"]
    }
    if not known:
        return
    rejected = [
        {"index": index, "packet_id": ref, "reason": reason}
        for ref, index in references.items()
        if (reason := _rejection(rows[ref])) is not None
    ]
    refused = {one["packet_id"] for one in rejected}
    ranking = rank(ranking_row(ref, known[ref]["transfer"]) for ref in known if ref not in refused)
    chosen = _choose([one["packet_id"] for one in ranking], known, context)
    protocol = _protocol(known, ranking, chosen["selected_packet_ids"])
    decision = {
        "decision_id": packet.event_context.event_id,
        "kind": "arbitration",
        "protocol_id": protocol,
        "at": packet.at,
        "cause": packet.cause,
        "decay": None,
        "arbitration": {
            **_subject(packet, row),
            **chosen,
            "candidate_count": len(references),
            "validated_count": len(ranking),
            "rejected_count": len(rejected),
            "rejected": rejected,
            "ranking": ranking,
            "winner_agrees": _winner_agrees(packet, chosen["selected_packet_ids"]),
        },
    }
    contributions.send_decision(protocol, decision, row, packet.event_context)


def _rejection(row: AvroValue | None) -> str | None:
    """Return why a reference is left out of the ranking; None if it is not."""
    if row is None:
        return "packet_unknown"
    if row["packet_type"] != "TRANSFER":
        return f"packet_type_not_transfer:{row['packet_type']}"
    if row["state"] == "REJECTED_POLICY":
        return f"policy_reject: {row['rule']}"
    return f"not_live:{row['state']}" if row["state"] in NOT_COUNTED else None


def _choose(ids: Sequence[str], known: Known, context: BatchContext) -> AvroValue:
    """Return which packets of the ranking are blocked, and which are selected."""
    top_k = context.policy.arbitration_top_k
    protocols = {packet_id: known[packet_id]["transfer"]["protocol_id"] for packet_id in ids}
    lineage = {protocol: context.lineage(protocol) for protocol in protocols.values()}
    decayed = [_decay_block(one, protocols[one], lineage[protocols[one]]) for one in ids]
    left = [one for one, block in zip(ids, decayed, strict=True) if block is None]
    first = left[: max(0, top_k)]
    settings = context.work.settings
    gated = [_gate_block(one, protocols[one], lineage[protocols[one]], settings) for one in first]
    blocked = [block for block in (*decayed, *gated) if block is not None]
    selected = [one for one, block in zip(first, gated, strict=True) if block is None]
    return {
        "top_k": top_k,
        "selected_count": len(selected),
        "selected_packet_ids": selected,
        "blocked": blocked,
        "blocked_count": len(blocked),
        "decay_blocked_count": len(ids) - len(left),
    }


def _decay_block(packet_id: str, protocol: str, lineage: AvroValue | None) -> AvroValue | None:
    if lineage is None or not lineage["blocked"]:
        return None
    codes = "+".join(lineage["blocked_reasons"])
    return _block(packet_id, protocol, f"protocol_decay_blocked:{protocol}:{codes}")


def _gate_block(
    packet_id: str, protocol: str, lineage: AvroValue | None, settings: Mapping[str, Any]
) -> AvroValue | None:
    if lineage is None or not gate_fails(lineage, settings):
        return None
    thousandths = round(score_of(lineage) * 1000)
    score = f"{thousandths // 1000}.{thousandths % 1000:03}"
    reason = f"protocol_effectiveness_gate_blocked:{protocol}:{score}"
    return _block(packet_id, protocol, reason)


def _block(packet_id: str, protocol: str, reason: str) -> AvroValue:
    return {"packet_id": packet_id, "protocol_id": protocol, "reason": reason}


def _protocol(known: Known, ranking: Sequence[AvroValue], selected: Sequence[str]) -> str:
    """Return the protocol of the first selected packet, else of the first ranked, else of the
    first.
    """
    ids = (*selected, *(one["packet_id"] for one in ranking), *known)
    return str(known[ids[0]]["transfer"]["protocol_id"])


def _winner_agrees(packet: Inbound, selected: Sequence[str]) -> bool:
    payload = packet.payload
    winning = {
        ref.lower()
        for candidate in payload["candidates"]
        if candidate["candidate_id"] == payload["winner_candidate_id"]
        for ref in candidate["packet_ref_ids"]
    }
    return not winning.isdisjoint(selected)


def _subject(packet: Inbound, row: AvroValue) -> AvroValue:
    return {
        "session_id": packet.session_id,
        "run_id": row["run_id"],
        "task_id": row["task_id"],
        "trace_id": packet.trace_id,
        "project_id": row["project_id"],
        "arbitration_id": packet.payload["arbitration_id"],
        "packet_id": packet.packet_id,
        "winner_candidate_id": packet.payload["winner_candidate_id"],
    }
