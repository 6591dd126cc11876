"""`packet-transfer-arbitrate`: ranking transfers that are not sent."""

from __future__ import annotations

from typing import Any

from schemas import Problem
from schemas.json_mapping.json_form import number
from streams.errors import InvalidInput
from streams.processing.ingress import check
from streams.protocols.apc.ingress import PACKET
from streams.protocols.apc.processor.throttling import rank, ranking_row
from streams.protocols.apc.queries.trial import UNKNOWN_PROTOCOL, try_transfer
from streams.protocols.apc.settings import ApcSettings

Json = dict[str, Any]
TOP_K = 2
_MOST = 500


def arbitrate(value: Any, top_k: int, now_ms: int, settings: ApcSettings) -> Json:
    """Rank the TRANSFERs of a list of packets and select the best.

    value: a list of packets, or an object with one under `packets`.  Each packet is in one of
    `selected`, `not_selected` and `rejected`.  Raises InvalidInput when there is no such list.
    """
    packets = value.get("packets") if isinstance(value, dict) else value
    if not isinstance(packets, list):
        message = "The input must be a list, or an object with a list under packets."
        raise InvalidInput([Problem("member_type", "", message)])
    rows: list[Json] = []
    rejected: list[Json] = []
    seen: set[str] = set()
    for index, packet in enumerate(packets, 1):
        row = _row(packet, seen, now_ms, settings)
        if isinstance(row, str):
            id_of_packet = (
                {"packet_id": packet.get("packet_id")} if isinstance(packet, dict) else {}
            )
            rejected.append({"index": index, **id_of_packet, "reason": row})
        else:
            seen.add(row["packet_id"])
            rows.append(row)
    ranking = [_rounded_row(row) for row in rank(rows)]
    chosen = max(0, top_k)
    return {
        "input_count": len(packets),
        "valid_transfer_count": len(ranking),
        "selected_count": len(ranking[:chosen]),
        "top_k": top_k,
        "selected": ranking[:chosen],
        "not_selected": ranking[chosen:],
        "rejected": rejected,
    }


def _row(packet: Any, seen: set[str], now_ms: int, settings: ApcSettings) -> Json | str:
    """Return the row of a packet, or the reason why it has none."""
    if not isinstance(packet, dict):
        return "packet must be an object"
    prepared, problems = check(PACKET, packet, now_ms, settings)
    if problems:
        rule, path, message = problems[0]
        return f"validation_error: {rule}: {path}: {message}"[:_MOST]
    if packet["packet_type"] != "TRANSFER":
        return f"packet_type_not_transfer:{packet['packet_type']}"
    outcome = try_transfer(prepared.value, UNKNOWN_PROTOCOL, settings)
    if outcome.refusal is not None:
        return f"policy_reject: {outcome.refusal.rule}: {outcome.refusal.message}"
    packet_id = packet["packet_id"].lower()
    if packet_id in seen:
        return "duplicate_packet_id"
    return ranking_row(
        packet_id, {**packet["payload"], "selection": (outcome.throttle or {})["selection"]}
    )


def _rounded_row(row: Json) -> Json:
    return {k: number(v) if isinstance(v, float) else v for k, v in row.items()}
