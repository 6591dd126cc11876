"""The part of the OpenAPI document for SAP 2.0, beside its routes and responses."""

from __future__ import annotations

from streams.api.description import Description, PathId, envelope
from streams.api.problems import Code
from topology.sap import (
    SAP_ACKS,
    SAP_CACHE,
    SAP_HEURISTICS,
    SAP_KNOWLEDGE,
    SAP_LEARNING,
    SAP_OUTCOMES,
    SAP_TASKS,
)

DESCRIPTION = Description(
    tags={"sap": "Tasks, results, signals, vetted answers, learning."},
    http_rules=(Code("record_refused", 409, "None of the versions under the key counts."),),
    ids={
        "taskId": PathId("7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a"),
        "capability": PathId("consult.align"),
        "fingerprint": PathId(
            "e0.72f9f7ba4b2a4ed4db4ca8a31a8b2a4d1d4e6a2e7a5b7c1f0f3d9f8e6a1b2c3d"
        ),
        "cacheKey": PathId("591a42479351258326c4e1b6dd4c01bb5314daebe28167c1c5ee45dbb49b303f"),
    },
    records=(
        SAP_TASKS,
        SAP_OUTCOMES,
        SAP_ACKS,
        SAP_CACHE,
        SAP_LEARNING,
        SAP_HEURISTICS,
        SAP_KNOWLEDGE,
    ),
    bodies=(
        envelope("sap/task", "sap/tasks"),
        envelope("sap/result", "sap/results"),
        envelope("sap/signal", "sap/signals"),
    ),
)
