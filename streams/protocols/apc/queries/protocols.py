"""Queries over protocols, transfers and coordination."""

from __future__ import annotations

from typing import Any

from schemas import decode, to_json
from schemas.projection import Projection
from streams.errors import NotFound
from streams.protocols.apc.queries.lineage import queries, summary
from streams.protocols.apc.queries.lineage.pairs import correlation
from streams.protocols.apc.queries.lineage.universe import UniverseRows, select_universe
from streams.views.keys import key
from streams.views.pages import page_of, rows_of
from streams.views.parse import QueryParams
from streams.views.query_params import (
    CURSOR,
    PROJECT_ID,
    PROTOCOL_ID,
    RUN_ID,
    SESSION_ID,
    Parameter,
    ValueForm,
    limit,
    one_of,
)
from streams.views.reads import ReadOnlyStore
from topology.apc import APC_COORDINATION, APC_DECISIONS, APC_LINEAGE, APC_THROTTLING
from topology.declarations import Topic

Json = dict[str, Any]
_TOTAL = Projection(APC_LINEAGE.record or "", ("run_id", "blocked"))
FILTERS = (SESSION_ID, RUN_ID, PROJECT_ID)
LISTED = (*FILTERS, limit(50), CURSOR)
PROPAGATION_PARAMS = (*FILTERS, PROTOCOL_ID, limit(200), CURSOR)
SUMMARY_PARAMS = (SESSION_ID, PROJECT_ID, RUN_ID, PROTOCOL_ID, limit(100))


def _find(view: ReadOnlyStore, params: QueryParams) -> UniverseRows:
    return select_universe(view, {each.name: params.text(each.name) for each in FILTERS})


def lineage_protocols(view: ReadOnlyStore, params: QueryParams) -> Json:
    return queries.protocols_page(_find(view, params), params)


def propagation(view: ReadOnlyStore, params: QueryParams) -> Json:
    return queries.propagation_page(_find(view, params), params)


def transfer_quality(view: ReadOnlyStore, params: QueryParams) -> Json:
    return {"items": queries.transfer_quality(_find(view, params))}


def eval_correlation(view: ReadOnlyStore, params: QueryParams) -> Json:
    universe = _find(view, params)
    pairs = correlation(universe.pairs())
    return {"items": queries.eval_correlation(universe), "correlation": pairs}


def effectiveness(view: ReadOnlyStore, params: QueryParams) -> Json:
    return queries.effectiveness_page(_find(view, params), params)


def lineage_summary(view: ReadOnlyStore, params: QueryParams) -> Json:
    limit = params.limit()
    filters = {each.name: params.text(each.name) for each in SUMMARY_PARAMS[:4]}
    protocol_id = filters["protocol_id"]
    return summary.summary(_find(view, params), protocol_id, limit, {**filters, "limit": limit})


def protocol(view: ReadOnlyStore, protocol_id: str) -> Json:
    """Return the ApcLineage over all runs.  Raises NotFound."""
    row = view.get("protocol", protocol_id)
    if row is None:
        raise NotFound(f"there is no protocol {protocol_id}")
    return _json(APC_LINEAGE, row)


PROTOCOL_LIST_PARAMS = (
    Parameter("blocked", "only those that are blocked, or only the others", ValueForm.FLAG),
    limit(100),
    CURSOR,
)
_STANDING = (
    *("protocol_id", "transfers", "accepted", "run_count"),
    *("avg_outcome", "avg_drift_risk", "effectiveness_score"),
    *("blocked", "blocked_reasons", "blocked_since", "last_seen_at"),
)


def protocols(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return what is known of each protocol over all runs, with the last decision on it."""
    is_blocked = None if params.text("blocked") is None else params.flag("blocked")

    def item(row: bytes) -> Json | None:
        members = _TOTAL.of(row)
        if members["run_id"] is not None or is_blocked not in (None, members["blocked"]):
            return None
        total = _json(APC_LINEAGE, row)
        standing = {name: total[name] for name in _STANDING}
        return {**standing, "last_decision": _last_decision(view, total["protocol_id"])}

    prefix = key("protocol")
    return page_of(params, prefix, rows_of(view, prefix, item))


def _last_decision(view: ReadOnlyStore, protocol_id: str) -> Json | None:
    for _, ref in view.scan(key("decision of", protocol_id), reverse=True):
        (row,) = view.get_many([ref])
        return None if row is None else _json(APC_DECISIONS, row)
    return None


def coordination(view: ReadOnlyStore, session_id: str) -> Json:
    """Return the ApcCoordination of a session and of its agents.  Raises NotFound."""
    prefix = key("coordination", session_id)
    rows = [_json(APC_COORDINATION, row) for _, row in view.scan(prefix)]
    if not rows:
        raise NotFound(f"there is no session {session_id}")
    inter = next((row for row in rows if row["machine"] == "inter"), None)
    return {"inter": inter, "intra": [row for row in rows if row["machine"] == "intra"]}


THROTTLING_PARAMS = (
    SESSION_ID,
    RUN_ID,
    Parameter("generation", "of this generation", ValueForm.WHOLE),
    PROTOCOL_ID,
    Parameter("from_swarm", "from this swarm"),
    limit(100),
    CURSOR,
)
_THROTTLE_KEY = tuple(parameter.name for parameter in THROTTLING_PARAMS[:5])


def throttling(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return ApcThrottles, ordered by session, run, generation, protocol and swarm."""
    filters: dict[str, str | int] = {}
    for name in _THROTTLE_KEY:
        value = params.number(name) if name == "generation" else params.text(name)
        if value is not None:
            filters[name] = value
    leading = []
    for name in _THROTTLE_KEY:
        if name not in filters:
            break
        leading.append(filters[name])

    def item(row: bytes) -> Json | None:
        value = _json(APC_THROTTLING, row)
        return value if all(value[name] == v for name, v in filters.items()) else None

    prefix = key("throttle", *leading)
    return page_of(params, prefix, rows_of(view, prefix, item))


DECISION_PARAMS = (
    one_of("kind", "of this kind", ("arbitration", "decay")),
    PROTOCOL_ID,
    RUN_ID,
    PROJECT_ID,
    limit(100),
    CURSOR,
)


def decisions(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return ApcDecisions in log order."""
    kind = params.text("kind")
    protocol_id = params.text("protocol_id")
    filters = {n: v for n in ("run_id", "project_id") if (v := params.text(n)) is not None}
    prefix = key("decision")
    if protocol_id is not None:
        prefix = key("decision of", protocol_id)
    elif filters:
        name, value = next(iter(filters.items()))
        prefix = key("lineage decision", name.removesuffix("_id"), value)

    def item(row: bytes) -> Json | None:
        if prefix != key("decision"):
            row = view.get_many([row])[0] or b""
        value = _json(APC_DECISIONS, row)
        arbitration = value["arbitration"] or {}
        fits = kind in (None, value["kind"])
        fits = fits and all(arbitration.get(name) == text for name, text in filters.items())
        return value if fits else None

    return page_of(params, prefix, rows_of(view, prefix, item))


def _json(topic: Topic, row: bytes) -> Json:
    assert topic.record is not None
    return to_json(topic.record, decode(row, topic.record).value)
