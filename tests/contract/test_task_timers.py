"""Timers fire once, in order, and only behind what came in time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streams.engine.records import header
from streams.errors import InternalUnreadable
from tests.contract.driver import Driver
from tests.contract.test_task import HOUR_MS, OpenTask, send
from tests.contract.twins import Twin, until
from tests.toy import FACTS, INPUT, SECOND, toy_record
from topology.topics import dead_letters_of


def fact_kinds(twin: Twin) -> list[tuple[str, str]]:
    return [(f["id"], f["kind"]) for f in twin.facts()]


def test_due_timers_fire_in_order_and_once(twin: Twin, task: OpenTask) -> None:
    driver = task()
    for ident, hours in (("late", 5), ("c", 3), ("a", 1), ("b", 2)):
        send(twin, ident, timer=hours * HOUR_MS)
    driver.drain()
    twin.pass_ms(4 * HOUR_MS)
    driver.drain()
    driver.drain()
    assert fact_kinds(twin)[4:] == [("a", "fired"), ("b", "fired"), ("c", "fired")]
    assert driver.task.next_due is not None
    assert list(driver.rows()["toy-open"]) == [b"late"]
    twin.pass_ms(2 * HOUR_MS)
    driver.drain()
    assert fact_kinds(twin)[7:] == [("late", "fired")]
    assert driver.rows()["timers"] == {}
    assert driver.task.next_due is None


def test_a_timer_set_before_the_last_one_fired_is_found(twin: Twin, task: OpenTask) -> None:
    driver = task()
    send(twin, "far", timer=9 * HOUR_MS)
    driver.drain()
    send(twin, "near", timer=HOUR_MS)
    driver.drain()
    twin.pass_ms(2 * HOUR_MS)
    driver.drain()
    assert fact_kinds(twin)[-1] == ("near", "fired")
    send(twin, "past", timer=-500_000)
    driver.drain()
    assert fact_kinds(twin)[-1] == ("past", "fired")


def test_a_timer_survives_a_restore(twin: Twin, task: OpenTask) -> None:
    send(twin, "a", timer=HOUR_MS)
    with task("one") as driver:
        driver.drain()
    twin.pass_ms(2 * HOUR_MS)
    with task("two") as driver:
        driver.drain()
    with task("one") as driver:
        driver.drain()
    assert fact_kinds(twin) == [("a", "seen"), ("a", "fired")]


def test_a_timer_of_a_processor_that_this_version_lacks_is_kept(twin: Twin, task: OpenTask) -> None:
    send(twin, "a", timer=HOUR_MS)
    with task("one") as driver:
        driver.drain()
    twin.pass_ms(2 * HOUR_MS)
    with task("two") as driver:
        (toy,) = driver.task._processors
        toy.declaration = replace(toy.declaration, name="another")
        with pytest.raises(InternalUnreadable, match="lacks: toy"):
            driver.drain()
    with task("one") as driver:
        driver.drain()
    assert fact_kinds(twin) == [("a", "seen"), ("a", "fired")]


def test_an_answer_in_time_counts_however_long_the_task_was_down(
    twin: Twin, task: OpenTask
) -> None:
    names = [f"k{n}" for n in range(50)]
    send(twin, *names, timer=HOUR_MS)
    with task() as driver:
        driver.drain()
    send(twin, *names, answer=1)
    twin.pass_ms(2 * HOUR_MS)
    with task(batch=7) as driver:
        assert driver.fire() is False  # the answers are not decided yet
        driver.drain()
    assert fact_kinds(twin)[50:] == [(name, "answered") for name in names]


def test_the_gate_waits_for_every_input(twin: Twin, task: OpenTask) -> None:
    with task(second=True) as driver:
        send(twin, "a", timer=HOUR_MS)
        driver.drain()
        twin.log.append([toy_record("a", topic=SECOND, prefix=twin.prefix, answer=1)])
        twin.pass_ms(2 * HOUR_MS)
        assert driver.task.needs_end_offsets
        assert driver.fire() is False
        driver.drain()
    assert fact_kinds(twin) == [("a", "seen"), ("a", "answered")]


def test_the_gate_opens_behind_a_tail_of_markers(twin: Twin, task: OpenTask) -> None:
    with task() as driver:
        send(twin, "a", timer=HOUR_MS)
        driver.drain()
        twin.abort([toy_record("never", prefix=twin.prefix)])
        twin.pass_ms(2 * HOUR_MS)
        drain_to(driver, 2)
    assert fact_kinds(twin) == [("a", "seen"), ("a", "fired")]


def drain_to(driver: Driver, facts: int) -> None:
    """Until there are so many: markers of a transaction may come a moment after its end."""

    def drained() -> bool:
        driver.drain()
        return len(fact_kinds(driver.twin)) == facts

    until(drained)


@pytest.mark.parametrize("end", ["commit", "abort"])
@pytest.mark.parametrize("reopened", [False, True])
def test_the_gate_waits_for_what_an_open_transaction_hides(
    twin: Twin, task: OpenTask, end: str, reopened: bool
) -> None:
    driver = task("one")
    send(twin, "a", "b", timer=HOUR_MS)
    driver.drain()
    other = twin.begin([toy_record("b", prefix=twin.prefix, answer=1)])
    send(twin, "a", answer=1)
    twin.pass_ms(2 * HOUR_MS)
    if reopened:
        driver.close()
        driver = task("two")
    driver.drain()
    assert fact_kinds(twin) == [("a", "seen"), ("b", "seen")]
    getattr(other, end)()
    drain_to(driver, 4)
    b_got = "answered" if end == "commit" else "fired"
    assert sorted(fact_kinds(twin)[2:]) == [("a", "answered"), ("b", b_got)]


def test_the_gate_waits_for_no_transaction_that_was_begun_after_its_question(
    twin: Twin, task: OpenTask
) -> None:
    driver = task()
    send(twin, "a", timer=HOUR_MS)
    driver.drain()
    first = twin.begin([toy_record("never", prefix=twin.prefix)])
    twin.pass_ms(2 * HOUR_MS)
    driver.drain()
    second = twin.begin([toy_record("b", prefix=twin.prefix)])
    first.abort()
    drain_to(driver, 2)
    assert fact_kinds(twin) == [("a", "seen"), ("a", "fired")]
    second.commit()


def test_inputs_beside_an_open_transaction_are_decided(twin: Twin, task: OpenTask) -> None:
    other = twin.begin([toy_record("b", topic=SECOND, prefix=twin.prefix)])
    send(twin, "a")
    with task(second=True) as driver:
        driver.drain()
        assert fact_kinds(twin) == [("a", "seen")]
        other.commit()
        drain_to(driver, 2)
    assert fact_kinds(twin) == [("a", "seen"), ("b", "seen")]


def test_a_gate_that_waits_says_so(twin: Twin, task: OpenTask) -> None:
    driver = task(second=True)
    send(twin, "a", timer=HOUR_MS)
    driver.drain()
    other = twin.begin([toy_record("b", topic=SECOND, prefix=twin.prefix)])
    twin.pass_ms(2 * HOUR_MS)
    driver.drain()
    twin.pass_ms(5000)
    waited = driver.task.measure(ready=True).gate_s
    assert waited[SECOND.name] >= 5
    assert waited[INPUT.name] == 0
    other.abort()
    drain_to(driver, 2)
    assert set(driver.task.measure(ready=True).gate_s.values()) == {0}


def test_timers_fire_up_to_the_clock_of_the_question(twin: Twin, task: OpenTask) -> None:
    driver = task()
    send(twin, "a", timer=HOUR_MS)
    send(twin, "b", timer=3 * HOUR_MS)
    driver.drain()
    twin.pass_ms(2 * HOUR_MS)
    driver.task.read_end_offsets()
    twin.pass_ms(2 * HOUR_MS)
    limit = driver.task.timers_due()
    assert limit is not None
    assert limit < twin.clock() - HOUR_MS
    driver.drain()
    assert [t for t in fact_kinds(twin) if t[1] == "fired"] == [("a", "fired"), ("b", "fired")]


def test_a_timer_that_raises_is_set_aside_and_the_others_fire(twin: Twin, task: OpenTask) -> None:
    driver = task()
    send(twin, "a", "bad1", "c", timer=HOUR_MS)
    driver.drain()
    twin.pass_ms(2 * HOUR_MS)
    driver.drain()
    assert sorted(fact_kinds(twin)[3:]) == [("a", "fired"), ("c", "fired")]
    (dead,) = twin.read(dead_letters_of(INPUT))
    assert (dead.key or b"").startswith(b"timer/toy.wait/bad1/")
    assert header(dead, "kafka_dlt-exception-fqcn") == b"timer_failed"
    assert driver.rows()["timers"] == {}


def test_a_fired_timer_is_the_cause_of_its_fact(twin: Twin, task: OpenTask) -> None:
    driver = task()
    send(twin, "a", timer=HOUR_MS)
    driver.drain()
    twin.pass_ms(2 * HOUR_MS)
    driver.drain()
    assert header(twin.read(FACTS)[-1], "headrace-cause") == f"{twin.name(INPUT)}/0/0".encode()


def test_more_timers_than_a_batch_fire_in_several_cycles(twin: Twin, task: OpenTask) -> None:
    driver = task(batch=4)
    names = [f"k{n}" for n in range(10)]
    send(twin, *names, timer=HOUR_MS)
    driver.drain()
    before = driver.cycles
    twin.pass_ms(2 * HOUR_MS)
    driver.drain()
    assert driver.cycles == before + 3
    assert sorted(fact_kinds(twin)[10:]) == sorted((name, "fired") for name in names)
