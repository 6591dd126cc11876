"""How strongly a TRANSFER recommends itself, and the order of several.

    selection_score = max(0, sender − receiver) + 0.25 × confidence + 0.05 if cross use case

It informs, and orders the transfers of an arbitration; it decides no verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from schemas.apc.decimals import difference, product, round6, total
from streams.engine.processor import AvroValue

WITHOUT_SELECTOR = "phase_guard_only"
_OF_CONFIDENCE = Decimal("0.25")
_OF_CROSS_USE_CASE = Decimal("0.05")
_ZERO = Decimal(0)


def selection(
    sender: Decimal, receiver: Decimal, confidence: Decimal, cross_use_case: bool, label: str | None
) -> AvroValue:
    """{selector, selection_score, score_delta, recommended_accept}; label: the window's."""
    delta = difference(sender, receiver)
    score = total(max(_ZERO, delta), product(_OF_CONFIDENCE, confidence))
    rounded = round6(total(score, _OF_CROSS_USE_CASE) if cross_use_case else score)
    return {
        "selector": label or WITHOUT_SELECTOR,
        "selection_score": rounded,
        "score_delta": round6(delta),
        "recommended_accept": rounded > 0 and delta > 0,
    }


def row_of(packet_id: str, transfer: AvroValue) -> AvroValue:
    """A TRANSFER as rankings show it.  transfer: the member of its packet row."""
    chosen = transfer["selection"]
    return {
        "packet_id": packet_id,
        "to_swarm": transfer["to_swarm"],
        "selector": chosen["selector"],
        "selection_score": chosen["selection_score"],
        "sender_score": transfer["sender_score"],
        "receiver_score": transfer["receiver_score"],
        "score_delta": chosen["score_delta"],
        "recommended_accept": chosen["recommended_accept"],
    }


def ranked(rows: Iterable[AvroValue]) -> list[AvroValue]:
    """Each packet once, the first of it; the best score first, ties in the order given."""
    first: dict[str, AvroValue] = {}
    for row in rows:
        first.setdefault(row["packet_id"], row)
    return sorted(first.values(), key=lambda row: -float(row["selection_score"]))
