"""The manifest in force of a Summit agent, read from the log."""

from __future__ import annotations

from typing import Any

from streams.errors import NotFound
from streams.log.connecting import connect
from streams.log.reading import partitions, records
from streams.log.record_json import value_json
from streams.settings import Settings
from topology.summit import SUMMIT_AGENTS
from topology.topics import full_name

Json = dict[str, Any]
_REGISTERED = "registered"


def manifest_in_force(agent_id: str, settings: Settings) -> Json:
    """Return the manifest of a registered agent.

    Raises NotFound when there is none or it was withdrawn, BrokerUnavailable, TopicsMismatch.
    """
    row: Any = None
    log = connect(settings)
    try:
        tps = partitions(log, [full_name(SUMMIT_AGENTS, settings.prefix)])
        for record in records(log, tps):
            if record.key == agent_id.encode():
                row = value_json(SUMMIT_AGENTS, record)
    finally:
        log.close()
    if row is None or row["state"] != _REGISTERED:
        advice = "Give --register, or run `headrace summit register --from-mcp` first."
        raise NotFound(f"no agent {agent_id} is registered", "agent.unknown", advice=advice)
    manifest: Json = row["manifest"]
    return manifest
