"""`GET /v1/agents`: who sends what, and what becomes of it."""

from __future__ import annotations

from typing import Any

from schemas.formats import iso_ms
from streams.api.route import Call, Query, Route
from streams.protocols.queries import QUERIES
from streams.views.keys import key
from streams.views.pages import Entries, page_of
from streams.views.query_params import CURSOR, Parameter, ValueForm, limit, one_of
from streams.views.service.agents import BY_TIME, AgentRow, latest_agents

Json = dict[str, Any]
MOST_READ = 10_000
"""The most agents that one page reads."""
AGENT_PARAMS = (
    one_of("protocol", "in this protocol", tuple(side.name for side in QUERIES)),
    Parameter("q", "whose id contains this text", low=1),
    Parameter("from", "who have sent since this time", ValueForm.TIME),
    limit(100, 1000),
    CURSOR,
)


def list_agents(call: Call) -> Json:
    """Return a page of agents, the latest first."""
    protocol, text = call.params.text("protocol"), call.params.text("q")

    def matches(agent: str, its_protocol: str) -> bool:
        return protocol in (None, its_protocol) and (text is None or text in agent)

    start = call.params.time("from")
    latest = latest_agents(call.view, matches, b"" if start is None else BY_TIME + key(start))

    def entries(before_key: bytes | None) -> Entries:
        for row_key, row in latest(before_key):
            yield row_key, None if row is None else _json(row)

    return page_of(call.params, BY_TIME, entries, MOST_READ)


def _json(row: AgentRow) -> Json:
    counts = row.counts._asdict()
    return {
        "agent": row.agent,
        "protocol": row.protocol,
        **counts,
        "last_at": iso_ms(row.counts.last_at),
    }


ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/agents",
        "list_all_agents",
        Query(list_agents),
        "the agents that sent commands, with the verdicts on these, the latest first",
        AGENT_PARAMS,
        "AgentPage",
    ),
)
