"""What users may send: each kind of envelope, its topic, and who may send it."""

from __future__ import annotations

from typing import Any

from schemas import Problem, validate
from schemas.sap.rules import FORBIDDEN
from streams.access.sender import own_name
from streams.processing.ingress import EnvelopeType, IngressTopic, as_sent
from streams.settings.service import ServiceSettings
from topology.sap import SAP_RESULTS, SAP_SIGNALS, SAP_TASKS

MAX_ERRORS = 1000


def _kind(name: str) -> EnvelopeType:
    """A kind of envelope of SAP: nothing is filled in, and unknown members are kept."""

    def problems(value: Any, settings: ServiceSettings) -> list[Problem]:
        return validate(f"sap.{name}", value)

    return EnvelopeType(f"sap.{name}", as_sent, problems, MAX_ERRORS, not_json="bad_json")


TASK, RESULT, SIGNAL = KINDS = (_kind("task"), _kind("result"), _kind("signal"))
EDGES = (
    IngressTopic(SAP_TASKS, TASK),
    IngressTopic(SAP_RESULTS, RESULT),
    IngressTopic(SAP_SIGNALS, SIGNAL),
)
SENDERS = {
    SAP_TASKS: own_name(FORBIDDEN.code, "issuer", "agentId"),
    SAP_RESULTS: own_name(FORBIDDEN.code, "producer", "agentId"),
    SAP_SIGNALS: own_name(FORBIDDEN.code, "operator", "agentId"),
}
