"""The decision on one change, as a Python program writes it: for the peers in Python."""

from __future__ import annotations

from typing import Any

from bench.neutral.workload import FIRST_STATE, NEXT_STATES, REASON

Row = dict[str, Any]


def new_row() -> Row:
    return {"state": FIRST_STATE, "changes": 0, "refusals": 0, "last": -1, "trace": ""}


def decide(change: dict[str, Any], row: Row) -> dict[str, Any]:
    """Change the row of the ticket, and return the outcome."""
    before = row["state"]
    after = NEXT_STATES.get((before, change["action"]))
    if after is not None:
        row["state"] = after
        row["changes"] += 1
    else:
        row["refusals"] += 1
    row["last"], row["trace"] = change["number"], change["trace"]
    return {
        "ticket": change["ticket"],
        "number": change["number"],
        "action": change["action"],
        "before": before,
        "after": after or before,
        "at": change["at"],
        "trace": change["trace"],
        "legal": after is not None,
        "reason": None if after is not None else REASON,
    }
