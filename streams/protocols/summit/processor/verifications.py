"""What verifications come to: the strictest of claim, checks and judge.

Source: Summit 2.5.
"""

from __future__ import annotations

from schemas import summit
from streams.engine.processor import AvroValue


def row_of(claimed: summit.JsonObject) -> AvroValue:
    """RunVerification of a Verification as it was claimed."""
    kept = summit.row_verification(claimed)
    return {"score": None, "checks": [], **kept}


def sum_up(row: AvroValue) -> None:
    """Set the status of a run that its agent, its judge or both have spoken on."""
    spoken = [row["verification"], (row["judge"] or {}).get("verification")]
    row["verificationStatus"] = summit.strictest(*(v["status"] for v in spoken if v is not None))
