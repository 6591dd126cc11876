"""The evaluation of tasks and results against the constitution (SAP guide, 3.3 to 3.6)."""

from __future__ import annotations

from streams.protocols.sap.constitution.constitution import Constitution
from streams.protocols.sap.constitution.evaluate import (
    Combined,
    Evaluation,
    combine,
    evaluate,
    status_after,
)
from streams.protocols.sap.constitution.load import bind, constitution_of, load

__all__ = [
    "Combined",
    "Constitution",
    "Evaluation",
    "bind",
    "combine",
    "constitution_of",
    "evaluate",
    "load",
    "status_after",
]
