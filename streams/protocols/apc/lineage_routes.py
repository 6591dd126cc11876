"""Routes about the spread and the effectiveness of protocols (APC guide, 6.1 and 6.3)."""

from __future__ import annotations

from streams.api.route import Query, Route
from streams.protocols.apc.queries import protocols
from streams.protocols.apc.queries.lineage import teaching

ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/lineage/summary",
        "summarize_lineage",
        Query(lambda call: protocols.lineage_summary(call.view, call.params)),
        "all lineage queries at once, and what they come to",
        protocols.SUMMARY_PARAMS,
        "LineageSummary",
    ),
    Route(
        "GET",
        "/v1/lineage/protocols",
        "list_protocols",
        Query(lambda call: protocols.lineage_protocols(call.view, call.params)),
        "how often each protocol occurs",
        protocols.LISTED,
        "Protocols",
    ),
    Route(
        "GET",
        "/v1/lineage/propagation",
        "list_propagation",
        Query(lambda call: protocols.propagation(call.view, call.params)),
        "packets that bear lineage, newest first",
        protocols.PROPAGATION_PARAMS,
        "Propagation",
    ),
    Route(
        "GET",
        "/v1/lineage/transfer-quality",
        "list_transfer_quality",
        Query(lambda call: protocols.transfer_quality(call.view, call.params)),
        "transfers by mode",
        protocols.FILTERS,
        "TransferQuality",
    ),
    Route(
        "GET",
        "/v1/lineage/eval-correlation",
        "list_eval_correlation",
        Query(lambda call: protocols.eval_correlation(call.view, call.params)),
        "what was measured in tasks with transfers, across use cases or not",
        protocols.FILTERS,
        "EvalCorrelation",
    ),
    Route(
        "GET",
        "/v1/lineage/effectiveness",
        "list_effectiveness",
        Query(lambda call: protocols.effectiveness(call.view, call.params)),
        "transfers of each protocol, and what was measured after them",
        protocols.LISTED,
        "Effectiveness",
    ),
    Route(
        "GET",
        "/v1/lineage/teaching",
        "list_teaching",
        Query(lambda call: teaching.teaching(call.view, call.params)),
        "which swarm handed which protocol to which, and how often that was refused",
        teaching.TEACHING_PARAMS,
        "Teachings",
    ),
    Route(
        "GET",
        "/v1/lineage/generations",
        "list_generations",
        Query(lambda call: teaching.generations(call.view, call.params)),
        "what the transfers of each protocol come to up to each generation",
        teaching.GENERATION_PARAMS,
        "Generations",
    ),
)
