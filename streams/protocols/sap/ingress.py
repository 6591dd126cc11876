"""What users may send: each kind of envelope, its topic, and who may send it."""

from __future__ import annotations

from typing import Any

from schemas import Problem, validate
from schemas.sap.rules import FORBIDDEN
from streams.access.sender import own
from streams.processing.ingress import Edge, Kind, as_sent
from streams.settings import Settings
from topology import topics

MAX_ERRORS = 1000


def _kind(name: str) -> Kind:
    """A kind of envelope of SAP: nothing is filled in, and unknown members are kept."""

    def problems(value: Any, settings: Settings) -> list[Problem]:
        return validate(f"sap.{name}", value)

    return Kind(f"sap.{name}", as_sent, problems, MAX_ERRORS, not_json="bad_json")


TASK, RESULT, SIGNAL = KINDS = (_kind("task"), _kind("result"), _kind("signal"))
EDGES = (
    Edge(topics.SAP_TASKS, TASK),
    Edge(topics.SAP_RESULTS, RESULT),
    Edge(topics.SAP_SIGNALS, SIGNAL),
)
SENDERS = {
    topics.SAP_TASKS: own(FORBIDDEN.code, "issuer", "agentId"),
    topics.SAP_RESULTS: own(FORBIDDEN.code, "producer", "agentId"),
    topics.SAP_SIGNALS: own(FORBIDDEN.code, "operator", "agentId"),
}
