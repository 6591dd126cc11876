"""The names of the lineage graph's nodes for tasks, turns, sessions, rewinds, escalations.

Source: SAOP guide, 5.5.
"""

from __future__ import annotations


def task_node(task_id: str) -> str:
    return f"saop:task:{task_id}"


def turn_node(task_id: str, turn_index: int) -> str:
    return f"saop:turn:{task_id}/{turn_index}"


def session_node(session_id: str) -> str:
    return f"saop:session:{session_id}"


def rewind_node(rewind_id: str) -> str:
    return f"saop:rewind:{rewind_id}"


def escalation_node(escalation_id: str) -> str:
    return f"saop:escalation:{escalation_id}"
