"""The neutral workload is decided alike by all, and a wrong outcome is counted as one."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.neutral import kafka_streams
from bench.neutral.check import Count, count
from bench.neutral.step import decide, new_row
from bench.neutral.systems import systems
from bench.neutral.traffic import Mark, rates
from bench.neutral.workload import (
    ACTIONS,
    FIRST_STATE,
    NEXT_STATES,
    Decision,
    changes,
    expected,
    read,
    write,
)

COUNT = 3000
POM = (kafka_streams.PROJECT / "pom.xml").read_text(encoding="utf-8")
PROGRAM = "".join(
    path.read_text(encoding="utf-8") for path in (kafka_streams.PROJECT / "src").rglob("*.java")
)


def outcomes(number: int = COUNT) -> list[bytes]:
    rows: dict[str, dict[str, object]] = {}
    return [
        write("outcome", decide(change, rows.setdefault(change["ticket"], new_row())))
        for change in changes(number)
    ]


def test_changes_are_the_same_each_time_and_of_every_action() -> None:
    assert list(changes(50)) == list(changes(50))
    assert list(changes(50)) == list(changes(100))[:50]
    assert {change["action"] for change in changes(200)} == set(ACTIONS)


def test_records_survive_their_codec() -> None:
    change = next(changes(1))
    assert read("change", write("change", change)) == change
    row = new_row()
    assert read("outcome", write("outcome", decide(change, row)))["number"] == 0
    assert read("ticket", write("ticket", row)) == row
    with pytest.raises(ValueError, match="frame"):
        read("ticket", write("change", change))


def test_right_outcomes_are_exact_in_any_order() -> None:
    assert count(reversed(outcomes()), expected(COUNT)) == Count(COUNT, 0, 0, 0)
    assert count(outcomes(), expected(COUNT)).exact


def test_a_lost_and_a_repeated_outcome_are_counted() -> None:
    values = outcomes()
    assert count(values[1:], expected(COUNT)) == Count(COUNT - 1, 1, 0, 0)
    assert count([*values, values[5]], expected(COUNT)) == Count(COUNT + 1, 0, 1, 0)
    assert not count(values[1:], expected(COUNT)).exact


@pytest.mark.parametrize("member", ["before", "after", "legal"])
def test_an_outcome_that_says_something_else_is_wrong(member: str) -> None:
    outcome = read("outcome", outcomes(1)[0])
    outcome[member] = not outcome[member] if member == "legal" else "elsewhere"
    assert count([write("outcome", outcome)], expected(1)) == Count(1, 0, 0, 1)


@pytest.mark.parametrize("data", [None, b"", b"\x00\x00\x00\x00\x02", b"text"])
def test_what_cannot_be_read_is_wrong(data: bytes | None) -> None:
    assert count([data], expected(1)) == Count(1, 1, 0, 1)


def test_an_outcome_of_no_change_that_was_sent_is_wrong() -> None:
    assert count(outcomes(2), expected(1)) == Count(2, 0, 0, 1)


def test_the_decisions_follow_the_machine() -> None:
    assert expected(1)[0].before == FIRST_STATE
    decisions = expected(COUNT)
    assert 0.1 < sum(each.legal for each in decisions) / COUNT < 0.5
    assert all(each.legal or each.before == each.after for each in decisions)
    assert Decision(FIRST_STATE, "active", True) in decisions


def test_the_program_in_java_has_the_same_machine() -> None:
    cells = re.findall(r'"(\w+)", Map\.of\(([^)]+)\)', PROGRAM)
    machine = {
        (state, action): after
        for state, pairs in cells
        for action, after in re.findall(r'"(\w+)", "(\w+)"', pairs)
    }
    assert machine == NEXT_STATES


def test_the_program_in_java_is_pinned_and_names_no_repository() -> None:
    assert "<repositor" not in POM
    assert "<pluginRepositor" not in POM
    addresses = set(re.findall(r"https?://[^\s<\"]+", POM))
    assert addresses == {ElementTree.fromstring(POM).tag.partition("}")[0].removeprefix("{")}
    parts = re.findall(r"<(dependency|plugin)>(.*?)</\1>", POM, re.S)
    assert parts
    for _, body in parts:
        assert re.search(r"<version>\d[\w.]*</version>", body), body


def test_kafka_streams_is_exactly_once_on_rocksdb() -> None:
    assert "StreamsConfig.EXACTLY_ONCE_V2" in PROGRAM
    assert "Stores.persistentKeyValueStore" in PROGRAM


def test_why_kafka_streams_cannot_run_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(kafka_streams.NotBuilt, match="no Java 17"):
        kafka_streams.build()


def test_why_maven_failed_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "java").write_text("#!/bin/sh\necho 'version \"17.0.1\"' >&2\n")
    (tmp_path / "mvn").write_text("#!/bin/sh\necho '[ERROR] no network'\nexit 1\n")
    for name in ("java", "mvn"):
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setattr(kafka_streams, "DIGEST", tmp_path / "digest")
    with pytest.raises(kafka_streams.NotBuilt, match="no network"):
        kafka_streams.build()
    assert not (tmp_path / "digest").exists()


def test_rates_are_of_the_whole_life_and_of_the_second_half() -> None:
    start, half, end = Mark(10, 100.0, 2.0), Mark(60, 105.0, 7.0), Mark(110, 107.0, 9.0)
    rate = rates(start, half, end, 50.0)
    assert rate.events_per_s == pytest.approx(100 / 7)
    assert rate.events_per_cpu_s == pytest.approx(110 / 9)
    assert rate.warm_per_s == pytest.approx(25)
    assert rate.warm_per_cpu_s == pytest.approx(25)


def test_each_peer_is_there_and_says_what_it_promises() -> None:
    delivery = {system.name: system.delivery for system in systems(Path("python"))}
    assert delivery["headrace"] == delivery["Kafka Streams"] == "exactly once"
    assert delivery["Quix Streams"] == "exactly once"
    assert delivery["stock Faust"] == "at least once"
