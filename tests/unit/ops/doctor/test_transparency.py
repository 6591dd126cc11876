"""Tests of the doctor's check of the transparency log."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streams.engine.records import Output
from streams.ops.doctor.findings import Check, Level
from streams.ops.doctor.transparency import check_log
from streams.ops.tlog.note import Checkpoint
from tests.unit.ops.tlog.example_log import ORIGIN, POLICY
from tests.unit.ops.tlog.logged import ENTRIES, HEADS, Logged


@pytest.fixture
def logged(tmp_path: Path) -> Logged:
    system = Logged(tmp_path)
    (tmp_path / "policy").write_text(POLICY)
    return system


def publish(logged: Logged, count: int) -> None:
    logged.write_facts(count)
    with logged.writer() as writer:
        writer.round()


def check(logged: Logged) -> list[Check]:
    return list(check_log(logged.log, logged.settings, lambda: logged.now))


def test_without_a_policy_nothing_is_checked(logged: Logged) -> None:
    assert list(check_log(logged.log, replace(logged.settings, tlog_policy=None))) == []


def test_the_newest_checkpoint_is_named(logged: Logged) -> None:
    publish(logged, 2)
    publish(logged, 3)
    (finding,) = check(logged)
    assert finding.level is Level.OK
    assert finding.said.startswith("the newest checkpoint, of 5 entries at 2024-11-24T")
    assert finding.said.endswith("is cosigned by nobody")


def test_before_the_first_checkpoint(logged: Logged) -> None:
    (finding,) = check(logged)
    assert (finding.level, finding.said) == (
        Level.WARN,
        f"no checkpoint of {ORIGIN} is published",
    )


def test_two_checkpoints_that_contradict_each_other(logged: Logged) -> None:
    publish(logged, 2)
    logged.add_head(Checkpoint(ORIGIN, 2, bytes(32)))
    (finding,) = check(logged)
    assert finding.level is Level.FAIL
    assert "two signed checkpoints of 2 entries contradict each other" in finding.said


def test_noise_is_counted(logged: Logged) -> None:
    publish(logged, 2)
    for topic in (ENTRIES.topic, HEADS.topic):
        logged.log.append([Output(topic, ORIGIN.encode(), b"noise")])
    checkpoint, batches = check(logged)
    assert (checkpoint.level, batches.level) == (Level.OK, Level.WARN)
    assert batches.said == "1 of the newest 2 batches of entries do not count"


def test_facts_that_came_long_after_the_newest_checkpoint(logged: Logged) -> None:
    publish(logged, 2)
    logged.now += 3_600_000
    logged.write_facts(1)
    assert len(check(logged)) == 1
    logged.now += 601_000
    checkpoint, age = check(logged)
    assert (checkpoint.level, age.level) == (Level.OK, Level.WARN)
    assert age.said.startswith("facts since 2024-11-24T")
    publish(logged, 0)
    assert len(check(logged)) == 1


def test_a_policy_that_is_none(logged: Logged, tmp_path: Path) -> None:
    (tmp_path / "policy").write_text("log\n")
    (finding,) = check(logged)
    assert (finding.level, finding.said.partition(":")[0]) == (Level.FAIL, "policy_invalid")
