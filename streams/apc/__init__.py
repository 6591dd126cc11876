"""APC/1.0 for programs (APC guide, 6.6): the queries of lineage with typed results."""

from streams.apc.queries import ApcQueries
from streams.protocols.apc.lineage_responses import (
    Effectiveness,
    EvalCorrelation,
    LineageSummary,
    Propagation,
    TransferQuality,
)
from streams.protocols.apc.prior_responses import Prior, PriorExplanation, Priors

__all__ = [
    "ApcQueries",
    "Effectiveness",
    "EvalCorrelation",
    "LineageSummary",
    "Prior",
    "PriorExplanation",
    "Priors",
    "Propagation",
    "TransferQuality",
]
