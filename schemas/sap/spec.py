"""SAP 2.0 in this layer."""

from __future__ import annotations

import json

from schemas.sap.json_schema import json_schema
from schemas.sap.mapping import MAPPING
from schemas.sap.shapes import ENVELOPES
from schemas.sap.validate import validate_result, validate_signal, validate_task
from schemas.spec import Spec


def _export() -> dict[str, str]:
    return {
        f"sap/{name}.json": json.dumps(json_schema(shape), indent=2) + "\n"
        for name, shape in ENVELOPES.items()
    }


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
    export=_export,
    mapping=MAPPING,
)
