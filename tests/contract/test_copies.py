"""Copies of tables, on both logs: how fresh they are, and what is derived from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from schemas.catalogue import LATEST_ID
from streams.engine.global_tables import GlobalTables, GlobalTableView, replicated_tables
from streams.engine.processor import AvroValue, Message, ProcessorContext, Timer
from streams.engine.records import Output, TopicPartition, position
from streams.engine.store import Store
from streams.engine.task import Task
from streams.errors import InternalUnreadable, StoreFailed
from tests.contract.twins import KafkaTwin, MemoryTwin, Twin, produce, until
from tests.toy import FACTS, INPUT, RECORD, ROWS, SECOND, toy_record
from topology.declarations import ProcessorDeclaration, Table, Topic, TopicKind, public_table
from topology.keys import partition_of

GIVEN = Topic(SECOND.name, TopicKind.COMMAND, RECORD, "id", "who there is", keeps_latest=True)
NAMES = public_table(GIVEN, caught_up=True)
OWNED = public_table(ROWS, caught_up=True)


def _kept_fact(value: Mapping[str, Any]) -> str | None:
    return value["data"]["id"] if value["data"].get("n") == "kept" else None


KEPT = Table(
    "kept-facts",
    RECORD,
    "id",
    "facts that are rows",
    topic=FACTS,
    written_once=1,
    fact_key_of=_kept_fact,
)

Open = Callable[[], GlobalTables]


class Index:
    """The rows as they are, and how often one was handed over."""

    def __init__(self) -> None:
        self.rows: dict[str, AvroValue | None] = {}
        self.updates = 0

    def update(self, key: str, row: AvroValue | None) -> None:
        self.rows[key] = row
        self.updates += 1

    def there(self) -> list[str]:
        return sorted(key for key, row in self.rows.items() if row is not None)


@pytest.fixture
def copies(twin: Twin, tmp_path: Path) -> Iterator[Open]:
    """Opens copies in one directory, one after the other."""
    opened: list[GlobalTables] = []

    def open_copies() -> GlobalTables:
        for one in opened:
            one.close()
        made = GlobalTables(
            tmp_path / "copies", twin.log, twin.prefix, twin.partitions, [NAMES, OWNED]
        )
        opened.append(made)
        made.open()
        made.follow()
        return made

    yield open_copies
    for one in opened:
        one.close()


def give(twin: Twin, *names: str) -> None:
    twin.log.append([toy_record(name, topic=GIVEN, prefix=twin.prefix) for name in names])


def give_bytes(twin: Twin, key: bytes, value: bytes | None) -> None:
    twin.log.append([Output(twin.name(GIVEN), key, value)])


def test_an_index_has_what_was_acknowledged_before_it_was_freshened(
    twin: Twin, copies: Open
) -> None:
    give(twin, "a", "b")
    opened = copies()
    assert opened.index(NAMES, Index).there() == ["a", "b"]
    for n in range(20):
        give(twin, f"n{n}")
        opened.catch_up([NAMES])
        assert f"n{n}" in opened.index(NAMES, Index).there()


def test_an_index_has_what_was_committed_before_it_was_freshened(twin: Twin, copies: Open) -> None:
    opened = copies()
    with_transactions = twin.log.producer(f"{twin.prefix}owner")
    with_transactions.open()
    for n in range(20):
        row = toy_record(f"n{n}", topic=ROWS, prefix=twin.prefix)
        with_transactions.commit([row._replace(partition=0)])
        opened.catch_up([OWNED])
        assert f"n{n}" in opened.index(OWNED, Index).there()
    with_transactions.close()


def test_a_transaction_that_never_ends_holds_nobody_up(
    kafka_twin: KafkaTwin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.engine.global_tables._COMMIT_S", 0.2)
    opened = GlobalTables(tmp_path, kafka_twin.log, kafka_twin.prefix, 1, [OWNED])
    opened.open()
    opened.follow()
    row = toy_record("a", topic=ROWS, prefix=kafka_twin.prefix)
    dead = kafka_twin.producer()
    dead.begin_transaction()
    produce(dead, [row._replace(partition=0)])
    opened.catch_up([OWNED])
    assert opened.index(OWNED, Index).there() == []
    opened.close()
    dead.abort_transaction()


def test_it_is_known_how_far_an_index_was_brought(twin: Twin, copies: Open) -> None:
    opened = copies()
    before = GlobalTableView(opened, NAMES).index_positions()
    opened.index(NAMES, Index)
    give(twin, "a", "b")
    opened.catch_up([NAMES])
    assert GlobalTableView(opened, NAMES).index_positions() == before, (
        "the index has not been asked since"
    )
    opened.index(NAMES, Index)
    end = before[0] + 2
    assert GlobalTableView(opened, NAMES).index_positions() == [end]


def test_a_bad_block_is_met_while_opening_and_all_is_read_anew(
    twin: Twin, copies: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = [f"n{n:05}" for n in range(4000)]
    give(twin, *names)
    copies().close()
    (file,) = (tmp_path / "copies").glob("*.sst")
    data = file.read_bytes()
    file.write_bytes(data[:9000] + b"\xff" * 30000 + data[39000:])
    for _ in range(2):
        assert copies().index(NAMES, Index).there() == names
    assert len([one for one in caplog.messages if "are built anew" in one]) == 1


def test_what_cannot_be_written_down_is_said_to_whoever_waits_for_it(
    twin: Twin, copies: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.engine.global_tables._FRESH_S", 0.5)
    opened = copies()

    def fail(store: Store, rows: Any) -> None:
        raise StoreFailed("no space")

    with monkeypatch.context() as patches:
        patches.setattr(Store, "write", fail)
        give(twin, "a")
        with pytest.raises(StoreFailed, match=r"not read on: no space\. Check the disk"):
            opened.catch_up([NAMES])
    monkeypatch.setattr("streams.engine.global_tables._FRESH_S", 10.0)
    opened.catch_up([NAMES])
    assert opened.index(NAMES, Index).there() == ["a"]


def test_what_could_not_be_written_down_is_read_again(
    twin: Twin, copies: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.engine.global_tables._PAUSE_S", 0.01)
    opened = copies()
    write, failures = Store.write, [StoreFailed("no space"), ValueError("and what nobody foresaw")]

    def fail_first(store: Store, rows: Any) -> None:
        if failures:
            raise failures.pop()
        write(store, rows)

    monkeypatch.setattr(Store, "write", fail_first)
    give(twin, "a")
    until(lambda: not failures)
    give(twin, "b")
    opened.catch_up([NAMES])
    assert opened.index(NAMES, Index).there() == ["a", "b"]


def test_an_index_is_made_once_and_told_changes_only(twin: Twin, copies: Open) -> None:
    give(twin, "a")
    opened = copies()
    index = opened.index(NAMES, Index)
    assert GlobalTableView(opened, NAMES).index(Index) is index
    give(twin, "b")
    opened.catch_up([NAMES])
    assert opened.index(NAMES, Index) is index
    assert index.updates == 2


def test_what_is_gone_or_unreadable_is_told_as_none(twin: Twin, copies: Open) -> None:
    give(twin, "a", "b", "c")
    opened = copies()
    give_bytes(twin, b"a", None)
    give_bytes(twin, b"b", b"no record")
    give_bytes(twin, b"\xff", b"no text")
    opened.catch_up([NAMES])
    assert opened.index(NAMES, Index).there() == ["c"]


def test_a_row_that_a_later_version_wrote_is_not_taken_for_none(twin: Twin, copies: Open) -> None:
    later = (LATEST_ID + 1).to_bytes(4, "big")
    twin.log.append([Output(twin.name(ROWS), b"a", b"\0" + later + b"\0", partition=0)])
    opened = copies()
    for ask in (lambda: opened.index(OWNED, Index), lambda: opened.get(OWNED, "a")):
        with pytest.raises(InternalUnreadable, match=f"row a of {OWNED.name}"):
            ask()


def test_what_clients_put_on_another_partition_is_not_there(tmp_path: Path) -> None:
    twin = MemoryTwin(4)
    twin.create()
    right = partition_of(b"a", 4)
    for partition in (right, right ^ 1):
        record = toy_record("a", topic=GIVEN, prefix=twin.prefix, n=partition)
        twin.log.append([record._replace(partition=partition)])
    opened = GlobalTables(tmp_path, twin.log, twin.prefix, 4, [NAMES])
    opened.open()
    assert opened.index(NAMES, Index).rows == {"a": {"data": {"id": "a", "n": str(right)}}}
    opened.close()
    twin.close()


def test_copies_opened_again_have_all_rows(twin: Twin, copies: Open) -> None:
    give(twin, "a", "b")
    copies()
    give(twin, "c")
    give_bytes(twin, b"a", None)
    assert copies().index(NAMES, Index).there() == ["b", "c"]
    assert copies().index(NAMES, Index).there() == ["b", "c"]


def test_facts_that_are_rows_have_their_positions(twin: Twin, tmp_path: Path) -> None:
    def fact(ident: str, n: str) -> Output:
        return toy_record(ident, topic=FACTS, prefix=twin.prefix, n=n)

    opened = GlobalTables(tmp_path, twin.log, twin.prefix, twin.partitions, [KEPT])
    twin.log.append([fact("a", "kept"), fact("b", "passed over")])
    opened.open()
    first = opened.get(KEPT, "a")
    assert first is not None
    assert opened.get(KEPT, "b") is None
    noise = Output(twin.name(FACTS), b"c", b"no record")
    twin.log.append([noise, fact("a", "kept"), fact("c", "kept")])
    opened.follow()
    until(lambda: opened.get(KEPT, "c") is not None)
    last = opened.get(KEPT, "c")
    assert last is not None
    assert last["data"] == {"id": "c", "n": "kept"}
    assert last["position"].startswith(f"{twin.name(FACTS)}/")
    assert opened.get(KEPT, "a") == first, "the first one stands"
    opened.close()
    again = GlobalTables(tmp_path, twin.log, twin.prefix, twin.partitions, [KEPT])
    again.open()
    assert (again.get(KEPT, "a"), again.get(KEPT, "c")) == (first, last)
    again.close()


def test_a_copy_that_is_switched_off_is_not_made() -> None:
    off = public_table(ROWS, replicated_if="COPY")
    keeper = ProcessorDeclaration("keeper", "for tests", (INPUT,), (), global_tables=(NAMES, off))
    assert replicated_tables([keeper], {"COPY": False}) == [NAMES]
    assert replicated_tables([keeper], {"COPY": True}) == [NAMES, off]


class Doorkeeper:
    """Says of each input whether its id is among the names, and of each name that it came."""

    declaration = ProcessorDeclaration(
        "keeper", "for tests", (INPUT,), (FACTS,), global_tables=(NAMES,)
    )

    def decide(self, batch: Sequence[Message], ctx: ProcessorContext) -> None:
        there = ctx.global_table(NAMES).index(Index).there()
        for message in batch:
            ident = message.value["data"]["id"]
            fact = {"data": {"id": ident, "known": str(ident in there)}}
            cause = ctx.cause = position(message.record)
            ctx.send(FACTS, ident, fact, id=cause, at=0, cause=cause)

    def fire(self, timers: Sequence[Timer], now_ms: int, ctx: ProcessorContext) -> None:
        raise AssertionError("it sets no timer")

    def too_large(self, message: Message, topic: Topic, size: int, ctx: ProcessorContext) -> None:
        raise AssertionError("its facts are small")

    def dead_letter(self, topic: Topic, value: bytes | None, settings: Any) -> bytes | None:
        return value


@pytest.fixture
def keeper(twin: Twin, copies: Open, tmp_path: Path) -> Iterator[Task]:
    opened = copies()
    settings = twin.settings()
    task = Task(0, [Doorkeeper()], twin.log, settings, tmp_path / "task", twin.clock, opened)
    task.open()
    yield task
    task.close()


def put(twin: Twin, task: Task, *names: str) -> None:
    """Append inputs, and put them into the task's buffers as a fetch would."""
    written = twin.log.append([toy_record(name, prefix=twin.prefix) for name in names])
    with twin.log.reader({TopicPartition(twin.name(INPUT), 0): written[0].offset}) as reader:
        records: list[Any] = []
        while len(records) < len(written):
            records += reader.poll(0.1)
    task.put(twin.tp(INPUT), records)


def commit(task: Task) -> int:
    """Decide and commit one cycle; how many records it judged."""
    cycle = task.next_batch()
    if cycle is None:
        return 0
    task.submit(cycle)
    task.commit(cycle)
    task.mark_committed()
    return cycle.records


def test_a_task_decides_only_what_it_had_before_the_copies_were_read(
    twin: Twin, keeper: Task
) -> None:
    keeper.resume()
    put(twin, keeper, "a")
    assert keeper.next_batch() is None, "the copies are not fresh"
    counts = keeper.processors_to_catch_up()
    assert list(counts.values()) == [1]
    keeper.catch_up(counts)
    give(twin, "b")
    put(twin, keeper, "b")
    keeper.mark_caught_up(counts)
    assert keeper.processors_to_catch_up() == {}
    assert commit(keeper) == 1
    counts = keeper.processors_to_catch_up()
    keeper.catch_up(counts)
    keeper.mark_caught_up(counts)
    assert commit(keeper) == 1
    assert twin.facts() == [{"id": "a", "known": "False"}, {"id": "b", "known": "True"}]


def test_a_task_without_records_asks_nothing(keeper: Task) -> None:
    keeper.resume()
    assert keeper.processors_to_catch_up() == {}
