"""One verification, from the cut to the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from schemas import Undecodable, decode
from streams.engine.log import Log
from streams.engine.processor import Message
from streams.engine.records import TopicPartition
from streams.errors import HeadraceError, TopicsMismatch
from streams.protocols.commands import COMMANDS
from streams.replay import cut
from streams.replay.checking import FactCheck, Given
from streams.replay.cut import FACTS, Live
from streams.replay.facts import Fact, facts_of
from streams.replay.findings import Fault, Findings
from streams.replay.fold.folding import Folding
from streams.replay.owed import Owed
from streams.replay.scratch import Scratch, Values
from streams.settings import Settings
from streams.telemetry.progress import progress
from streams.verify.commands import Answer, Commands
from streams.verify.folds import Fold
from streams.verify.report import Report
from topology import topics
from topology.declarations import Table, Topic
from topology.tables import BY_NAME

_TIMER = "timer/"
_NO_CHECK = FactCheck()
_CHECKS = {topic: check for side in COMMANDS for topic, check in side.checks.items()}
_PROMISED_ON = {
    topic.name: check.promised_on for topic, check in _CHECKS.items() if check.promised_on
}
_ROW_CHECKS = {table: check for side in COMMANDS for table, check in side.row_checks.items()}
_HELD = tuple(table for side in COMMANDS for table in side.held)
_INTERNAL = (*_HELD, *(table for table in _ROW_CHECKS if table.topic is None))
_FOLDS = tuple(fold for side in COMMANDS for fold in side.folds)


def verify(log: Log, settings: Settings, folder: Path) -> Report:
    """Verify the whole log as it is now; it may be written meanwhile.

    folder: an empty directory, which takes about as much as the commands and the rows do.
    Raises TopicsMismatch, BrokerUnavailable, StoreFailed.
    """
    scratch = Scratch(folder / "scratch")
    try:
        return _Run(log, settings, scratch).report()
    finally:
        scratch.close()


class _Run:
    def __init__(self, log: Log, settings: Settings, scratch: Scratch) -> None:
        self._log, self._prefix, self._scratch = log, settings.prefix, scratch
        self._partitions = _partitions(log, settings.prefix)
        self._ids = Values(scratch, "ids")
        self._live = Live(scratch)
        self._found = Findings()
        self._facts: Counter[str] = Counter()
        self._rows: Counter[str] = Counter()
        self._unchecked = 0
        self._names = frozenset(self._prefix + topic.name for topic in FACTS)

    def report(self) -> Report:
        with progress("rows") as bar:
            self._cut = cut.take(self._log, self._prefix, self._live, bar, _INTERNAL)
        self._commands = Commands(self._log, self._prefix, self._cut, self._scratch)
        seen, promised, kept = (Values(self._scratch, n) for n in ("seen", "promised", "kept"))
        value = self._commands.value
        self._owed = Owed(self._scratch)
        self._given = Given(self._partitions, seen, promised, kept, value, self._owed)
        with progress("commands") as bar:
            self._commands.read(bar)
        oldest = self._commands.letters(self._found)
        total = sum(self._cut.after.values()) - sum(self._cut.starts.values())
        with progress("facts", total) as bar:
            for group, own in _groups():
                for task in range(self._partitions):
                    for _ in self._follow(group, own, task):
                        bar.advance()
        held = frozenset(cut.held(self._live, self._partitions, _HELD))
        self._tables()
        self._missing()
        self._totals()
        self._commands.unanswered(held, oldest, self._found)
        self._promises(held)
        return Report(
            self._found,
            self._commands.counts,
            self._facts,
            self._rows,
            len(held),
            self._unchecked + self._commands.unchecked,
            {f"{tp.topic}/{tp.partition}": n for tp, n in self._cut.decided.items() if n},
        )

    def _follow(self, group: Sequence[Topic], own: Iterable[Folding], task: int) -> Iterator[Fact]:
        """The facts of one task, each checked; then its rows."""
        cut_off = any(
            start
            for tp, start in self._cut.starts.items()
            if tp.partition == task and tp.topic in {self._prefix + topic.name for topic in group}
        )
        value = self._commands.value
        folds = [Fold(one, task, self._live, value, self._scratch, cut_off) for one in own]
        compared = False
        for fact in facts_of(self._log, self._prefix, group, task, self._cut):
            if not fact.settled and not compared:
                compared = _compare(folds)
            self._check(fact, folds)
            yield fact
        if not compared:
            _compare(folds)
        for fold in folds:
            fold.tell(self._found)
            self._rows[fold.table] += fold.checked
            self._unchecked += fold.unchecked

    def _check(self, fact: Fact, folds: Sequence[Fold]) -> None:
        self._facts[fact.topic.name] += 1
        if fact.value is None:
            self._found.add(Fault.UNREADABLE, fact.place, "no schema decodes this fact")
            return
        self._stands(fact)
        value = fact.value
        if _CHECKS.get(fact.topic, _NO_CHECK).answers(value):
            self._commands.answer(fact.topic, Answer(fact.cause, fact.place), self._found)
        try:
            self._derive(fact)
            for fold in folds:
                fold.step(fact.topic, value)
        except HeadraceError:
            raise
        except Exception as exc:  # no sound fact makes one raise
            told = f"it cannot be followed: {type(exc).__name__}"
            self._found.add(Fault.NOT_BORNE_OUT, fact.place, told)

    def _derive(self, fact: Fact) -> None:
        derived, value = _CHECKS.get(fact.topic, _NO_CHECK), fact.value or {}
        if derived.rules is not None and value["rule"] not in derived.rules:
            told = f"{value['rule']} is none of the rules"
            self._found.add(Fault.NOT_BORNE_OUT, fact.place, told)
        if derived.check is None:
            return
        for fault, told in derived.check(fact, self._command(fact), self._given):
            self._found.add(fault, fact.place, told)

    def _tables(self) -> None:
        """The rows that no folding makes.  Of those that no check takes, that they can be read."""
        known = {one.table for one in _FOLDS} | set(_ROW_CHECKS)
        for table in (each for each in cut.PUBLIC if each not in known):
            for task in range(self._partitions):
                for _ in self._decoded(table, task):
                    pass
        for table, check in _ROW_CHECKS.items():
            for task in range(self._partitions):
                if self._moved(task):
                    self._unchecked += sum(1 for _ in self._live.rows(table, task))
                    continue
                for key, told in check(self._decoded(table, task), self._given):
                    self._found.add(Fault.ROW_DIFFERS, f"{table.name} {key}", told)

    def _missing(self) -> None:
        """Rows that no folding makes, and that facts speak of all the same."""
        moved = [self._moved(task) for task in range(self._partitions)]
        for debt in self._owed.all():
            if moved[debt.task]:
                self._unchecked += 1
            elif self._live.get(BY_NAME[debt.table], debt.task, debt.key) is None:
                told = f"{debt.fact} speaks of it, and it is not there"
                self._found.add(Fault.ROW_MISSING, f"{debt.table} {debt.key}", told)

    def _totals(self) -> None:
        if any(self._moved(task) for task in range(self._partitions)):
            return
        at_rest = self._log, self._prefix, self._cut, self._live, self._partitions, self._scratch
        for check in (check for side in COMMANDS for check in side.total_checks):
            for finding in check(*at_rest):
                self._found.add(*finding)

    def _moved(self, task: int) -> bool:
        """Whether facts of the task came while the rows were read, or some are gone."""
        cut = self._cut
        mine = [tp for tp in cut.after if tp.partition == task and tp.topic in self._names]
        return any(cut.after[tp] != cut.before[tp] or cut.starts[tp] for tp in mine)

    def _decoded(self, table: Table, task: int) -> Iterator[tuple[str, dict[str, Any]]]:
        for key, raw in self._live.rows(table, task):
            self._rows[table.name] += 1
            try:
                yield key, decode(raw, table.record).value
            except Undecodable as exc:
                self._found.add(Fault.UNREADABLE, f"{table.name} {key}", f"no schema: {exc}")

    def _promises(self, held: frozenset[str]) -> None:
        for cause, place in self._given.promised.items():
            if cause in held or self._given.kept.get(cause) is not None:
                continue
            if self._cut.starts[self._promised_on(place)]:
                self._unchecked += 1
            else:
                told = f"it accepts {cause}, which is neither held nor logged"
                self._found.add(Fault.PROMISE, place, told)

    def _promised_on(self, place: str) -> TopicPartition:
        """Return where the fact belongs that the fact at a place promises."""
        topic, partition, _ = place.split("/")
        promised_on = _PROMISED_ON[topic.removeprefix(self._prefix)]
        return TopicPartition(self._prefix + promised_on.name, int(partition))

    def _command(self, fact: Fact) -> Message | None:
        try:
            return self._commands.get(fact.cause)
        except Undecodable:
            told = f"it is a verdict on {fact.cause}, whose bytes nobody can read"
            self._found.add(Fault.NOT_BORNE_OUT, fact.place, told)
            return None

    def _stands(self, fact: Fact) -> None:
        """Where it lies, and that it is there once."""
        first = self._ids.get(fact.topic.name, fact.id)
        self._ids.put(fact.place, fact.topic.name, fact.id)
        if first is not None:
            told = f"{first} is the same fact, {fact.id}"
            self._found.add(Fault.REPEATED, fact.place, told)
        value = fact.value or {}
        own = value.get(_CHECKS.get(fact.topic, _NO_CHECK).id_member or "", fact.id)
        if own != fact.id:
            told = f"its header says that it is {fact.id!r}, its value says {own!r}"
            self._found.add(Fault.NOT_BORNE_OUT, fact.place, told)
        source = self._source(fact.cause)
        if source is None:
            if not fact.cause.startswith(_TIMER):
                told = f"its cause is {fact.cause!r}, which is no place of an input"
                self._found.add(Fault.NOT_BORNE_OUT, fact.place, told)
            return
        topic, number = source
        if fact.topic.stays and number != fact.partition:
            told = f"it lies on partition {fact.partition}, its cause on {number}"
            self._found.add(Fault.MISPLACED, fact.place, told)
        cause = value.get("cause") or value.get("position") or fact.cause
        if cause != fact.cause and not topic.between:
            told = f"its header says that {fact.cause} is its cause, its value says {cause}"
            self._found.add(Fault.NOT_BORNE_OUT, fact.place, told)

    def _source(self, cause: str) -> tuple[Topic, int] | None:
        """The input that a fact comes of, and its partition; None for a timer."""
        name, _, rest = cause.partition("/")
        number, _, offset = rest.partition("/")
        topic = topics.BY_NAME.get(name.removeprefix(self._prefix))
        if topic is None or not topic.is_input:
            return None
        return (topic, int(number)) if number.isdecimal() and offset.isdecimal() else None


def _compare(folds: Sequence[Fold]) -> bool:
    for fold in folds:
        fold.compare()
    return True


def _groups() -> list[tuple[tuple[Topic, ...], tuple[Folding, ...]]]:
    """Topics of facts that are read together, each once, with the foldings that need them."""
    groups = list(dict.fromkeys(one.facts for one in _FOLDS))
    used = {topic for group in groups for topic in group}
    groups += [(topic,) for topic in FACTS if topic not in used]
    return [(g, tuple(one for one in _FOLDS if one.facts == g)) for g in groups]


def _partitions(log: Log, prefix: str) -> int:
    name = prefix + FACTS[0].name
    there = log.topics()
    if name not in there:
        raise TopicsMismatch(f"topic {name} is missing")
    return there[name].partitions
