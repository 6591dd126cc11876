"""An export as of a point has what was on the log when that point was the end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from schemas.formats import iso_ms
from streams.engine.records import TopicPartition, position
from streams.play.scenario import Scenario, open_scenario
from streams.settings import Settings
from topology import topics
from topology.core import LINEAGE_EDGES
from topology.declarations import TopicKind

SCENARIOS = Path(__file__).resolve().parents[3] / "scenarios"
TURN = json.loads((SCENARIOS.parent / "schemas/examples/saop/turn.json").read_text())
TOPICS = [
    topic.name
    for topic in topics.ALL
    if topic.kind in (TopicKind.COMMAND, TopicKind.FACT, TopicKind.AUDIT) or topic is LINEAGE_EDGES
]


class Moment(NamedTuple):
    """A moment of a scenario: its time, and the positions of all records up to then."""

    now_ms: int
    positions: set[str]


def positions_on(scenario: Scenario) -> set[str]:
    return {
        position(record)
        for name in TOPICS
        for partition in range(2)
        for record in scenario.log.slots(TopicPartition(name, partition))
        if record is not None
    }


def exported(scenario: Scenario, path: Path, as_of: str) -> set[str]:
    from streams.analytics.export import Options, export

    assert all(
        not done.is_table for done in export(scenario.log, "", path, Options(TOPICS, as_of=as_of))
    )
    return set(rows_of(path))


def rows_of(path: Path) -> Iterator[str]:
    import pyarrow.parquet as pq

    for file in sorted(path.rglob("*.parquet")):
        topic = file.parent.parent.name
        table = pq.read_table(file, columns=["_partition", "_offset"])
        for row in table.to_pylist():
            yield f"{topic}/{row['_partition']}/{row['_offset']}"


@pytest.mark.parametrize(
    "name", ["acknowledgements", pytest.param("sap-tasks", marks=pytest.mark.slow)]
)
def test_at_a_time_it_has_what_was_there_then(name: str, tmp_path: Path) -> None:
    lines = (SCENARIOS / f"{name}.jsonl").read_text().splitlines()
    moments: list[Moment] = []
    with open_scenario(Settings(partitions=2)) as scenario:
        for number, line in enumerate(lines, 1):
            scenario.line(number, line)
            if moments and moments[-1].now_ms == scenario.now:
                moments.pop()  # what came later in its millisecond counts too
            moments.append(Moment(scenario.now, positions_on(scenario)))
        changes = [
            moment for moment, later in pairwise(moments) if moment.positions != later.positions
        ]
        assert len(changes) >= 2
        for n, moment in enumerate((changes[0], changes[len(changes) // 2], changes[-1])):
            path = tmp_path / str(n)
            assert exported(scenario, path, iso_ms(moment.now_ms)) == moment.positions


def test_at_a_position_it_has_all_effects_of_the_command_and_none_of_the_next(
    tmp_path: Path,
) -> None:
    """Records of one millisecond are told apart by their offsets."""
    with open_scenario(Settings(partitions=2)) as scenario:
        before: set[str] = set()
        for index in range(2):
            before = positions_on(scenario)
            value = {**TURN, "turn_index": index}
            line = {
                "topic": "saop.turns",
                "value": value,
                "timestamp": iso_ms(scenario.now + 1 - index),
            }
            scenario.line(index + 1, json.dumps(line))
        (command,) = (each for each in before if each.startswith("saop.turns/"))
        (fact,) = (each for each in before if each.startswith("saop.log/"))
        assert any(each.startswith("lineage.edges/") for each in before)
        for n, point in enumerate((command, fact)):
            assert exported(scenario, tmp_path / str(n), point) == before


@pytest.mark.parametrize(
    ("point", "code"),
    [
        ("yesterday", "query_value"),
        ("2999-01-01T00:00:00Z", "as_of_ahead"),
        ("apc.packets/0/0", "as_of_ahead"),
        ("apc.packets/9/0", "query_value"),
        ("apc.packet-states/0/0", "query_value"),
        ("nowhere/0/0", "query_value"),
    ],
)
def test_a_point_that_is_none_is_refused_before_anything_is_written(
    point: str, code: str, tmp_path: Path
) -> None:
    from streams.errors import UsageError

    with (
        open_scenario(Settings(partitions=2)) as scenario,
        pytest.raises(UsageError, match=f"^{code}: --as-of: "),
    ):
        exported(scenario, tmp_path / "lake", point)
    assert not (tmp_path / "lake").exists()


def test_tables_are_left_out_and_named(tmp_path: Path) -> None:
    from streams.analytics.export import Options, export

    options = Options(("apc.packet-states", "apc.events"), as_of="2026-01-01T00:00:00Z")
    with open_scenario(Settings(partitions=2)) as scenario:
        done = {each.name: str(each) for each in export(scenario.log, "", tmp_path, options)}
    assert done["apc.packet-states"] == "table  left out: it knows no past"
    assert not (tmp_path / "tables").exists()
    assert (tmp_path / "records/apc.events").is_dir()


def test_a_folder_has_one_point(tmp_path: Path) -> None:
    from streams.analytics.errors import ExportFormat
    from streams.analytics.export import Options, export

    def run(path: Path, as_of: str | None) -> Any:
        return list(export(scenario.log, "", path, Options(("apc.events",), as_of=as_of)))

    with open_scenario(Settings(partitions=2)) as scenario:
        run(tmp_path / "past", "2026-01-01T00:00:00Z")
        run(tmp_path / "now", None)
        for folder, point in (
            ("past", "2026-01-02T00:00:00Z"),
            ("past", "2026-01-01T00:00:00Z"),  # it is complete
            ("past", None),
            ("now", "2026-01-01T00:00:00Z"),
        ):
            with pytest.raises(ExportFormat, match="export_format: the folder is an export as of"):
                run(tmp_path / folder, point)


def test_an_export_as_of_a_point_that_was_killed_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from streams.analytics import parquet_files
    from streams.analytics.export import Options, export

    put_in_place, renamed = parquet_files.put_in_place, list[str]()

    def fail_later(temporary: Path, path: Path) -> None:
        put_in_place(temporary, path)
        renamed.append(path.name)
        if len(renamed) == 3:
            raise KeyboardInterrupt

    with open_scenario(Settings(partitions=2)) as scenario:
        for index in range(4):
            value = {**TURN, "turn_index": index}
            scenario.line(index + 1, json.dumps({"topic": "saop.turns", "value": value}))
        point = iso_ms(scenario.now)
        options = Options(TOPICS, as_of=point)
        monkeypatch.setattr(parquet_files, "put_in_place", fail_later)
        with pytest.raises(KeyboardInterrupt):
            list(export(scenario.log, "", tmp_path, options))
        monkeypatch.undo()
        assert exported(scenario, tmp_path, point) == positions_on(scenario)
        rows = list(rows_of(tmp_path))
    assert len(rows) == len(set(rows))
