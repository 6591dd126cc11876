"""The declarations of SAP 2.0 for the schema layer."""

from __future__ import annotations

from schemas.sap.export import avro_sources, json_schemas
from schemas.sap.mapping import MAPPING
from schemas.sap.meanings import MEANINGS
from schemas.sap.models import validate_result, validate_signal, validate_task
from schemas.spec import Spec

SPEC = Spec(
    "sap",
    records=(
        "headrace.sap.SapTask",
        "headrace.sap.SapResult",
        "headrace.sap.SapSignal",
        "headrace.sap.SapAck",
        "headrace.sap.SapLookup",
        "headrace.sap.SapCacheVerdict",
        "headrace.sap.SapTaskState",
        "headrace.sap.SapCacheRecord",
        "headrace.sap.SapLearningSignal",
        "headrace.sap.SapLearning",
        "headrace.sap.SapHeuristics",
        "headrace.sap.SapPlaybook",
        "headrace.sap.SapKnown",
        "headrace.sap.SapRateLimit",
        "headrace.sap.SapCacheHead",
        "headrace.sap.SapCacheWait",
        "headrace.sap.SapCacheStore",
        "headrace.sap.SapLearningHead",
        "headrace.sap.SapMemberGroup",
        "headrace.sap.SapMemberTotal",
        "headrace.sap.SapBins",
        "headrace.sap.SapCheckCounter",
        "headrace.sap.SapLearningBest",
        "headrace.sap.SapCitationCount",
    ),
    kinds={
        "sap.task": validate_task,
        "sap.result": validate_result,
        "sap.signal": validate_signal,
    },
    export=json_schemas,
    sources=avro_sources,
    mapping=MAPPING,
    meanings=MEANINGS,
)
