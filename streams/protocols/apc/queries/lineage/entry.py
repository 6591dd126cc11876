"""The members of a counted packet that lineage sums up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import orjson

from schemas.apc import dec, to_nano

Universe = tuple[str, str]
EVERYTHING: Universe = ("", "")
FILTERS = ("session_id", "run_id", "project_id")
UNCOUNTED = frozenset({"REJECTED_SCHEMA", "REJECTED_POLICY", "EXPIRED", "RETRACTED"})


class Transfer(NamedTuple):
    """The transfer of a protocol.

    mode: of the lineage, else of the policy.  Scores are decimals as text.
    """

    protocol_id: str
    mode: str
    accepted: bool
    cross: bool
    sender_score: str
    receiver_score: str


class Entry(NamedTuple):
    """A packet that bears lineage, or an EVAL.

    position: (time, partition, offset) of its record.  lineage: as sent, None for an EVAL without.
    evaluation: (outcome, drift or None) in units of 10^-9.
    """

    session_id: str
    run_id: str
    task_id: str
    project_id: str | None
    packet_id: str
    packet_type: str
    run_phase: str
    trace_id: str
    position: tuple[int, int, int]
    lineage: dict[str, Any] | None
    transfer: Transfer | None
    evaluation: tuple[int, int | None] | None

    @property
    def task(self) -> tuple[str, str, str]:
        return self.session_id, self.run_id, self.task_id

    @property
    def protocol_id(self) -> str | None:
        return None if self.lineage is None else str(self.lineage["protocol_id"])

    @property
    def mode(self) -> str:
        """Return the mode that a packet with lineage is summed up under."""
        return str((self.lineage or {}).get("transfer_mode") or "unknown")

    @property
    def cross(self) -> bool:
        return bool(self.lineage and self.lineage.get("cross_use_case"))

    def universes(self) -> list[Universe]:
        """Return the packet's universes, the project's last if it has one."""
        universes = [EVERYTHING, ("session", self.session_id), ("run", self.run_id)]
        if self.project_id is not None:
            universes.append(("project", self.project_id))
        return universes

    def dump(self) -> bytes:
        return orjson.dumps(tuple(self), default=tuple)

    @classmethod
    def load(cls, row: bytes) -> Self:
        entry = cls._make(orjson.loads(row))
        at, partition, offset = entry.position
        transfer = None if entry.transfer is None else Transfer(*entry.transfer)
        evaluation = None
        if entry.evaluation is not None:
            outcome, drift = entry.evaluation
            evaluation = (outcome, drift)
        return entry._replace(
            position=(at, partition, offset), transfer=transfer, evaluation=evaluation
        )


def entry_of(
    fact: Mapping[str, Any], packet: Mapping[str, Any], position: tuple[int, int, int]
) -> Entry | None:
    """Return the entry of a verdict's packet, None if lineage does not use it; packet: JSON."""
    lineage = packet.get("lineage")
    kind, payload = packet["packet_type"], packet["payload"]
    if lineage is None and kind != "EVAL":
        return None
    metadata = packet.get("metadata")
    project = metadata.get("project_id") if isinstance(metadata, dict) else None
    return Entry(
        fact["session_id"],
        fact["run_id"],
        fact["task_id"],
        project,
        fact["packet_id"],
        kind,
        packet["run_phase"],
        fact["trace_id"],
        position,
        lineage,
        _transfer(payload, lineage) if kind == "TRANSFER" else None,
        _evaluation(payload["metric_set"]) if kind == "EVAL" else None,
    )


def _transfer(payload: Mapping[str, Any], lineage: Mapping[str, Any] | None) -> Transfer:
    lineage = lineage or {}
    return Transfer(
        payload["protocol_id"],
        lineage.get("transfer_mode") or payload["transfer_policy"]["mode"],
        payload.get("accepted", False),
        lineage.get("cross_use_case", False),
        str(dec(payload["sender_score"])),
        str(dec(payload["receiver_score"])),
    )


def _evaluation(metrics: Mapping[str, Any]) -> tuple[int, int | None]:
    drift = metrics.get("drift_risk")
    return to_nano(metrics["outcome"]), None if drift is None else to_nano(drift)
