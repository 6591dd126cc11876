"""The part of a task that its playbook's punch-card repeats.

Source: SAP guide, 5.5.
"""

from __future__ import annotations

from streams.engine.processor import AvroValue
from streams.protocols.sap.processor.aggregate import TaskAggregate

CONSTRAINTS = 32
CONSTRAINT_LENGTH = 500
CONTRACT_LENGTH = 16_384
"""The most of each that a snippet has, so that rows of learning stay small."""


def of_task(task: TaskAggregate) -> AvroValue:
    """Return the SapSnippet of a task, with the record that is decided as its evidence."""
    context, contract = task.envelope["constitutionalContext"], task.envelope["outputContract"]
    constraints = context["constraints"] or []
    positions = [task.row["position"], task.ctx.cause]
    return {
        "outputContract": contract if contract and _is_short(contract) else None,
        "constraints": [
            text for text in constraints[:CONSTRAINTS] if len(text) <= CONSTRAINT_LENGTH
        ],
        "evidence": list(dict.fromkeys(place for place in positions if "/" in place)),
    }


def _is_short(contract: AvroValue) -> bool:
    texts = (contract["schema_json"], contract["extra_json"])
    return sum(len(text or "") for text in texts) <= CONTRACT_LENGTH
