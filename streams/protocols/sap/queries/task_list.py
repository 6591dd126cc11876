"""The list of accepted tasks, the newest first."""

from __future__ import annotations

from schemas import Undecodable
from schemas.projection import Projection
from schemas.sap.constants import STATUSES
from streams.protocols.sap.queries.rows import ACCEPTED
from streams.protocols.sap.queries.tasks import FROM_ROW
from streams.protocols.sap.task_row import FROM_OUTCOME
from streams.views.pages import page_of, rows_by_index, rows_reversed
from streams.views.parse import QueryParams
from streams.views.query_params import CURSOR, Parameter, limit, one_of, window
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json, filters_of, json_of
from topology.sap import SAP_TASK_STATES

MOST_READ = 2500
"""The most tasks that one page reads; where filters leave few of them, the next page goes on."""
TASKS_PARAMS = (
    one_of("state", "in this state", STATUSES),
    Parameter("capability", "for this capability", low=1, example="consult.align"),
    Parameter("issuer", "sent by this agent", low=1, example="ana"),
    *window("accepted"),
    limit(100, 1000),
    CURSOR,
)
_FILTERS = ("state", "capability", "issuer")
_FILTERED = Projection(
    SAP_TASK_STATES.record or "", ("state", "issuer/agentId", "target/capability")
)
LISTED = (*FROM_ROW, "territory", "cacheState", *FROM_OUTCOME)
"""The members of a task's row that the list shows."""


def tasks(view: ReadOnlyStore, params: QueryParams) -> Json:
    """Return a page of the accepted tasks, the newest first."""
    filters = filters_of(params, _FILTERS)
    start, end = params.window(ACCEPTED)
    index = rows_reversed(view, ACCEPTED, lambda row_key: row_key, start, end)

    def item(row: bytes) -> Json | None:
        if filters and not _matches(row, filters):
            return None
        task = json_of(SAP_TASK_STATES, row)
        return {name: task[name] for name in LISTED}

    return page_of(params, ACCEPTED, rows_by_index(view, index, item), MOST_READ)


def _matches(row: bytes, filters: dict[str, str]) -> bool:
    (task,) = _FILTERED.many([row])
    if isinstance(task, Undecodable):
        return False
    members = {
        "state": task["state"],
        "capability": task["target"]["capability"],
        "issuer": task["issuer"]["agentId"],
    }
    return all(members[name] == text for name, text in filters.items())
