"""The ingress topics of SAP: the kind of their envelopes, and the permitted senders."""

from __future__ import annotations

from typing import Any

from schemas import Problem, validate
from schemas.sap import validate_result
from schemas.sap.rules import FORBIDDEN
from streams.access.sender import own_name
from streams.masking.shapes import make_shapes
from streams.processing.ingress import EnvelopeType, IngressTopic, prepare_unchanged
from streams.protocols.sap.payload_secrets import secret_problem
from streams.protocols.sap.settings import SapSettings
from streams.settings.masking import MaskingSettings
from streams.settings.service import ServiceSettings
from topology.sap import SAP_RESULTS, SAP_SIGNALS, SAP_TASKS

MAX_ERRORS = 1000


def _kind(name: str) -> EnvelopeType:
    """Return a kind of envelope of SAP: nothing is filled in, and unknown members are kept."""

    def problems(value: Any, settings: ServiceSettings) -> list[Problem]:
        return validate(f"sap.{name}", value)

    return EnvelopeType(f"sap.{name}", prepare_unchanged, problems, MAX_ERRORS, not_json="bad_json")


def _task_problems(value: Any, settings: ServiceSettings) -> list[Problem]:
    problems = validate("sap.task", value)
    if problems or SapSettings.of(settings).sap_payload_secrets == "warn":
        return problems
    masking = MaskingSettings.of(settings)
    shapes = make_shapes(masking.masking_disabled, masking.masking_rule)
    secret = secret_problem(value, shapes)
    return [] if secret is None else [secret]


def _result_problems(value: Any, settings: ServiceSettings) -> list[Problem]:
    strict = SapSettings.of(settings).sap_evidence_words == "strict"
    return validate_result(value, strict=strict)


TASK, RESULT, SIGNAL = KINDS = (
    _kind("task")._replace(problems=_task_problems),
    _kind("result")._replace(problems=_result_problems),
    _kind("signal"),
)
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
