"""What cannot be decided is set aside in the same transaction; what follows goes on."""

from __future__ import annotations

from random import Random

import pytest

from streams.engine.records import Output, header
from streams.errors import TooManyDeadLetters
from tests.contract.test_task import OpenTask, seen, send
from tests.contract.twins import Twin
from tests.toy import FACTS, INPUT, toy_record
from topology.topics import dead_letters_of

DEAD = dead_letters_of(INPUT)


def test_poison_is_found_by_halves_and_set_aside(twin: Twin, task: OpenTask) -> None:
    driver = task()
    send(twin, *"abc")
    bad = toy_record("x", prefix=twin.prefix, poison=1)
    twin.log.append([bad._replace(headers=[("traceparent", b"00-1"), ("own", b"\xff")])])
    send(twin, *"abc", "a")
    driver.drain()
    assert driver.cycles == 1
    assert seen(twin) == ["a1", "b1", "c1", "a2", "b2", "c2", "a3"]
    (dead,) = twin.read(DEAD)
    assert (dead.key, dead.value) == (bad.key, bad.value)
    assert header(dead, "own") == b"\xff"
    assert header(dead, "headrace-cause") == f"{twin.name(INPUT)}/0/3".encode()
    assert header(dead, "kafka_dlt-original-topic") == twin.name(INPUT).encode()
    assert header(dead, "kafka_dlt-original-offset") == (3).to_bytes(8, "big")
    assert header(dead, "kafka_dlt-original-partition") == bytes(4)
    assert header(dead, "kafka_dlt-exception-fqcn") == b"decide_failed"
    assert b"x" not in driver.rows()["toy.rows"]


def test_poison_is_not_tried_again_after_opening(twin: Twin, task: OpenTask) -> None:
    for _ in range(2):
        with task() as driver:
            driver.drain()
        send(twin, "x", poison=1)
    with task() as driver:
        driver.drain()
    assert len(twin.read(DEAD)) == 2


def test_a_full_batch_of_bytes_that_do_not_decode_stops_nothing(twin: Twin, task: OpenTask) -> None:
    driver = task(batch=500)
    undecodable = [
        None,
        b"",
        b"\0",
        b"\0\0\0\0\1x",
        b"rubbish",
        b"\xc3\x01" + bytes(8),
        b"\xff" * 99,
    ]
    outputs = [Output(twin.name(INPUT), b"k%d" % n, undecodable[n % 7], (), 0) for n in range(1200)]
    twin.log.append(outputs)
    send(twin, "a")
    driver.drain()
    assert seen(twin) == ["a1"]
    dead = twin.read(DEAD)
    assert [(r.key, r.value) for r in dead] == [(o.key, o.value) for o in outputs]
    codes = {header(r, "kafka_dlt-exception-fqcn") for r in dead}
    assert codes <= {b"null_value", b"frame_unknown", b"schema_unknown", b"body_invalid"}


def test_more_than_twenty_and_a_hundredth_stop_the_task(twin: Twin, task: OpenTask) -> None:
    driver = task()
    send(twin, *(f"k{n}" for n in range(21)), poison=1)
    driver.fetch()
    with pytest.raises(TooManyDeadLetters, match="21 of 21"):
        driver.step()
    driver.close()
    assert twin.read(DEAD) == []
    with task(tolerant=True) as fixed:
        fixed.drain()
    assert len(seen(twin)) == 21
    assert twin.read(DEAD) == []


def test_twenty_do_not_stop_it(twin: Twin, task: OpenTask) -> None:
    driver = task()
    send(twin, *(f"k{n}" for n in range(20)), poison=1)
    driver.drain()
    assert len(twin.read(DEAD)) == 20
    twin.pass_ms(61_000)
    send(twin, *(f"k{n}" for n in range(20)), poison=1)
    driver.drain()
    assert len(twin.read(DEAD)) == 40


def test_less_than_a_hundredth_does_not_stop_it(twin: Twin, task: OpenTask) -> None:
    driver = task()
    for _ in range(25):
        send(twin, *(f"k{n}" for n in range(110)))
        driver.drain()
        send(twin, "bad", poison=1)
        driver.drain()
    assert len(twin.read(DEAD)) == 25


def test_poison_decided_and_dropped_counts_once(twin: Twin, task: OpenTask) -> None:
    """A rebalance between deciding and committing makes the same records be decided again."""
    driver = task()
    send(twin, *(f"k{n}" for n in range(15)), poison=1)
    for _ in range(3):
        driver.fetch()
        assert driver.task.next_batch() is not None
        for tp, offset in driver.task.resume().items():
            driver.reader.seek(tp, offset)
    driver.drain()
    assert len(twin.read(DEAD)) == 15


def test_an_output_that_is_too_large_gets_a_coded_refusal(twin: Twin, task: OpenTask) -> None:
    driver = task()
    send(twin, "a")
    send(twin, "b", large=70_000)
    send(twin, "a", "b")
    driver.drain()
    kinds = [(f["id"], f["kind"], f.get("n", "")) for f in twin.facts()]
    assert kinds == [
        ("a", "seen", "1"),
        ("b", "too_large", ""),
        ("a", "seen", "2"),
        ("b", "seen", "1"),
    ]
    assert twin.read(DEAD) == []


def test_headers_that_are_copied_count_towards_the_size(twin: Twin, task: OpenTask) -> None:
    """Else the broker refuses the same transaction for ever."""
    driver = task()
    noise = Random(1).randbytes(70_000)  # nothing that compresses
    long = toy_record("a", prefix=twin.prefix)._replace(headers=[("traceparent", noise)])
    twin.log.append([long, toy_record(noise.hex()[:32_000], prefix=twin.prefix)])
    send(twin, "b")
    driver.drain()
    assert [f["kind"] for f in twin.facts()] == ["seen", "seen"]
    assert {header(r, "traceparent") for r in twin.read(FACTS)} == {None}
    (dead,) = twin.read(DEAD)  # its key alone is too long for a refusal
    assert len(dead.key or b"") == 32_000
