"""A protocol is blocked for as long as its figures say so: better figures unblock it.

`judge` looks at the total row after every delta and remembers nothing but since when the protocol
is blocked.  A change is a decision; while it stays blocked, other reasons are none.

Source: APC spec, 5.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.engine.processor import AvroValue
from streams.protocols.apc.lineage.effectiveness import blocked_reasons, drift_used, shown


def judge(row: AvroValue, at: int, settings: Mapping[str, Any]) -> AvroValue:
    """The total row with its standing; `row` has the standing from before.  at: now, in ms."""
    reasons = blocked_reasons(row, settings)
    since = row["blocked_since"] if row["blocked"] else at
    return row | {
        "blocked": bool(reasons),
        "blocked_reasons": reasons,
        "blocked_since": since if reasons else None,
    }


def decision(
    row: AvroValue, delta: Mapping[str, Any], cause: str, settings: Mapping[str, Any]
) -> AvroValue:
    """The ApcDecision that a protocol is now blocked, or no longer is.

    row: the judged total row.  delta: the one that changed it.  cause: position of the delta.
    """
    return {
        "decision_id": f"{delta['delta_id']}/decay",
        "kind": "decay",
        "protocol_id": row["protocol_id"],
        "at": delta["at"],
        "cause": cause,
        "decay": {
            "blocked": row["blocked"],
            "reasons": row["blocked_reasons"],
            "transfer_count": row["transfers"],
            "accepted_count": row["accepted"],
            "effectiveness_score": row["effectiveness_score"],
            "score_threshold": float(settings["APC_DECAY_MIN_SCORE"]),
            "avg_drift_risk": row["avg_drift_risk"],
            "drift_used": shown(drift_used(row["drift_weight"], row["drift_sum_nano"])),
            "drift_threshold": float(settings["APC_DECAY_MAX_DRIFT"]),
            "lineage_version": row["version"],
        },
        "arbitration": None,
    }
