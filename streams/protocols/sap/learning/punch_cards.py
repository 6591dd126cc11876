"""The punch-card of a playbook: the same as task snippets, for programs.

The first step is the kind of task itself, as its best task was asked; the others are the follow-ups
that were named most.  Each step can be sent on as one of a result's `nextActions`, or completed to
a task: who sends it adds ids, times, issuer and payload.

Source: SAP guide, 5.5.
"""

from __future__ import annotations

from typing import Any

from schemas import canonical_json, to_json
from schemas.sap.constants import is_capability
from streams.engine.processor import AvroValue
from topology.sap import sap_key

Json = dict[str, Any]
_CONTRACT = "headrace.sap.SapContract"


def card_of(book: AvroValue, snippet: AvroValue | None) -> AvroValue:
    """Return the SapPunchCard of a playbook.

    book: SapPlaybook.  snippet: SapSnippet of its best task; None if an earlier release saw it.
    """
    key = sap_key(book["capability"], book["territory"], book["fingerprint"])
    evidence = [] if snippet is None else list(snippet["evidence"])
    source = {"key": key, "version": book["version"], "evidence": evidence}
    steps = [_first_step(book, snippet), *map(_next_step, book["nextActions"])]
    numbered = [{**step, "punchCard": source} for step in steps]
    return {
        "key": key,
        "version": book["version"],
        "steps_json": canonical_json(numbered).decode(),
        "evidence": evidence,
    }


def _first_step(book: AvroValue, snippet: AvroValue | None) -> Json:
    context: Json = {"constraints": [] if snippet is None else list(snippet["constraints"])}
    if book["territory"] is not None:
        context["territory"] = book["territory"]
    step: Json = {
        "target": {"capability": book["capability"]},
        "constitutionalContext": context,
        "expectedMetrics": dict(book["metricMeans"]),
        "requiredChecks": list(book["requiredChecks"]),
    }
    if snippet is not None and snippet["outputContract"] is not None:
        step["outputContract"] = to_json(_CONTRACT, snippet["outputContract"])
    return step


def _next_step(purpose: str) -> Json:
    """Return the snippet of a follow-up.  purpose: a capability, a kind, or a kind and both."""
    *kinds, last = purpose.split(" ")
    if "." in last and is_capability(last):
        target = {"target": {"capability": last}}
        return {**target, "kind": " ".join(kinds)} if kinds else target
    return {"kind": purpose}
