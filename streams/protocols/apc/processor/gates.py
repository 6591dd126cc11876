"""The gates of promotion: fixed bounds that an EVAL's metrics must all meet.

Metrics are compared as the decimals they are spelled as.  Two doubles stand in the same order as
their shortest spellings, so comparing the doubles is comparing those decimals.
"""

from __future__ import annotations

from streams.engine.processor import AvroValue

GATES: tuple[tuple[str, str, float], ...] = (
    ("rtf", ">=", 1.0),
    ("stability", ">=", 0.9),
    ("audit", ">=", 1.0),
    ("outcome", ">=", 0.5),
    ("learnability", ">=", 0.7),
    ("generalization_ratio", ">=", 0.8),
    ("drift_risk", "<=", 0.3),
)
DRIFT_RISK_WHEN_MISSING = 1.0
THRESHOLD_METRICS = (
    "rtf", "stability", "audit", "outcome", "learnability", "generalization_ratio",
)  # fmt: skip


def gates(metric_set: AvroValue) -> AvroValue:
    """Gates = {met, checks}: which of the seven bounds these metrics meet."""
    checks = [_check(metric_set, *gate) for gate in GATES]
    return {"met": all(check["ok"] for check in checks), "checks": checks}


def pass_agrees(payload: AvroValue) -> bool:
    """Whether an EVAL's `pass` is what its own thresholds say."""
    metrics, thresholds = payload["metric_set"], payload["thresholds"]
    reached = all(metrics[name] >= thresholds[name] for name in THRESHOLD_METRICS)
    return reached is payload["pass"]


def _check(metric_set: AvroValue, metric: str, op: str, threshold: float) -> AvroValue:
    value: float | None = metric_set.get(metric)
    used = DRIFT_RISK_WHEN_MISSING if value is None and metric == "drift_risk" else value
    reached = used is not None and (used >= threshold if op == ">=" else used <= threshold)
    return {
        "metric": metric,
        "value": value,
        "used": used,
        "op": op,
        "threshold": threshold,
        "ok": reached,
    }
