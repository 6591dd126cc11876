"""Nodes of the lineage graph that Summit gives rise to.

Source: Summit 5.2 to 5.6.
"""

from __future__ import annotations

from topology.keys import composite


def run(run_id: str) -> str:
    return "summit:run:" + composite(run_id)


def manifest(agent_id: str, version: str) -> str:
    return "summit:manifest:" + composite(agent_id, version)


def reply(run_id: str, reply_id: str) -> str:
    return "summit:reply:" + composite(run_id, reply_id)


def call(position: str) -> str:
    """position: raw, where the record lies."""
    return "summit:call:" + position


def trace(trace_id: str) -> str:
    return "trace:" + composite(trace_id)
