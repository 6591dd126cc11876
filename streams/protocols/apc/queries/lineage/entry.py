"""The members of a counted packet that lineage sums up, and the sums of a task."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple, Self

import orjson

from schemas.apc import dec, to_nano
from schemas.decimals import difference, format_plain, product
from streams.protocols.apc.queries.lineage.pairs import Pairs, pairs_of
from streams.protocols.apc.queries.lineage.sums import Totals, plus

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

    @property
    def difference(self) -> Decimal:
        return difference(Decimal(self.sender_score), Decimal(self.receiver_score))


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


class Counts(NamedTuple):
    """The counts of one protocol in the task; accepted and cross count its TRANSFERs."""

    packets: int = 0
    transfers: int = 0
    accepted: int = 0
    cross: int = 0


_NO_COUNTS = Counts()
ADDED = (
    "tasks",
    "transfers",
    "accepted",
    "transfer_tasks",
    "outcome_weight",
    "outcome_sum_nano",
    "drift_weight",
    "drift_sum_nano",
)
"""The sums of a protocol that its tasks add up to."""


class Task(NamedTuple):
    """The sums of a task.

    evaluations, drifts: how many there are; the sums are in units of 10^-9.
    differences, squares: sums of the score differences of its TRANSFERs, as exact decimals.
    """

    evaluations: int
    outcome_nano: int
    drifts: int
    drift_nano: int
    protocols: Mapping[str, Counts]
    differences: str = "0"
    squares: str = "0"

    @property
    def outcome(self) -> int | None:
        """Return the mean outcome, rounded half-even."""
        return mean_nano(self.outcome_nano, self.evaluations)

    @property
    def drift(self) -> int | None:
        return mean_nano(self.drift_nano, self.drifts)

    def plus(self, entry: Entry, sign: int) -> Task:
        """Return the task with one packet more (sign 1) or less (-1)."""
        evaluations, outcome, drifts, drift, protocols, differences, squares = self
        if entry.evaluation is not None:
            outcome_nano, drift_nano = entry.evaluation
            evaluations, outcome = evaluations + sign, outcome + sign * outcome_nano
            if drift_nano is not None:
                drifts, drift = drifts + sign, drift + sign * drift_nano
        if entry.lineage is not None:
            protocols = dict(protocols)
            for protocol_id, change in _counts(entry).items():
                before = protocols.get(protocol_id, _NO_COUNTS)
                protocols[protocol_id] = Counts(
                    *(a + sign * b for a, b in zip(before, change, strict=True))
                )
        if entry.transfer is not None:
            scored = entry.transfer.difference
            differences = plus(differences, format_plain(scored), sign)
            squares = plus(squares, format_plain(product(scored, scored)), sign)
        return Task(evaluations, outcome, drifts, drift, protocols, differences, squares)

    def adds(self, protocol_id: str) -> tuple[int, ...]:
        """Return what the task adds to the sums of a protocol, in the order of `ADDED`."""
        packets, transfers, accepted, _ = self.protocols.get(protocol_id, _NO_COUNTS)
        outcome, drift = self.outcome, self.drift
        return (
            int(packets > 0),
            transfers,
            accepted,
            int(transfers > 0),
            0 if outcome is None else transfers,
            transfers * (outcome or 0),
            0 if drift is None else transfers,
            transfers * (drift or 0),
        )

    def correlates(self) -> Totals:
        """Return what the task adds to its universe; zeros if it has no transfer."""
        counts = self.protocols.values()
        if not any(count.transfers for count in counts):
            return Totals()
        outcome, drift = self.outcome, self.drift
        values = (1, int(outcome is not None), outcome or 0, int(drift is not None), drift or 0)
        if any(count.cross for count in counts):
            return Totals(0, 0, *values)
        return Totals(0, 0, 0, 0, 0, 0, 0, *values)

    def pairs(self) -> Pairs:
        """Return what the task adds to the sums of correlations; zeros without an outcome."""
        outcome = self.outcome
        counts = self.protocols.values()
        transfers = sum(count.transfers for count in counts)
        if outcome is None or not transfers:
            return Pairs()
        accepted = sum(count.accepted for count in counts)
        return pairs_of(transfers, accepted, self.differences, self.squares, outcome)

    def dump(self) -> bytes | None:
        """Return the row, None for a task in which nothing is counted."""
        items = sorted(self.protocols.items())
        protocols = {name: count for name, count in items if any(count)}
        if not self.evaluations and not protocols:
            return None
        row = (*self[:4], protocols, self.differences, self.squares)
        return orjson.dumps(row, default=tuple)

    @classmethod
    def load(cls, row: bytes | None) -> Self:
        if row is None:
            return cls(0, 0, 0, 0, {})
        task = cls._make(orjson.loads(row))
        counts = {name: Counts(*count) for name, count in task.protocols.items()}
        return task._replace(protocols=counts)


def _counts(entry: Entry) -> dict[str, Counts]:
    """Return the counts that a packet adds, by the protocol that it transfers or whose lineage it
    has.
    """
    counts = {entry.protocol_id or "": Counts(packets=1)}
    if (transfer := entry.transfer) is not None:
        before = counts.get(transfer.protocol_id, Counts())
        counts[transfer.protocol_id] = Counts(
            before.packets, 1, int(transfer.accepted), int(transfer.cross)
        )
    return counts


def mean_nano(total: int, count: int) -> int | None:
    """Return the mean rounded half-even, None without a value."""
    if count == 0:
        return None
    whole, remainder = divmod(total, count)
    return whole + (2 * remainder > count or (2 * remainder == count and whole % 2 == 1))
