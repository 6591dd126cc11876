"""ASAP 0.1 in this layer."""

from __future__ import annotations

from schemas.asap.export import PART_FILE, get_schema_json, list_schema_entries, schema_text
from schemas.asap.judge import validate_manifest
from schemas.asap.mapping import MAPPING
from schemas.asap.meanings import MEANINGS
from schemas.asap.validate import validate
from schemas.spec import Spec


def _export() -> dict[str, str]:
    files = [*list_schema_entries("asap"), ("part", "asap" / PART_FILE)]
    return {path.as_posix(): schema_text(get_schema_json(name)) for name, path in files}


SPEC = Spec(
    "asap",
    records=(
        "dev.headrace.asap.AsapEnvelope",
        "dev.headrace.asap.AsapEvent",
        "dev.headrace.asap.AsapTask",
        "dev.headrace.asap.AsapSnapshot",
        "dev.headrace.asap.AsapLink",
        "dev.headrace.asap.AsapManifest",
        "dev.headrace.asap.AsapSeen",
        "dev.headrace.asap.AsapClaim",
        "dev.headrace.asap.AsapRedirect",
        "dev.headrace.asap.AsapCall",
        "dev.headrace.asap.AsapAdmission",
        "dev.headrace.asap.AsapHeld",
        "dev.headrace.asap.AsapPatch",
        "dev.headrace.asap.AsapVersions",
        "dev.headrace.asap.AsapSnapshotId",
        "dev.headrace.asap.AsapAgent",
    ),
    kinds={"asap.envelope": validate, "asap.manifest": validate_manifest},
    export=_export,
    mapping=MAPPING,
    meanings=MEANINGS,
)
