"""The protocols and their specs.  Every list here is derived from `SPECS`."""

from __future__ import annotations

from schemas.apc.spec import SPEC as APC
from schemas.asap.spec import SPEC as ASAP
from schemas.otel.spec import SPEC as OTEL
from schemas.saop.spec import SPEC as SAOP
from schemas.sap.spec import SPEC as SAP
from schemas.spec import Spec
from schemas.summit.spec import SPEC as SUMMIT

SPECS: tuple[Spec, ...] = (APC, SAOP, SAP, ASAP, SUMMIT, OTEL)

CORE_RECORDS = (
    "headrace.core.TimerRow",
    "headrace.core.LineageEdge",
    "headrace.core.InputPosition",
    "headrace.core.KnownInputs",
    "headrace.core.AcceptedGap",
    "headrace.core.AuditRedrive",
    "headrace.core.AuditCheckpoint",
    "headrace.core.AuditEntries",
    "headrace.core.AuditTreeHead",
    "headrace.push.PushSubscription",
    "headrace.push.PushDelivery",
    "headrace.core.TaskOpening",
    "headrace.core.AuditRepair",
)
"""The records that topics and tables hold and that belong to no protocol."""

RECORDS = (*CORE_RECORDS, *(record for spec in SPECS for record in spec.records))
"""All records that topics and tables hold.  New ones get their schema ids in this order."""

UNIONS = {name: records for spec in SPECS for name, records in spec.unions.items()}
"""The unions that the Avro sources name, with their records in order."""
