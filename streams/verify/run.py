"""One verification, from reading the rows to the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from schemas import Undecodable, decode
from streams.engine.log import Log
from streams.engine.mac_checks import MacChecks
from streams.engine.processor import Message
from streams.engine.records import TopicPartition, is_text
from streams.engine.refused_rows import WRITTEN_ONCE
from streams.errors import HeadraceError, TopicsMismatch
from streams.protocols.commands import COMMANDS
from streams.replay import consistent_cut
from streams.replay.checks import CheckContext
from streams.replay.consistent_cut import FACTS, LiveRows
from streams.replay.expected_rows import ExpectedRows
from streams.replay.facts import Fact, read_facts
from streams.replay.fold.fold import Fold
from streams.replay.genuine_records import GenuineRecords
from streams.replay.spill import SpillMap, SpillStore
from streams.replay.violations import ViolationKind, Violations
from streams.settings import Settings
from streams.telemetry.progress import progress
from streams.verify.commands import Commands, CommandVerdict
from streams.verify.fact_checks import CHECKS, check_of, derive, identity_problems
from streams.verify.folds import FoldComparison
from streams.verify.report import Report
from topology import topics
from topology.declarations import Table, Topic
from topology.tables import BY_NAME

_PROMISED_ON = {
    topic.name: check.promised_on for topic, check in CHECKS.items() if check.promised_on
}
_ROW_CHECKS = {table: check for side in COMMANDS for table, check in side.row_checks.items()}
_PARKED = tuple(table for side in COMMANDS for table in side.parked_tables)
_INTERNAL = (*_PARKED, *(table for table in _ROW_CHECKS if table.topic is None))
_FOLDS = tuple(fold for side in COMMANDS for fold in side.folds)


def verify(log: Log, settings: Settings, folder: Path) -> Report:
    """Verify the whole log as it is now; it may be written meanwhile.

    folder: an empty directory.  It needs about as much space as the commands and the rows.
    Raises TopicsMismatch, BrokerUnavailable, StoreFailed.
    """
    scratch = SpillStore(folder / "scratch")
    try:
        return _Verification(log, settings, scratch).report()
    finally:
        scratch.close()


class _Verification:
    def __init__(self, log: Log, settings: Settings, scratch: SpillStore) -> None:
        self._log, self._prefix, self._scratch = log, settings.prefix, scratch
        self._settings = settings.as_work()
        self._genuine = GenuineRecords(MacChecks.of(settings, topics.ALL))
        self._partition_count = _partition_count(log, settings.prefix)
        self._ids = SpillMap(scratch, "ids")
        self._live = LiveRows(scratch)
        self._findings = Violations()
        self._facts: Counter[str] = Counter()
        self._rows: Counter[str] = Counter()
        self._unchecked = 0
        self._names = frozenset(self._prefix + topic.name for topic in FACTS)

    def report(self) -> Report:
        with progress("rows") as bar:
            self._cut = consistent_cut.read_rows_and_ends(
                self._log, self._prefix, self._live, bar, _INTERNAL, self._genuine
            )
        self._commands = Commands(self._log, self._prefix, self._cut, self._scratch)
        seen, promised, outcomes = (
            SpillMap(self._scratch, n) for n in ("seen", "promised", "kept")
        )
        value = self._commands.value
        self._expected_rows = ExpectedRows(self._scratch)
        self._context = CheckContext(
            self._partition_count,
            seen,
            promised,
            outcomes,
            value,
            self._expected_rows,
            self._settings,
        )
        with progress("commands") as bar:
            self._commands.read(bar)
        oldest = self._commands.letters(self._findings)
        total = sum(self._cut.after.values()) - sum(self._cut.starts.values())
        with progress("facts", total) as bar:
            for group, folds in _topic_groups():
                for task in range(self._partition_count):
                    for _ in self._check_task(group, folds, task):
                        bar.advance()
        parked = frozenset(
            consistent_cut.parked_commands(self._live, self._partition_count, _PARKED)
        )
        self._check_tables()
        self._check_expected_rows()
        self._check_totals()
        self._commands.unanswered(parked, oldest, self._findings)
        self._check_promises(parked)
        self._genuine.add_violations(self._findings)
        return Report(
            self._findings,
            self._commands.counts,
            self._facts,
            self._rows,
            len(parked),
            self._unchecked + self._commands.unchecked,
            {f"{tp.topic}/{tp.partition}": n for tp, n in self._cut.decided.items() if n},
        )

    def _check_task(
        self, group: Sequence[Topic], folds: Iterable[Fold], task: int
    ) -> Iterator[Fact]:
        """Check the facts of one task, then its rows; yield each fact."""
        cut_off = any(
            start
            for tp, start in self._cut.starts.items()
            if tp.partition == task and tp.topic in {self._prefix + topic.name for topic in group}
        )
        value = self._commands.value
        task_folds = [
            FoldComparison(one, task, self._live, value, self._scratch, cut_off) for one in folds
        ]
        compared = False
        for fact in read_facts(self._log, self._prefix, group, task, self._cut, self._genuine):
            if not fact.settled and not compared:
                compared = _compare(task_folds)
            self._check_fact(fact, task_folds)
            yield fact
        if not compared:
            _compare(task_folds)
        for fold in task_folds:
            fold.tell(self._findings)
            self._rows[fold.table] += fold.checked
            self._unchecked += fold.unchecked

    def _check_fact(self, fact: Fact, folds: Sequence[FoldComparison]) -> None:
        self._facts[fact.topic.name] += 1
        if fact.value is None:
            self._findings.add(ViolationKind.UNREADABLE, fact.place, "no schema decodes this fact")
            return
        if not is_text(fact.key):
            self._findings.add(ViolationKind.UNREADABLE, fact.place, "its key is no text")
            return
        self._check_identity(fact)
        value = fact.value
        if check_of(fact.topic).answers(value):
            self._commands.answer(
                fact.topic, CommandVerdict(fact.cause, fact.place), self._findings
            )
        try:
            self._run_check(fact)
            for fold in folds:
                fold.step(fact.topic, value)
        except HeadraceError:
            raise
        except Exception as exc:  # a valid fact never raises
            message = f"it cannot be followed: {type(exc).__name__}"
            self._findings.add(ViolationKind.NOT_BORNE_OUT, fact.place, message)

    def _run_check(self, fact: Fact) -> None:
        for fault, message in derive(fact, lambda: self._command_of(fact), self._context):
            self._findings.add(fault, fact.place, message)

    def _check_tables(self) -> None:
        """Check the rows that no fold rebuilds; those that no check covers must at least decode."""
        for place in self._live.unreadable:
            self._findings.add(ViolationKind.UNREADABLE, place, "the key of this row is no text")
        for row_name, place in self._live.refused:
            message = f"the row is written once; the record at {place} is refused: {WRITTEN_ONCE}"
            self._findings.add(ViolationKind.ROW_DIFFERS, row_name, message)
        known = {one.table for one in _FOLDS} | set(_ROW_CHECKS)
        for table in (each for each in consistent_cut.PUBLIC if each not in known):
            for task in range(self._partition_count):
                for _ in self._decode_rows(table, task):
                    pass
        for table, check in _ROW_CHECKS.items():
            for task in range(self._partition_count):
                if self._is_unstable(task):
                    self._unchecked += sum(1 for _ in self._live.rows(table, task))
                    continue
                for key, message in check(self._decode_rows(table, task), self._context):
                    self._findings.add(ViolationKind.ROW_DIFFERS, f"{table.name} {key}", message)

    def _check_expected_rows(self) -> None:
        """Check that the rows that facts mention but no fold rebuilds exist."""
        is_unstable = [self._is_unstable(task) for task in range(self._partition_count)]
        for debt in self._expected_rows.all():
            if is_unstable[debt.task]:
                self._unchecked += 1
            elif self._live.get(BY_NAME[debt.table], debt.task, debt.key) is None:
                message = f"{debt.fact} speaks of it, and it is not there"
                self._findings.add(ViolationKind.ROW_MISSING, f"{debt.table} {debt.key}", message)

    def _check_totals(self) -> None:
        if any(self._is_unstable(task) for task in range(self._partition_count)):
            return
        inputs = (
            self._log,
            self._prefix,
            self._cut,
            self._live,
            self._partition_count,
            self._scratch,
        )
        for check in (check for side in COMMANDS for check in side.total_checks):
            for finding in check(*inputs):
                self._findings.add(*finding)

    def _is_unstable(self, task: int) -> bool:
        """Return whether facts of the task came while the rows were read, or some are gone."""
        consistent_cut = self._cut
        tps = [
            tp for tp in consistent_cut.after if tp.partition == task and tp.topic in self._names
        ]
        return any(
            consistent_cut.after[tp] != consistent_cut.before[tp] or consistent_cut.starts[tp]
            for tp in tps
        )

    def _decode_rows(self, table: Table, task: int) -> Iterator[tuple[str, dict[str, Any]]]:
        for key, raw in self._live.rows(table, task):
            self._rows[table.name] += 1
            try:
                yield key, decode(raw, table.record).value
            except Undecodable as exc:
                self._findings.add(
                    ViolationKind.UNREADABLE, f"{table.name} {key}", f"no schema: {exc}"
                )

    def _check_promises(self, parked: frozenset[str]) -> None:
        for cause, location in self._context.promised.items():
            if cause in parked or self._context.outcomes.get(cause) is not None:
                continue
            if self._cut.starts[self._promised_on(location)]:
                self._unchecked += 1
            else:
                message = f"it accepts {cause}, which is neither held nor logged"
                self._findings.add(ViolationKind.PROMISE, location, message)

    def _promised_on(self, location: str) -> TopicPartition:
        """Return the partition of the fact that the fact at a location promises."""
        topic, partition, _ = location.split("/")
        promised_on = _PROMISED_ON[topic.removeprefix(self._prefix)]
        return TopicPartition(self._prefix + promised_on.name, int(partition))

    def _command_of(self, fact: Fact) -> Message | None:
        try:
            return self._commands.get(fact.cause)
        except Undecodable:
            message = f"it is a verdict on {fact.cause}, whose bytes nobody can read"
            self._findings.add(ViolationKind.NOT_BORNE_OUT, fact.place, message)
            return None

    def _check_identity(self, fact: Fact) -> None:
        """Check the fact's partition, its id and its cause, and that it was written once."""
        first = self._ids.get(fact.topic.name, fact.id)
        self._ids.put(fact.place, fact.topic.name, fact.id)
        if first is not None:
            message = f"{first} is the same fact, {fact.id}"
            self._findings.add(ViolationKind.REPEATED, fact.place, message)
        for fault, message in identity_problems(fact, self._prefix):
            self._findings.add(fault, fact.place, message)


def _compare(folds: Sequence[FoldComparison]) -> bool:
    for fold in folds:
        fold.compare()
    return True


def _topic_groups() -> list[tuple[tuple[Topic, ...], tuple[Fold, ...]]]:
    """Return the topics of facts that are read together, each once, with their folds."""
    groups = list(dict.fromkeys(one.facts for one in _FOLDS))
    used = {topic for group in groups for topic in group}
    groups += [(topic,) for topic in FACTS if topic not in used]
    return [(g, tuple(one for one in _FOLDS if one.facts == g)) for g in groups]


def _partition_count(log: Log, prefix: str) -> int:
    name = prefix + FACTS[0].name
    metadata = log.topics()
    if name not in metadata:
        raise TopicsMismatch(f"topic {name} is missing")
    return metadata[name].partitions
