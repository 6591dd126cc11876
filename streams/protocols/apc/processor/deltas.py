"""What apc tells apc-lineage: by how much a protocol's sums change, and arbitrations.

`delta_id` is `<event_id>/<protocol_id>/<kind>`, the event being the fact that says what happened.
"""

from __future__ import annotations

from collections.abc import Mapping

from streams.engine.processor import AvroValue
from streams.protocols.apc.processor.inbound import Desk, Occasion
from topology.apc import APC_TRANSFERS
from topology.keys import composite

Sums = tuple[int, ...]
"""Values of the members named in `NAMES`, or of all but the first of them."""

NAMES = (
    "packets", "transfers", "accepted", "cross", "tasks",
    "outcome_weight", "outcome_sum_nano", "drift_weight", "drift_sum_nano",
)  # fmt: skip
NO_SUMS: Sums = (0,) * (len(NAMES) - 1)
BEARS: Sums = (1, *NO_SUMS)
"""A packet that bears lineage, and no more."""


def send(
    kind: str, changes: Mapping[str, Sums], row: AvroValue, occasion: Occasion, desk: Desk
) -> None:
    """One delta for each protocol whose sums change.  row: of the packet that is the reason."""
    for protocol, sums in changes.items():
        if any(sums):
            _send(kind, protocol, sums, None, row, occasion, desk)


def send_decision(
    protocol: str, decision: AvroValue, row: AvroValue, occasion: Occasion, desk: Desk
) -> None:
    _send("arbitration", protocol, (0, *NO_SUMS), decision, row, occasion, desk)


def _send(
    kind: str,
    protocol: str,
    sums: Sums,
    decision: AvroValue | None,
    row: AvroValue,
    occasion: Occasion,
    desk: Desk,
) -> None:
    delta_id = f"{occasion.event_id}/{composite(protocol, kind)}"
    delta = {
        "delta_id": delta_id,
        "kind": kind,
        "protocol_id": protocol,
        "session_id": row["session_id"],
        "run_id": row["run_id"],
        "task_id": row["task_id"],
        "packet_id": row["packet_id"],
        "at": occasion.at,
        "cause": occasion.cause,
        **dict(zip(NAMES, sums, strict=True)),
        "decision": decision,
    }
    desk.work.send(
        APC_TRANSFERS,
        protocol,
        delta,
        id=delta_id,
        at=occasion.at,
        cause=occasion.cause,
        traceparent=occasion.traceparent,
    )
