"""The declaration of Summit v1 for this layer."""

from __future__ import annotations

import json

from schemas.spec import Spec
from schemas.summit.calls import check_call
from schemas.summit.export import avro_sources
from schemas.summit.json_schema import SCHEMAS
from schemas.summit.manifests import check_manifest
from schemas.summit.mapping import MAPPING
from schemas.summit.meanings import MEANINGS
from schemas.summit.replies import check_reply


def _export() -> dict[str, str]:
    return {
        f"summit/{name}.json": json.dumps(schema, indent=2) + "\n"
        for name, schema in SCHEMAS.items()
    }


SPEC = Spec(
    "summit",
    records=(
        "headrace.summit.SummitManifest",
        "headrace.summit.SummitCall",
        "headrace.summit.SummitReply",
        "headrace.summit.SummitEvent",
        "headrace.summit.SummitRun",
        "headrace.summit.SummitAgent",
        "headrace.summit.SummitReplyKnown",
        "headrace.summit.SummitTree",
        "headrace.summit.SummitTreeTotals",
        "headrace.summit.SummitTreeOrigin",
    ),
    kinds={
        "summit.manifest": check_manifest,
        "summit.call": check_call,
        "summit.reply": check_reply,
    },
    export=_export,
    sources=avro_sources,
    mapping=MAPPING,
    meanings=MEANINGS,
)
