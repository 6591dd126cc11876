"""Tasks of SAP as work that takes long."""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

from streams.api.long_work import Author, LongWork, Order, WorkState
from streams.api.things import Ids
from streams.protocols.sap.queries.tasks import state_of, task_key
from streams.views.keys import key
from streams.views.reads import ReadOnlyStore
from streams.views.values import Json
from topology.sap import SAP_SIGNALS

_SECONDS = len("2026-01-01T00:00:00")
"""The characters of a time that SAP has; it knows no fractions of a second."""


def _row(ids: Ids) -> bytes:
    return key("sap task", task_key(ids["taskId"]))


def _read(view: ReadOnlyStore, ids: Ids) -> WorkState | None:
    row = state_of(view, task_key(ids["taskId"]))
    return None if row is None else WorkState(row["state"], row["acceptedAt"], row["updatedAt"])


def _cancel(view: ReadOnlyStore, ids: Ids, author: Author) -> Order:
    """Return the signal of the principal; without tokens it is the issuer's."""
    row = state_of(view, task_key(ids["taskId"])) or {}
    principal = author.principal
    operator = row["issuer"] if principal is None else _user(principal)
    signal = {
        "protocolVersion": "2.0",
        "signalId": str(uuid5(NAMESPACE_URL, f"headrace:mcp:{row['taskId']}")),
        "taskId": row["taskId"],
        "correlationId": row["correlationId"],
        "sentAt": f"{author.at[:_SECONDS]}Z",
        "operator": {name: value for name, value in operator.items() if value is not None},
        "kind": "cancel",
    }
    return Order(SAP_SIGNALS, signal)


def _user(principal: str) -> Json:
    return {"agentId": principal, "agentKind": "user"}


LONG_WORK = LongWork(letter="s", row=_row, read=_read, cancelled="CANCELLED", cancel=_cancel)
