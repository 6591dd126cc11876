"""Queries of agents by their manifests, and of conversations by their tasks."""

from __future__ import annotations

from streams.errors import NotFound
from streams.protocols.asap.queries.common import PAGED, paged
from streams.protocols.asap.queries.tasks import tasks_in
from streams.views.keys import key
from streams.views.pages import page_of, rows_of
from streams.views.parse import QueryParams
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, json_of
from topology.asap import ASAP_MANIFESTS

AGENTS_PARAMS = PAGED


def agents(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return the valid manifests, by URN."""
    prefix = key("asap agent")
    rows = rows_of(view, prefix, _manifest)
    return paged("agents", page_of(params, prefix, rows))


def agent(view: ReadOnlyStore, urn: str) -> Json:
    """Return the manifest of an agent.  Raises NotFound."""
    row = view.get("asap agent", urn)
    if row is None:
        raise NotFound(f"there is no valid manifest of {urn}", "agent_not_found")
    return _manifest(row)


def _manifest(row: bytes) -> Json:
    return json_of(ASAP_MANIFESTS, row)


def conversation(view: ReadOnlyStore, id: str) -> Json:
    """Return a conversation with its tasks by age, and its participants.  Raises NotFound."""
    rows = list(tasks_in(view, id))
    if not rows:
        raise NotFound(f"there is no conversation {id}", "conversation_not_found")
    participants = dict.fromkeys(urn for row in rows for urn in (row["requester"], row["worker"]))
    entity = {
        "id": id,
        "participants": list(participants),
        "created_at": rows[0]["created_at"],
        "metadata": None,
    }
    return {"conversation": entity, "tasks": [row["task_id"] for row in rows]}
