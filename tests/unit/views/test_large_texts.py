"""Free texts of APC and RTES are bounded by their record, and neither multiplied nor kept.

The guides declare texts of any length legal, so only the bound of a packet or a record may refuse
one.
"""

from __future__ import annotations

import copy
import gc
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from schemas import apc, rtes
from schemas.problems import Problem
from tests.unit.schemas import examples
from tests.unit.views.bench import Bench

Json = dict[str, Any]
Place = tuple[Any, ...]
Validate = Callable[[Any], list[Problem]]
LONG = 10_000
PACKETS, EVENTS = examples.valid("apc"), examples.valid("rtes")
BOUND_ALONE = {"task_transition"}
"""Examples all of whose texts have a bound of their own."""
ENVELOPES = [("apc.packets", apc.validate, value) for value in PACKETS.values()] + [
    ("rtes.raw", rtes.validate_event, value)
    for name, value in EVENTS.items()
    if name not in BOUND_ALONE
]
MULTIPLE = 5
"""Copies of a text: the record and its fact, an inbox, rows of tables and of the view."""


def places_of_texts(value: Any, place: Place = ()) -> Iterator[Place]:
    match value:
        case dict():
            for name, each in value.items():
                yield from places_of_texts(each, (*place, name))
        case list():
            for index, each in enumerate(value):
                yield from places_of_texts(each, (*place, index))
        case str():
            yield place


def with_text(value: Json, place: Place, text: str) -> Json:
    """Return a copy with another text in a place."""
    copied = copy.deepcopy(value)
    holder: Any = copied
    for part in place[:-1]:
        holder = holder[part]
    holder[place[-1]] = text
    return copied


def with_long_texts(value: Json, validate: Validate, length: int = LONG) -> Json:
    """Return a copy in which each text that may be long is, and no two are equal."""
    for number, place in enumerate(places_of_texts(value)):
        changed = with_text(value, place, f"{number} ".ljust(length, "x"))
        if not validate(changed):
            value = changed
    return value


@pytest.mark.parametrize(("topic", "validate", "value"), ENVELOPES)
def test_a_long_text_is_legal_and_taken_up_a_few_times_at_most(
    tmp_path: Path, topic: str, validate: Validate, value: Json
) -> None:
    large = with_long_texts(value, validate)
    size = len(orjson.dumps(large))
    assert size > LONG
    bench = Bench(tmp_path, partitions=1)
    bench.send(topic, large)
    bench.view.catch_up(0)
    logged = sum(
        len(record.value or b"") + len(record.key or b"")
        for name in bench.log.topics()
        for record in bench.records(name)
    )
    rows = sum(len(key) + len(row) for key, row in bench.view.scan(b""))
    bench.close()
    assert logged < MULTIPLE * size + 10_000
    assert rows < MULTIPLE * size + 10_000


@pytest.mark.parametrize("value", PACKETS.values())
def test_the_bound_of_a_packet_is_that_of_its_texts(value: Json) -> None:
    place = ("sender", "role")
    assert not apc.validate(with_text(value, place, "x" * (apc.MAX_PACKET_BYTES // 2)))
    refused = apc.validate(with_text(value, place, "x" * apc.MAX_PACKET_BYTES))
    assert [problem.rule for problem in refused] == ["packet_too_large"]


def test_no_cache_keeps_long_texts(tmp_path: Path) -> None:
    def send_all(folder: str, length: int) -> int:
        bench = Bench(tmp_path / folder, partitions=1)
        values = [(topic, with_long_texts(v, check, length)) for topic, check, v in ENVELOPES]
        for topic, value in values:
            bench.send(topic, value)
        bench.view.catch_up(0)
        bench.close()
        return sum(len(orjson.dumps(value)) for _, value in values)

    send_all("short", 20)
    gc.collect()
    tracemalloc.start()
    sent = send_all("long", LONG)
    gc.collect()
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert left < sent / 10
