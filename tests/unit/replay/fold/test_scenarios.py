"""Every row that a scenario leaves is what its facts come to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schemas import decode
from streams.engine.log import Log
from streams.engine.records import Record, TopicPartition
from streams.log.fetching import records_of
from streams.play.scenario import Scenario
from streams.protocols.commands import COMMANDS, all_processors, bind_files
from streams.replay.fold.fold import Fold, visible_members
from streams.settings import Settings
from topology.declarations import Topic
from topology.topics import BY_NAME

pytestmark = pytest.mark.slow

SCENARIOS = sorted((Path(__file__).resolve().parents[4] / "scenarios").glob("*.jsonl"))


def records(log: Log, topic: Topic) -> list[Record]:
    tps = [TopicPartition(topic.name, n) for n in range(log.topics()[topic.name].partitions)]
    ends = log.ends(tps)
    log_records: list[Record] = []
    with log.reader(log.starts(tps)) as reader:
        while any(reader.position(tp) < ends[tp] for tp in tps):
            log_records += reader.poll(0)
    return log_records


def value(topic: Topic, record: Record) -> dict[str, Any]:
    assert topic.record is not None
    return decode(record.value, topic.record).value


def folded(log: Log, folding: Fold) -> dict[str, dict[str, Any]]:
    fetch = records_of(log)

    def command(place: str) -> dict[str, Any] | None:
        record = fetch(place)
        return None if record is None else value(BY_NAME[record.topic], record)

    facts = [
        (record.timestamp, number, record.offset, topic, value(topic, record))
        for number, topic in enumerate(folding.facts)
        for record in records(log, topic)
    ]
    facts.sort(key=lambda fact: fact[:3])
    rows: dict[str, Any] = {}
    for *_, topic, fact in facts:
        key = folding.row_key(topic, fact)
        if key is not None:
            rows[key] = folding.step(rows.get(key), topic, fact, command)
    return {key: visible_members(row) for key, row in rows.items() if row is not None}


def without(row: dict[str, Any], folding: Fold) -> dict[str, Any]:
    """The members that facts tell, as JSON has them."""
    members = {k: dict(v) if isinstance(v, dict) else v for k, v in row.items()}
    for name in folding.unfolded:
        *owners, last = name.split(".")
        owner = members
        for part in owners:
            owner = owner[part]
        owner.pop(last)
    return members


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_rows_are_what_their_facts_come_to(path: Path, tmp_path: Path) -> None:
    settings = Settings(partitions=1)
    bind_files(settings)
    scenario = Scenario(settings, tmp_path, all_processors)
    try:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if line.strip():
                scenario.line(number, line)
        log = scenario.log
        for folding in (fold for side in COMMANDS for fold in side.folds):
            table = folding.table.topic
            assert table is not None
            stored_rows = {
                (record.key or b"").decode(): value(table, record) for record in records(log, table)
            }
            again = folded(log, folding)
            assert again.keys() == stored_rows.keys()
            for key, row in stored_rows.items():
                assert without(again[key], folding) == without(row, folding), key
    finally:
        scenario.close()
