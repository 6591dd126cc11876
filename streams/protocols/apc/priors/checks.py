"""The check of `apc.priors`: each row is what the facts of `apc.events` add up to.

A row is written one hop after the facts, by another task.  So the rows are compared only where the
task of each strategy has read all of `apc.outcomes`, and no fact came meanwhile.

A fact says which strategies its packet counts for; those of earlier releases say none, and their
packets count for none.  EVALs count whoever wrote their facts.

Source: APC guide, 5.10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from schemas import Undecodable, decode
from schemas.decimals import to_nano
from schemas.projection import Projection
from streams.engine.log import Log
from streams.engine.records import TopicPartition
from streams.log.reading import records
from streams.protocols.apc.priors.rows import evolve_prior
from streams.protocols.apc.processor.contributions import EVIDENCE, outcome_changes, strategy_key
from streams.protocols.apc.processor.lifecycle import NOT_COUNTED
from streams.replay.consistent_cut import ConsistentCut, LiveRows, is_caught_up
from streams.replay.spill import SpillMap, SpillStore
from streams.replay.violations import ViolationKind
from topology.apc import APC_EVENTS, APC_OUTCOMES, APC_PRIORS_TABLE
from topology.keys import partition_of, split

Fact = Mapping[str, Any]
_METRICS = "packet/payload/EvalPayload/metric_set"
_FACTS = Projection(
    APC_EVENTS.record or "",
    (
        *("verdict", "at", "cause", "session_id", "packet_id", "packet_type", "run_id", "task_id"),
        *("state", "gates", "strategies", f"{_METRICS}/outcome", f"{_METRICS}/drift_risk"),
    ),
)
_NO_TASK: dict[str, Any] = {"evals": [], "strategies": {}}
_COMPARED = (*EVIDENCE, "last_at", "version")


def priors(
    log: Log, prefix: str, cut: ConsistentCut, live: LiveRows, count: int, scratch: SpillStore
) -> Iterator[tuple[ViolationKind, str, str]]:
    """Compare the rows with what the facts add up to.  count: of partitions."""
    if not is_caught_up(log, prefix, cut, APC_OUTCOMES):
        return
    expected = _ExpectedPriors(scratch)
    for partition in range(count):
        tp = TopicPartition(prefix + APC_EVENTS.name, partition)
        for record in records(log, [tp], {tp: cut.after[tp]}):
            with suppress(Undecodable):  # reported where all facts are read
                expected.add(_FACTS.of(record.value or b""))
        expected.count_pending()
    for task in range(count):
        for key, _ in live.rows(APC_PRIORS_TABLE, task):
            if expected.rows.get(key) is None or partition_of(key.encode(), count) != task:
                message = "no fact adds to it on this partition"
                yield ViolationKind.ROW_UNFOUNDED, f"{APC_PRIORS_TABLE.name} {key}", message
    for key, row in expected.rows.items():
        yield from _compare(key, row, live.get(APC_PRIORS_TABLE, _home(key, count), key))


def _home(key: str, count: int) -> int:
    return partition_of(key.encode(), count)


def _compare(
    key: str, row: Mapping[str, Any], raw: bytes | None
) -> Iterator[tuple[ViolationKind, str, str]]:
    name = f"{APC_PRIORS_TABLE.name} {key}"
    if raw is None:
        yield ViolationKind.ROW_MISSING, name, f"facts of {row['attempts']} attempts require it"
        return
    try:
        stored = decode(raw, APC_PRIORS_TABLE.record).value
    except Undecodable:
        return  # reported where all rows are read
    for member in ("use_case", "kind", "strategy", *_COMPARED):
        if stored[member] != row[member]:
            message = f"{member} is {stored[member]}, the facts make it {row[member]}"
            yield ViolationKind.ROW_DIFFERS, name, message


class _ExpectedPriors:
    """The rows that the facts of all partitions add up to, in a scratch store.

    rows: by key.  The facts of one partition are added in its order.
    """

    def __init__(self, scratch: SpillStore) -> None:
        self.rows = SpillMap(scratch, "priors")
        self._tasks = SpillMap(scratch, "tasks of priors")
        self._packets = SpillMap(scratch, "packets of priors")
        self._pending: Fact | None = None

    def add(self, fact: Fact) -> None:
        """Add a fact.

        The verdict on a packet is written before the facts of what it did to others, which took
        effect before it counted itself: so its packet counts after them.
        """
        pending = self._pending
        if pending is not None and (fact["verdict"], fact["cause"]) != ("effect", pending["cause"]):
            self.count_pending()
        is_counted = fact["state"] is not None and fact["state"] not in NOT_COUNTED
        if fact["verdict"] == "accepted" and is_counted:
            if fact["strategies"] or fact["packet_type"] == "EVAL":
                self._pending = fact
        elif fact["verdict"] in ("effect", "fired") and not is_counted:
            self._remove(fact)

    def count_pending(self) -> None:
        """Count the packet of the last verdict, if that is still to be done."""
        fact, self._pending = self._pending, None
        if fact is None:
            return
        task_id = (fact["session_id"], fact["run_id"], fact["task_id"])
        keys = [strategy_key(strategy) for strategy in fact["strategies"] or ()]
        self._packets.put((task_id, keys), fact["session_id"], fact["packet_id"])
        before = self._tasks.get(*task_id) or _NO_TASK
        evals = before["evals"]
        if fact["packet_type"] == "EVAL":
            evals = [*evals, _eval_of(fact)]
        self._change(task_id, before, evals, keys, 1, fact)

    def _remove(self, fact: Fact) -> None:
        counted = self._packets.get(fact["session_id"], fact["packet_id"])
        if counted is None:
            return
        self._packets.put(None, fact["session_id"], fact["packet_id"])
        task_id, keys = counted
        before = self._tasks.get(*task_id)
        evals = [one for one in before["evals"] if one["packet_id"] != fact["packet_id"]]
        self._change(task_id, before, evals, keys, -1, fact)

    def _change(
        self,
        task_id: tuple[str, str, str],
        before: dict[str, Any],
        evals: list[Any],
        keys: list[str],
        change: int,
        fact: Fact,
    ) -> None:
        counts = dict(before["strategies"])
        for key in keys:
            counts[key] = counts.get(key, 0) + change
        after = {"evals": evals, "strategies": {k: n for k, n in counts.items() if n}}
        self._tasks.put(after, *task_id)
        for key, sums in outcome_changes(before, after).items():
            names = zip(("use_case", "kind", "strategy"), split(key), strict=True)
            delta = dict(names) | {"at": fact["at"]} | dict(zip(EVIDENCE, sums, strict=True))
            self.rows.put(evolve_prior(self.rows.get(key), delta), key)


def _eval_of(fact: Fact) -> dict[str, Any]:
    metrics = fact["packet"]["payload"][1]["metric_set"]
    drift = metrics["drift_risk"]
    return {
        "packet_id": fact["packet_id"],
        "outcome_nano": to_nano(metrics["outcome"]),
        "drift_nano": None if drift is None else to_nano(drift),
        "gates_met": fact["gates"]["met"],
    }
