"""The decision of one packet can be read in few files, and without going back and forth.

A reader who follows an accepted packet through the functions that it enters opens `files`, and goes
back to one that was left before `returns` times.  Generators count where they are first entered.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from streams.protocols.apc.processor import processor
from tests.unit.protocols.apc.processor.packets import Bench, waiting

ROOT = Path(processor.__file__).parents[4]
SLICE = "streams/protocols/apc/"
MOST_FILES = 12
MOST_RETURNS = 25


class Distance(NamedTuple):
    files: int
    returns: int


def distance(entered: Sequence[str]) -> Distance:
    """Measure a walk; entered: the file of each function, in the order of entering them."""
    left: set[str] = set()
    current, returns = "", 0
    for file in entered:
        if file != current:
            left.add(current)
            returns += file in left
            current = file
    return Distance(len(set(entered)), returns)


@contextmanager
def functions_entered(name: str) -> Iterator[list[str]]:
    """Record the files of the functions that are entered while the function `name` runs."""
    entered: list[str] = []
    frames: dict[FrameType, None] = {}

    def profile(frame: FrameType, event: str, _: object) -> None:
        begins = frame.f_code.co_name == name
        if event == "return" and begins:
            frames.clear()
        elif event == "call" and (begins or frames) and frame not in frames:
            frames[frame] = None
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(ROOT):
                entered.append(path.relative_to(ROOT).as_posix())

    sys.setprofile(profile)
    try:
        yield entered
    finally:
        sys.setprofile(None)


def walk() -> list[str]:
    """Judge an IDEA that two agents have to acknowledge in time, in a session that has begun."""
    bench = Bench()
    bench.give(waiting(1, to=("scout-1",)))
    idea = bench.message(waiting(2, to=("scout-1", "scout-2"), ack_timeout_ms=500))
    with functions_entered("_judge") as entered:
        sent = bench.decide(idea)
    assert bench.facts(sent)[0]["verdict"] == "accepted"
    return [file for file in entered if not file.startswith("tests/")]


def test_a_walk_is_measured_by_its_files_and_the_returns_to_one_that_was_left() -> None:
    assert distance(["a", "a", "b", "a", "c", "b", "b"]) == (3, 2)


def test_an_accepted_packet_is_decided_in_few_files() -> None:
    files, returns = distance([file for file in walk() if file.startswith("streams/")])
    assert files <= MOST_FILES
    assert returns <= MOST_RETURNS


def test_the_rules_of_the_protocol_are_all_in_its_own_folder() -> None:
    shared = {file for file in walk() if file.startswith("streams/") and SLICE not in file}
    assert shared <= {"streams/engine/headers.py", "streams/processing/decision.py"}
