"""Updates of a run by a reply: the totals so far, the model, the verification.

Totals are compared with the run's budget.  The verification status is the strictest of claim,
checks and judge.

Source: Summit guide, 2.5 and 5.4.
"""

from __future__ import annotations

from schemas import summit
from streams.engine.processor import AvroValue
from streams.protocols.summit.processor import trees
from streams.protocols.summit.processor.inbound import Reply, extra_json
from streams.protocols.summit.processor.runs import Run


def take(reply: Reply, content: summit.Content, run: Run) -> None:
    """Store the valid parts of an accepted reply in the run, whatever rule decides."""
    row = run.row
    if row["startedAt"] is None:
        row["startedAt"] = run.ctx.at
    if content.metrics is not None:
        row["metrics"] = metrics_row(content.metrics, row["metrics"])
    if content.provenance is not None:
        row["provenance"] = provenance_row(content.provenance)
    if reply.value["message"] is not None:
        row["message"] = reply.value["message"]


def metrics_row(reported: summit.JsonObject, before: AvroValue | None = None) -> AvroValue:
    """Return the larger values of both metrics, as Avro.

    reported: Metrics, JSON.  before: Metrics, of the row.
    """
    larger = summit.effective_metrics(reported, before)
    latency = larger.get("latency_ms")
    return {
        "tokens": int(larger["tokens"]),
        "cost_usd": float(larger["cost_usd"]),
        "latency_ms": None if latency is None else float(latency),
    }


def provenance_row(reported: summit.JsonObject) -> AvroValue:
    named = {name: reported[name] for name in ("model", "timestamp")}
    return {**named, "extra_json": extra_json(reported, named)}


def overspent(content: summit.Content, run: Run) -> str | None:
    """Return the rule of the budget that the run exceeds with this reply, None if there is none.

    Its own spending is compared first, then that of its tree.
    """
    reported = summit.effective_metrics(content.metrics, run.row["metrics"])
    return summit.broken_budget(run.row["budget"], reported) or trees.overspent(run, reported)


def spent(run: Run) -> dict[str, float]:
    """Return the totals and the limits that they were compared with."""
    row, budget = run.row, run.row["budget"] or {}
    numbers = {
        "cost_usd": row["metrics"]["cost_usd"],
        "usd": budget.get("usd"),
        "tokens": row["metrics"]["tokens"],
        "tokens_budget": budget.get("tokens"),
    }
    return {name: number for name, number in numbers.items() if number is not None}


def verification_row(claimed: summit.JsonObject) -> AvroValue:
    """Return the RunVerification of a claimed Verification."""
    verification = summit.row_verification(claimed)
    return {"score": None, "checks": [], **verification}


def set_status(row: AvroValue) -> None:
    """Set the verification status of a run from those of its agent and its judge."""
    verifications = [row["verification"], (row["judge"] or {}).get("verification")]
    row["verificationStatus"] = summit.strictest(
        *(v["status"] for v in verifications if v is not None)
    )
