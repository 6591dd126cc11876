"""The queries of agents, their manifests, tools and status (Summit guide, 6.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice

import orjson

from schemas.summit import rules
from schemas.summit.words import STATES
from streams.engine.headers import iso
from streams.errors import NotFound
from streams.protocols.summit.queries.rows import (
    AGENT,
    REGISTERED,
    TOOL,
    VERSION,
    count_key,
    last_reply_key,
    queue_key,
)
from streams.protocols.summit.queries.runs import PAGED
from streams.views.keys import key, number_at_end, text_key
from streams.views.pages import page, page_of, rows_of
from streams.views.parse import QueryParams
from streams.views.query_params import Parameter, one_of
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, filters_of, json_of
from topology.summit import SUMMIT_AGENTS

VERSION_PARAM = Parameter("version", "this one of its versions", example="1.2.0")
AGENTS_PARAMS = (
    Parameter("role", "of this role", example="researcher"),
    Parameter("capability", "that can do this", example="text:count"),
    one_of("state", "in this state", (REGISTERED, "withdrawn")),
    *PAGED,
)
_FILTERS = ("role", "capability", "state")
__all__ = [
    "AGENTS_PARAMS",
    "REGISTERED",
    "VERSION_PARAM",
    "agent",
    "agents",
    "agents_page",
    "each_registered",
    "find",
    "manifest_reader",
    "registered_page",
    "status",
    "tools",
]


def agent(view: ReadOnlyStore, agent_id: str, version: str | None = None) -> Json:
    """Return the current SummitAgent of an agent, or one of its versions.  Raises NotFound."""
    row = find(view, agent_id, version)
    if row is None:
        what = agent_id if version is None else f"{agent_id} {version}"
        raise NotFound(f"there is no agent {what}", rules.AGENT_UNKNOWN.code)
    return row


def find(view: ReadOnlyStore, agent_id: str, version: str | None = None) -> Json | None:
    agent_key = text_key(agent_id)
    row_key = AGENT + agent_key if version is None else VERSION + agent_key + text_key(version)
    (row,) = view.get_many([row_key])
    return None if row is None else json_of(SUMMIT_AGENTS, row)


def manifest_reader(view: ReadOnlyStore) -> Callable[[str, str], Json | None]:
    """Return a function that reads the manifest of an accepted version of an agent."""

    def manifest(agent_id: str, version: str) -> Json | None:
        row = find(view, agent_id, version)
        return None if row is None else row["manifest"]

    return manifest


def agents(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return a page of current agents, by agentId."""
    return page_of(params, AGENT, rows_of(view, AGENT, _matching(filters_of(params, _FILTERS))))


def agents_page(
    view: ReadOnlyStore, members: Mapping[str, str], limit: int, cursor: str | None
) -> Json:
    """Return a page of the agents that have these members."""
    return page(limit, cursor, AGENT, rows_of(view, AGENT, _matching(members)))


def registered_page(
    view: ReadOnlyStore, params: QueryParams, is_listed: Callable[[Json], bool]
) -> Json:
    """Return a page of the registered agents that are listed, by agentId."""
    fits = _matching({"state": REGISTERED})

    def item(row: bytes) -> Json | None:
        agent_row = fits(row)
        return agent_row if agent_row is not None and is_listed(agent_row) else None

    return page_of(params, AGENT, rows_of(view, AGENT, item))


def each_registered(view: ReadOnlyStore) -> Iterator[Json]:
    """Yield the SummitAgent of each registered agent, by agentId."""
    fits = _matching({"state": REGISTERED})
    rows = (fits(row) for _, row in view.scan(AGENT))
    return (row for row in rows if row is not None)


def _matching(members: Mapping[str, str]) -> Callable[[bytes], Json | None]:
    def item(row: bytes) -> Json | None:
        value = json_of(SUMMIT_AGENTS, row)
        spec = value["manifest"]["spec"]
        fits = (
            members.get("state", value["state"]) == value["state"]
            and members.get("role", spec["role"]) == spec["role"]
            and ("capability" not in members or members["capability"] in spec["capabilities"])
        )
        return value if fits else None

    return item


def tools(view: ReadOnlyStore, agent_id: str | None, limit: int, cursor: str | None) -> Json:
    """Return a page of the tools of registered agents, by agentId, then name."""
    prefix = TOOL if agent_id is None else TOOL + text_key(agent_id)
    return page(limit, cursor, prefix, rows_of(view, prefix, orjson.loads))


_TIME_BYTES = len(key(0))


def status(view: ReadOnlyStore, agent_id: str) -> Json:
    """Return an agent as `agent.status` shows it.  Raises NotFound."""
    row = agent(view, agent_id)
    counts, last = view.get_many([count_key(agent_id), last_reply_key(agent_id)])
    run_counts = {} if counts is None else orjson.loads(counts)
    return {
        "agentId": agent_id,
        "status": row["state"],
        "version": row["version"],
        "role": row["manifest"]["spec"]["role"],
        "manifestHash": row["manifestHash"],
        "registeredAt": row["at"],
        "runs": {state: run_counts.get(state, 0) for state in STATES},
        "oldestQueuedAt": _oldest_queued(view, agent_id),
        "lastReplyAt": None if last is None else iso(int(last)).decode(),
    }


def _oldest_queued(view: ReadOnlyStore, agent_id: str) -> str | None:
    prefix = queue_key(agent_id)
    entries = islice(view.scan(prefix), 1)
    ages = (number_at_end(row_key[: len(prefix) + _TIME_BYTES]) for row_key, _ in entries)
    return next((iso(age).decode() for age in ages), None)
