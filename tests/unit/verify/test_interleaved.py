"""Rows of a log that is being written: the facts of a task and those it reads have no one order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas import decode, encode
from streams.engine.rows import store_key
from streams.protocols.sap.fold import FOLD, row_key
from streams.replay.consistent_cut import LiveRows
from streams.replay.spill import SpillStore
from streams.replay.violations import Violations
from streams.verify.folds import FoldComparison
from tests.unit.verify.played import Played
from topology.declarations import Topic
from topology.sap import SAP_ACKS, SAP_OUTCOMES, SAP_TASKS, SAP_VERDICTS

Facts = list[tuple[Topic, dict[str, Any]]]
RECORD = FOLD.table.record or ""
SCENARIOS = ("sap-lapse", "sap-single-flight", "sap-cache", "sap-deadlines", "sap-signals")
ORDERS = ((SAP_VERDICTS, SAP_OUTCOMES), (SAP_OUTCOMES, SAP_VERDICTS))


@pytest.fixture(params=SCENARIOS)
def played(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Played]:
    played = Played(request.param, tmp_path)
    yield played
    played.close()


def values(played: Played, topic: Topic) -> list[dict[str, Any]]:
    return [decode(record.value, topic.record or "").value for _, _, record in played.places(topic)]


def versions(played: Played) -> dict[str, list[bytes]]:
    """Return each row that a task had, by its key, oldest first."""
    assert FOLD.table.topic is not None
    rows = defaultdict(list)
    for _, _, record in played.places(FOLD.table.topic):
        if record.value is not None:
            rows[(record.key or b"").decode()].append(record.value)
    return rows


def findings(played: Played, folder: Path, key: str, row: bytes, order: tuple[Topic, ...]) -> int:
    """Compare a row with the facts of its task, of which only the first was there before it."""
    commands = {
        f"{tp.topic}/{tp.partition}/{offset}": decode(record.value, SAP_TASKS.record or "").value
        for tp, offset, record in played.places(SAP_TASKS)
    }
    with closing(SpillStore(folder)) as scratch:
        live = LiveRows(scratch)
        live.put(0, store_key(FOLD.table.name, key), row)
        comparison = FoldComparison(FOLD, 0, live, commands.get, scratch, cut_off=False)
        for number, topic in enumerate((SAP_ACKS, *order)):
            for fact in values(played, topic):
                if row_key(topic, fact) == key:
                    comparison.step(topic, fact)
            if number == 0:
                comparison.compare()
        violations = Violations()
        comparison.tell(violations)
        return sum(violations.counts.values())


@pytest.mark.parametrize("order", ORDERS, ids=["verdicts first", "outcomes first"])
def test_each_row_that_there_was_is_reached(
    played: Played, order: tuple[Topic, ...], tmp_path: Path
) -> None:
    number = 0
    for key, rows in versions(played).items():
        for row in rows:
            number += 1
            assert findings(played, tmp_path / str(number), key, row, order) == 0, (key, number)
    assert number > 2


def test_a_row_that_there_never_was_is_not_reached(played: Played, tmp_path: Path) -> None:
    for key, rows in versions(played).items():
        row = decode(rows[-1], RECORD).value
        assert row is not None
        spoiled = encode(RECORD, {**row, "outcomeSeq": row["outcomeSeq"] + 7})
        assert findings(played, tmp_path / key, key, spoiled, ORDERS[0]) == 1
