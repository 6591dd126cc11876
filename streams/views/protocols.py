"""Queries over protocols, transfers and coordination."""

from __future__ import annotations

from typing import Any

from schemas import decode, to_json
from streams.errors import NotFound
from streams.views.keys import key
from streams.views.lineage import queries, summary
from streams.views.lineage.universe import Found, find
from streams.views.params import Params, page
from streams.views.view import View
from topology.declarations import Topic
from topology.topics import APC_COORDINATION, APC_DECISIONS, APC_LINEAGE, APC_THROTTLING

Json = dict[str, Any]
FILTERS = ("session_id", "run_id", "project_id")
LISTED = (*FILTERS, "limit")
PROPAGATION_PARAMS = (*FILTERS, "protocol_id", "limit")
SUMMARY_PARAMS = ("session_id", "project_id", "run_id", "protocol_id", "limit")


def _find(view: View, params: Params) -> Found:
    return find(view, {name: params.text(name) for name in FILTERS})


def lineage_protocols(view: View, params: Params) -> Json:
    limit, found = params.limit(50), _find(view, params)
    return {"items": queries.protocols(found, found.protocols(), limit)}


def propagation(view: View, params: Params) -> Json:
    limit, found = params.limit(200), _find(view, params)
    return {"items": queries.propagation(found, params.text("protocol_id"), limit)}


def transfer_quality(view: View, params: Params) -> Json:
    return {"items": queries.transfer_quality(_find(view, params))}


def eval_correlation(view: View, params: Params) -> Json:
    return {"items": queries.eval_correlation(_find(view, params))}


def effectiveness(view: View, params: Params) -> Json:
    limit, found = params.limit(50), _find(view, params)
    return {"items": queries.effectiveness(found, found.protocols(), limit)}


def lineage_summary(view: View, params: Params) -> Json:
    limit = params.limit(100)
    filters = {name: params.text(name) for name in SUMMARY_PARAMS[:4]}
    protocol_id = filters["protocol_id"]
    return summary.summary(_find(view, params), protocol_id, limit, {**filters, "limit": limit})


def protocol(view: View, protocol_id: str) -> Json:
    """ApcLineage over all runs.  Raises NotFound."""
    row = view.get("protocol", protocol_id)
    if row is None:
        raise NotFound(f"there is no protocol {protocol_id}")
    return _json(APC_LINEAGE, row)


def coordination(view: View, session_id: str) -> Json:
    """The ApcCoordination of a session and of its agents.  Raises NotFound."""
    prefix = key("coordination", session_id)
    rows = [_json(APC_COORDINATION, row) for _, row in view.scan(prefix)]
    if not rows:
        raise NotFound(f"there is no session {session_id}")
    inter = next((row for row in rows if row["machine"] == "inter"), None)
    return {"inter": inter, "intra": [row for row in rows if row["machine"] == "intra"]}


THROTTLING_PARAMS = (
    "session_id",
    "run_id",
    "generation",
    "protocol_id",
    "from_swarm",
    "limit",
    "cursor",
)


def throttling(view: View, params: Params) -> Json:
    """ApcThrottles, by session, run, generation, protocol and swarm."""
    wanted: dict[str, str | int] = {}
    for name in THROTTLING_PARAMS[:5]:
        value = params.number(name, 0) if name == "generation" else params.text(name)
        if value is not None:
            wanted[name] = value
    leading = []
    for name in THROTTLING_PARAMS[:5]:
        if name not in wanted:
            break
        leading.append(wanted[name])

    def item(row: bytes) -> Json | None:
        value = _json(APC_THROTTLING, row)
        return value if all(value[name] == v for name, v in wanted.items()) else None

    return page(view, key("throttle", *leading), params, params.limit(100), item)


DECISION_PARAMS = ("kind", "protocol_id", "run_id", "project_id", "limit", "cursor")


def decisions(view: View, params: Params) -> Json:
    """ApcDecisions in log order."""
    kind = params.choice("kind", ("arbitration", "decay"))
    protocol_id = params.text("protocol_id")
    wanted = {n: v for n in ("run_id", "project_id") if (v := params.text(n)) is not None}
    prefix = key("decision")
    if protocol_id is not None:
        prefix = key("decision of", protocol_id)
    elif wanted:
        name, value = next(iter(wanted.items()))
        prefix = key("lineage decision", name.removesuffix("_id"), value)

    def item(row: bytes) -> Json | None:
        if prefix != key("decision"):
            row = view.get_many([row])[0] or b""
        value = _json(APC_DECISIONS, row)
        arbitration = value["arbitration"] or {}
        fits = kind in (None, value["kind"])
        fits = fits and all(arbitration.get(name) == text for name, text in wanted.items())
        return value if fits else None

    return page(view, prefix, params, params.limit(100), item)


def _json(topic: Topic, row: bytes) -> Json:
    assert topic.record is not None
    return to_json(topic.record, decode(row, topic.record).value)
