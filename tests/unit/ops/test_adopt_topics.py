"""Adopting restored topics under other ids, from the same records and from others."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.engine.accept_gap import accept_gap
from streams.engine.local import LocalHost
from streams.engine.log import NewTopic
from streams.engine.memory import MemoryLog
from streams.engine.records import LogRecord, Output, TopicPartition, header
from streams.errors import PositionsDiffer, PositionsLost, UsageError
from streams.ops.adopt_topics import Adoption, adopt
from streams.ops.audit import AuditWriter, keys_of, new_pair, public_path, signer, writer
from streams.play.scenario import Scenario
from streams.protocols.commands import all_processors
from streams.settings import Settings
from tests.toy import FACTS, INPUT, ToyProcessor, toy_record, toy_topics
from topology import processors
from topology.core import AUDIT_CHECKPOINTS

SCENARIOS = sorted((Path(__file__).parents[3] / "scenarios").glob("*.jsonl"))
QUICK = ("five-protocols", "sap-deadlines")
SETTINGS = Settings.load({}, partitions=1)
TP = TopicPartition(INPUT.name, 0)


class Clock:
    """A clock that moves on with each reading."""

    def __init__(self) -> None:
        self.now = 1_000

    def __call__(self) -> int:
        self.now += 1
        return self.now


def restore(source: MemoryLog, target: MemoryLog, *, gaps: bool = True) -> None:
    """Copy all records with their times under new topics; without gaps, offsets change."""
    for name, info in source.topics().items():
        target.create([NewTopic(name, info.partitions, {})])
        for partition in range(info.partitions):
            tp = TopicPartition(name, partition)
            slots = [r for r in source.slots(tp) if gaps or r is not None]
            target.slots(tp).extend(None if r is None else _at(r, n) for n, r in enumerate(slots))


def _at(record: LogRecord, offset: int) -> LogRecord:
    topic, partition, _, timestamp, key, value, headers = record
    return LogRecord(topic, partition, offset, timestamp, key, value, headers)


def change_ids(log: MemoryLog) -> None:
    """Give every topic another id, as a restore under new topics does."""
    for topic in log._topics.values():
        topic.topic_id += "-restored"


class Toy:
    """The toy's topics and its worker on a log in memory."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.clock = clock
        self.log = MemoryLog(clock)
        self.log.create([NewTopic("other", 1, {}), *toy_topics(1)])
        self._folder, self._hosts = folder, 0

    def upstream(self, *idents: str) -> None:
        """Write each input record in a transaction of its own, which leaves a marker."""
        producer = self.log.producer("upstream")
        producer.open()
        for ident in idents:
            producer.commit([toy_record(ident)])

    def work(self) -> None:
        """Decide all records with a worker that has no state directory."""
        self._hosts += 1
        folder = self._folder / str(self._hosts)
        host = LocalHost(self.log, lambda: [ToyProcessor()], SETTINGS, folder)
        try:
            host.run()
        finally:
            host.close()

    def restored(self, *, gaps: bool = True) -> None:
        """Replace the log by a copy on another cluster."""
        target = MemoryLog(self.clock)
        restore(self.log, target, gaps=gaps)
        change_ids(target)
        self.log = target

    def causes(self) -> list[str]:
        slots = self.log.slots(TopicPartition(FACTS.name, 0))
        return [(header(r, "headrace-cause") or b"").decode() for r in slots if r is not None]


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toy:
    monkeypatch.setattr(processors, "ALL", (ToyProcessor().declaration,))
    toy = Toy(tmp_path, Clock())
    toy.upstream("a", "b", "a")
    toy.work()
    return toy


def test_a_restored_log_goes_on_with_one_fact_for_each_record(toy: Toy) -> None:
    toy.restored()
    with pytest.raises(PositionsLost, match="headrace topics adopt"):
        toy.work()
    assert adopt(toy.log, SETTINGS, {}) == [Adoption(INPUT.name, 0, 6, 3)]
    toy.upstream("a")
    toy.work()
    assert toy.causes() == [f"toy.in/0/{offset}" for offset in (0, 2, 4, 6)]
    assert adopt(toy.log, SETTINGS, {}) == []


def test_accepting_a_gap_never_decides_a_restored_record_again(toy: Toy) -> None:
    toy.restored()
    assert accept_gap(toy.log, SETTINGS, INPUT.name, 0).to_offset >= 5
    toy.upstream("a")
    toy.work()
    assert len(toy.causes()) == len(set(toy.causes())) == 4


