"""Requests, manifests and what waits, for the tests of admission."""

from __future__ import annotations

from typing import Any

from tests.unit.protocols.asap.processor.support import (
    INDEXER,
    PLANNER,
    Bench,
    envelope,
)
from topology.asap import ASAP_MANIFESTS_TABLE

Json = dict[str, Any]

HOUR_MS = 3_600_000
NO_SCHEMAS = {"input_schema_json": None, "output_schema_json": None}
KEYED = {"config": {"idempotency_key": "nightly-3"}}


def waiting(bench: Bench) -> list[tuple[int, str, str]]:
    """Timers that decide something; the others only clean up."""
    return sorted(timer for timer in bench.timers if timer[1] in ("task", "ask", "drain"))


def child(parent: str) -> Json:
    return {"parent_task_id": parent}


def manifest(urn: str, *skills: str) -> Json:
    """The Avro value of a manifest that lists these skills."""
    listed = [{"id": skill, "description": "", **NO_SCHEMAS} for skill in skills]
    return {
        "id": urn,
        "name": "n",
        "version": "1.0",
        "description": "",
        "capabilities": {
            "asap_version": "0.1",
            "skills": listed,
            "state_persistence": False,
            "streaming": False,
            "mcp_tools": [],
        },
        "endpoints": {"asap": "http://there/asap", "events": None},
        "auth": None,
        "signature": None,
    }


def with_manifests(bench: Bench, *values: Json) -> Bench:
    bench.copied[ASAP_MANIFESTS_TABLE.name] = {value["id"]: value for value in values}
    return bench


def requested(id: str, payload: Json | None = None, **more: Any) -> Json:
    return envelope("TaskRequest", payload, id=id, sender=PLANNER, recipient=INDEXER, **more)
