"""Nodes and edges of the lineage graph that ASAP gives rise to.

Source: ASAP spec, 5.7.
"""

from __future__ import annotations

from topology.keys import composite


def task(task_id: str) -> str:
    return "asap:task:" + composite(task_id)


def envelope(envelope_id: str) -> str:
    return "asap:envelope:" + composite(envelope_id)


def snapshot(task_id: str, version: int) -> str:
    return "asap:snapshot:" + composite(task_id, str(version))


def artifact(task_id: str, artifact_id: str) -> str:
    return "asap:artifact:" + composite(task_id, artifact_id)


def call(key: str) -> str:
    return "asap:call:" + composite(key)


def conversation(conversation_id: str) -> str:
    return "asap:conversation:" + composite(conversation_id)


def trace(trace_id: str) -> str:
    return "trace:" + composite(trace_id)