def test_accepting_a_gap_refuses_to_move_a_position_backwards(toy: Toy) -> None:
    toy.restored(gaps=False)
    with pytest.raises(UsageError, match="backwards"):
        accept_gap(toy.log, SETTINGS, INPUT.name, 0)


def test_a_dry_run_compares_and_writes_nothing(toy: Toy) -> None:
    toy.restored()
    before = toy.log.high_watermarks([TopicPartition("headrace.changelog", 0)])
    assert adopt(toy.log, SETTINGS, {}, dry_run=True) == [Adoption(INPUT.name, 0, 6, 3)]
    assert toy.log.high_watermarks(list(before)) == before
    with pytest.raises(PositionsLost):
        toy.work()


def refuse(toy: Toy, match: str) -> None:
    before = toy.log.high_watermarks([TopicPartition("headrace.changelog", 0)])
    with pytest.raises(PositionsDiffer, match=match) as refused:
        adopt(toy.log, SETTINGS, {})
    assert (refused.value.code, refused.value.exit_code) == ("positions_differ", 1)
    assert toy.log.high_watermarks(list(before)) == before


def test_a_copy_without_gaps_is_refused(toy: Toy) -> None:
    toy.restored(gaps=False)
    refuse(toy, "holds offsets 0 to 3, the task had read to 6")


def test_a_copy_without_gaps_that_has_grown_is_refused(toy: Toy) -> None:
    toy.restored(gaps=False)
    toy.log.append([toy_record(f"new{n}") for n in range(9)])
    refuse(toy, "offset 2, where another record lies")


def test_a_copy_that_lacks_a_record_is_refused(toy: Toy) -> None:
    toy.restored()
    toy.log.slots(TP)[2] = None
    refuse(toy, "offset 2, where no record lies")


def test_a_copy_whose_tables_are_older_than_its_facts_is_refused(toy: Toy) -> None:
    rows = list(toy.log.slots(TopicPartition("headrace.changelog", 0)))
    toy.upstream("b")
    toy.work()
    toy.restored()
    toy.log.slots(TopicPartition("headrace.changelog", 0))[:] = rows
    refuse(toy, "offset 6, the task had read to 6")


def test_records_that_retention_deleted_are_not_compared(toy: Toy) -> None:
    toy.restored()
    toy.log.truncate(TP, 3)
    assert adopt(toy.log, SETTINGS, {}) == [Adoption(INPUT.name, 0, 6, 1)]


def test_a_worker_that_owns_the_task_is_fenced(toy: Toy) -> None:
    toy.restored()
    owner = toy.log.producer("headrace-0")
    owner.open()
    adopt(toy.log, SETTINGS, {})
    with pytest.raises(Exception, match="another owner"):
        owner.commit([Output("other", b"k", b"v", (), 0)])


def test_facts_that_contradict_a_signed_checkpoint_are_refused(
    toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "COVERED", (FACTS,))
    new_pair(tmp_path / "key")
    toy.log.create([NewTopic(AUDIT_CHECKPOINTS.name, 1, {})])
    with AuditWriter(toy.log, SETTINGS, signer(tmp_path / "key"), toy.clock) as audit:
        assert audit.read() == 3
        audit.seal()
    toy.restored()
    keys = keys_of([public_path(tmp_path / "key")])
    facts = toy.log.slots(TopicPartition(FACTS.name, 0))
    fact = facts[1]
    assert fact is not None
    facts[1] = fact._replace(value=b"changed")
    with pytest.raises(PositionsDiffer, match="facts/0: records_differ"):
        adopt(toy.log, SETTINGS, keys)
    facts[1] = fact
    assert adopt(toy.log, SETTINGS, keys) == [Adoption(INPUT.name, 0, 6, 3)]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=() if path.stem in QUICK else pytest.mark.slow)
        for path in SCENARIOS
    ],
)
def test_every_scenario_can_be_adopted(path: Path, tmp_path: Path) -> None:
    scenario = Scenario(SETTINGS, tmp_path, all_processors)
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip():
            scenario.line(number, line)
    change_ids(scenario.log)
    adopted = adopt(scenario.log, SETTINGS, {})
    assert sum(adoption.compared for adoption in adopted) > 0
    assert adopt(scenario.log, SETTINGS, {}) == []
