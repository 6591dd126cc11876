"""A record that only an intruder can have written stops a task until an operator sets it aside."""

from __future__ import annotations

import pytest

from schemas import encode
from streams.engine.records import Output
from streams.engine.rows import store_key
from streams.engine.set_aside import SetAside, set_aside
from streams.errors import InternalUnreadable, NotFound, UsageError
from tests.contract.test_task import HOUR_MS, OpenTask, send
from tests.contract.test_task_timers import fact_kinds
from tests.contract.twins import Twin
from tests.toy import FACTS, INPUT, OPEN, ROWS, SECOND, ToyProcessor
from topology import processors
from topology.core import CHANGELOG, INPUT_POSITIONS, TIMERS
from topology.declarations import Topic
from topology.topics import dead_letters_of

NO_ROW = b"no row"
TIMER_ROW = encode(TIMERS.record, {"data": {}})


@pytest.fixture(autouse=True)
def toy_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors, "ALL", (ToyProcessor(second=True).declaration,))


def forge(twin: Twin, topic: Topic, key: bytes, value: bytes = NO_ROW) -> int:
    """Append a record as an intruder does; returns its offset."""
    (record,) = twin.log.append([Output(twin.name(topic), key, value, (), 0)])
    offset: int = record.offset
    return offset


def work(twin: Twin, task: OpenTask, *idents: str) -> None:
    send(twin, *idents)
    with task() as driver:
        driver.drain()


@pytest.mark.parametrize(
    ("topic", "key", "value"),
    [
        (CHANGELOG, store_key(TIMERS.name, "nonsense"), TIMER_ROW),
        (CHANGELOG, store_key(TIMERS.name, "000000000000001"), TIMER_ROW),
        (CHANGELOG, store_key(TIMERS.name, "000000000000001/toy"), TIMER_ROW),
        (CHANGELOG, store_key(TIMERS.name, "") + b"000000000000001/\xff/a/b", TIMER_ROW),
        (CHANGELOG, store_key(TIMERS.name, "000000000000001/toy/toy.wait/a"), NO_ROW),
        (CHANGELOG, store_key(INPUT_POSITIONS.name, INPUT.name), NO_ROW),
        (CHANGELOG, store_key("known-inputs", "inputs"), NO_ROW),
        (CHANGELOG, store_key(OPEN.name, "a"), NO_ROW),
        (ROWS, b"a", NO_ROW),
    ],
)
def test_a_forged_row_stops_the_task_until_it_is_set_aside(
    twin: Twin, task: OpenTask, topic: Topic, key: bytes, value: bytes
) -> None:
    work(twin, task, "a", "b")
    offset = forge(twin, topic, key, value)
    send(twin, "a", answer=1)
    command = f"headrace topics set-aside {twin.name(topic)} 0 {offset}"
    for _ in range(2):
        with pytest.raises(InternalUnreadable, match=f"{twin.name(topic)}/0/{offset}.*{command}"):
            work(twin, task)
    set_aside(twin.log, twin.settings(), twin.name(topic), 0, offset)
    work(twin, task, "c")
    counts = [(fact["id"], fact.get("n")) for fact in twin.facts()]
    assert counts == [("a", "1"), ("b", "1"), ("a", "2"), ("c", "1")]
    with task("empty") as driver:
        driver.drain()


def test_a_row_set_aside_gets_back_its_former_value(twin: Twin, task: OpenTask) -> None:
    work(twin, task, "a", "a")
    offset = forge(twin, ROWS, b"a")
    aside = set_aside(twin.log, twin.settings(), twin.name(ROWS), 0, offset)
    assert aside == SetAside(twin.name(ROWS), 0, offset, True, aside.restored_offset)
    assert aside.restored_offset is not None
    work(twin, task, "a")
    assert [fact["n"] for fact in twin.facts()] == ["1", "2", "3"]


def test_a_forged_input_between_processors_becomes_a_dead_letter(
    twin: Twin, task: OpenTask
) -> None:
    send(twin, "a")
    offset = forge(twin, SECOND, b"x")
    command = f"headrace topics set-aside {twin.name(SECOND)} 0 {offset}"
    with task(second=True) as driver, pytest.raises(InternalUnreadable, match=command):
        driver.drain()
    set_aside(twin.log, twin.settings(), twin.name(SECOND), 0, offset)
    with task(second=True) as driver:
        driver.drain()
    assert fact_kinds(twin) == [("a", "seen")]
    assert len(twin.read(dead_letters_of(SECOND))) == 1


def test_what_can_be_read_or_is_replaced_is_not_set_aside(twin: Twin, task: OpenTask) -> None:
    send(twin, "a", timer=HOUR_MS)
    work(twin, task)
    settings, rows = twin.settings(), twin.name(ROWS)
    with pytest.raises(UsageError, match="can be read"):
        set_aside(twin.log, settings, rows, 0, 0)
    with pytest.raises(NotFound, match="no record"):
        set_aside(twin.log, settings, rows, 0, 10_000)
    for topic in (INPUT, FACTS):
        with pytest.raises(NotFound, match="processors do not write"):
            set_aside(twin.log, settings, twin.name(topic), 0, 0)
    first = forge(twin, ROWS, b"z")
    forge(twin, ROWS, b"z")
    with pytest.raises(UsageError, match="not in force"):
        set_aside(twin.log, settings, rows, 0, first)
