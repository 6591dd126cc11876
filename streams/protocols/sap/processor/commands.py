"""The first checks of every command: its shape, its key, its place on the log.

Source: SAP spec, 3.1 and Clarification 4.
"""

from __future__ import annotations

from typing import Any

from schemas.sap import rules
from streams.engine.processor import AvroValue
from streams.protocols.sap.processor import acks
from streams.protocols.sap.processor.acks import Ruling
from streams.protocols.sap.processor.case import is_overdue
from streams.protocols.sap.processor.inbound import Command
from streams.protocols.sap.processor.scene import Scene
from topology.keys import partition_of
from topology.machines.sap_task import MACHINE

Json = dict[str, Any]

_PATH = "/taskId"


def misfit(command: Command, scene: Scene) -> Ruling | None:
    """What can be said without looking at the task."""
    if command.problems:
        return acks.malformed(command.problems)
    expected, key = command.known_id, command.key
    if key != expected:
        shown = "null" if command.message.record.key is None else _shown(key)
        figures: Json = {"key": key, "expected": expected}
        reason = f"The record key is {shown}; taskId makes it '{expected}'."
        return Ruling(rules.KEY_MISMATCH.code, reason, _PATH, figures)
    partition = partition_of(expected.encode(), scene.work.partitions)
    if partition != command.message.record.partition:
        figures = {"partition": command.message.record.partition, "expected": partition}
        reason = (
            f"The record lies on partition {figures['partition']}; its key makes it {partition}."
        )
        return Ruling("partition_mismatch", reason, _PATH, figures)
    return None


def _shown(key: str | None) -> str:
    return "no UTF-8 text" if key is None else repr(key)


def unknown_task(envelope: Json, row: AvroValue | None) -> Ruling | None:
    if row is not None:
        return None
    reason = f"taskId: no task {envelope['taskId']} was accepted."
    return Ruling(rules.UNKNOWN_TASK.code, reason, _PATH)


def uncorrelated(envelope: Json, row: AvroValue) -> Ruling | None:
    given, expected = envelope["correlationId"].lower(), row["correlationId"]
    if given == expected:
        return None
    figures = {"correlationId": given, "expected": expected}
    reason = f"correlationId: the task has {expected}."
    return Ruling(rules.CORRELATION_MISMATCH.code, reason, "/correlationId", figures)


def repeated(known: AvroValue | None) -> Ruling | None:
    """known: SapKnown of the same envelope."""
    return None if known is None else acks.duplicate(known["position"])


def closed(row: AvroValue, now: int) -> Ruling | None:
    """The task has ended, or would have at its deadline."""
    figures = {"state": row["state"]}
    if row["state"] in MACHINE.terminal:
        reason = f"taskId: the task has ended; it is {row['state']}."
    elif is_overdue(row, now):
        figures["deadline"] = row["deadline"]
        reason = f"taskId: the task has ended; its deadline was {row['deadline']}."
    else:
        return None
    return Ruling(rules.TASK_CLOSED.code, reason, _PATH, figures)
