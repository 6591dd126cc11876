"""A bus as a whole: time, cache, reading, transcript, observers."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path
from typing import Any

import pytest

import streams
from schemas import parse_ijson
from schemas.sap import SapTask
from streams import Ack, LocalBus, Transcript
from streams.errors import TranscriptBroken
from streams.sdk.local_bus.transcript import KINDS, Entry
from tests.unit.sdk.local_bus.support import (
    CAPABILITY,
    START_MS,
    id_of,
    open_bus,
    result,
    signal,
    task,
)


def test_what_belongs_to_it_is_exported() -> None:
    for name in ("LocalBus", "Ack", "Nack", "Transcript"):
        assert name in streams.__all__
        assert getattr(streams, name).__name__ == name


def test_tasks_may_be_objects() -> None:
    with open_bus() as at:
        at.bus.register("a", [CAPABILITY], lambda task: 1)
        assert isinstance(at.bus.dispatch(SapTask.from_json(task())), Ack)
        assert at.of("task") == [task()]


def test_an_answer_is_taken_from_the_cache() -> None:
    calls: list[str] = []

    def answer(task: SapTask) -> Any:
        calls.append(task.taskId)
        return {"n": 1}

    with open_bus() as at:
        at.bus.register("a", [CAPABILITY], answer)
        at.bus.dispatch(task(1, mode="prefer"))
        at.now += 90_000
        at.bus.dispatch(task(2, mode="only"))
        assert calls == [id_of(1)]
        outcome = at.bus.outcome(id_of(2).upper())
        assert outcome is not None
        assert outcome.output == {"n": 1}
        used = outcome.constitutionalEvidence.cache
        assert used is not None
        assert (used.hit, used.ageSec, used.version) == (True, 90, 1)
        assert used.cacheKey is not None
        [record] = at.bus.cache(used.cacheKey)
        assert (record["version"], record["taskId"]) == (1, id_of(1))
        row = at.bus.task(id_of(2).upper())
        assert row is not None
        assert (row["state"], row.hitVersion) == ("SUCCEEDED", 1)
        with pytest.raises(AttributeError):
            _ = row.nothing


def test_nothing_is_known_of_what_was_never_sent() -> None:
    with open_bus() as at:
        assert at.bus.outcome(id_of(1)) is None
        assert at.bus.outcomes(id_of(1)) == []
        assert at.bus.task(id_of(1)) is None
        assert at.bus.cache("0" * 64) == []


def test_a_tick_fires_what_is_due_at_its_own_time() -> None:
    deadline = {"deadline": "2026-01-01T00:00:10Z"}
    with open_bus(deliver="manual") as at:
        at.bus.register("a", [CAPABILITY], lambda task: 1)
        at.bus.dispatch(task(telemetry=deadline))
        at.now = START_MS + 10_000
        at.bus.tick()
        assert at.status() is None
        at.now = START_MS + 60_000
        at.bus.tick()
        assert at.status() == "FAILED"
        assert at.entries[-1]["at"] == START_MS + 10_001


def test_timers_fire_on_the_way_to_the_next_message() -> None:
    with open_bus(deliver="manual") as at:
        at.bus.register("a", [CAPABILITY], lambda task: 1)
        at.bus.dispatch(task(telemetry={"deadline": "2026-01-01T00:00:10Z"}))
        at.now = START_MS + 60_000
        assert at.bus.report(result()).rule == "task_closed"
        assert at.kinds() == ["task", "ack", "inbox", "outcome", "result", "ack"]


def test_a_waiter_is_delivered_when_its_wait_ends() -> None:
    with open_bus() as at:
        at.bus.register("a", [CAPABILITY], lambda _: None, available=False)

        def begin(task: SapTask) -> None:
            at.bus.report(result(1, "RUNNING", "b"))

        at.bus.register("b", [CAPABILITY], begin)
        at.bus.dispatch(task(1, mode="prefer"))
        at.now += 1000
        at.bus.dispatch(task(2, mode="prefer"))
        assert at.of("inbox") == [task(1, mode="prefer")]
        at.bus.set_available("b", False)
        at.bus.set_available("a", True)
        at.now += 31_000
        at.bus.tick()
        assert (at.status(1), at.status(2)) == ("RUNNING", "SUCCEEDED")


def test_the_clock_is_the_only_time() -> None:
    def run() -> list[Entry]:
        with open_bus() as at:
            at.bus.register("a", [CAPABILITY], lambda task: {"n": 1})
            for n in range(1, 5):
                at.now += 777
                at.bus.dispatch(task(n, mode="prefer"))
                at.bus.signal(signal(n, "rating", of=n, rating=5))
            return at.entries

    assert run() == run()


def test_a_clock_that_goes_back_is_taken_as_it_is() -> None:
    with open_bus() as at:
        at.bus.register("a", [CAPABILITY], lambda task: 1)
        at.bus.dispatch(task(1))
        at.now -= 5000
        at.bus.dispatch(task(2))
        assert at.status(2) == "SUCCEEDED"
        assert at.of("ack")[-1]["at"] == "2025-12-31T23:59:55.000Z"


def test_everything_stands_in_the_transcript(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with open_bus(transcript=path) as at:
        at.bus.register("a", [CAPABILITY], lambda task: {"n": 1})
        at.bus.dispatch(task(1, mode="prefer"))
        at.bus.signal(signal(1, "rating", rating=1))
        at.bus.dispatch({"taskId": "x"})
        head = at.bus.transcript.head
    assert at.kinds() == ["task", "ack", "inbox", "result", "ack", "outcome", "cache",
                          "signal", "ack", "task", "ack"]  # fmt: skip
    lines = [parse_ijson(line) for line in path.read_bytes().splitlines()]
    assert lines == at.entries
    assert set(at.kinds()) <= set(KINDS)
    assert Transcript.verify(path, head).ok
    assert lines[0]["body"] == task(1, mode="prefer")
    assert lines[5]["body"]["meta"]["headrace"]["rule"] == "agent_status"
    assert lines[9]["body"] == {"taskId": "x"}


def test_heuristics_stand_in_the_transcript_too() -> None:
    failing = {"policyChecks": [{"principle": "p", "status": "FAIL"}], "alignment": "VALID"}
    with open_bus() as at:
        at.bus.register("a", [CAPABILITY], lambda task: None)
        for n in range(1, 26):
            context = {"pressureLevel": "instant", "pressure": {"p": 57}}
            made = task(n, constitutionalContext=context)
            at.bus.set_available("a", True)
            at.bus.dispatch(made)
        assert at.of("heuristics") == []
    with open_bus(deliver="manual") as at:
        at.bus.register("a", [CAPABILITY], lambda task: None)
        for n in range(1, 26):
            context = {"pressureLevel": "instant", "pressure": {"p": 57}}
            at.bus.dispatch(task(n, constitutionalContext=context))
            at.bus.report(result(n, output=n, constitutionalEvidence=failing))
        [row] = at.of("heuristics")
        assert row["thresholds"] == {"p": 55}


def test_a_transcript_goes_on(tmp_path: Path) -> None:
    with Transcript(tmp_path / "t") as transcript:
        for n in (1, 2):
            with LocalBus(lambda: START_MS, transcript, deliver="manual") as bus:
                bus.dispatch(task(n))
        assert transcript.lines == 4
    with LocalBus(lambda: START_MS, str(tmp_path / "t")) as bus:
        assert bus.transcript.lines == 4
    (tmp_path / "t").write_bytes((tmp_path / "t").read_bytes()[:-2])
    with pytest.raises(TranscriptBroken):
        LocalBus(lambda: START_MS, tmp_path / "t")


def test_observers_that_raise_are_counted() -> None:
    seen: list[str] = []

    def bad(entry: Entry) -> None:
        raise RuntimeError(entry["kind"])

    with open_bus() as at:
        at.bus.observe(bad)
        at.bus.observe(lambda entry: seen.append(entry["kind"]))
        at.bus.register("a", [CAPABILITY], lambda task: 1)
        assert isinstance(at.bus.dispatch(task()), Ack)
        assert seen == at.kinds()
        assert at.bus.observer_errors == len(seen) == 6


def test_an_observer_may_use_the_bus() -> None:
    with open_bus() as at:
        rated: list[Any] = []

        def rate(entry: Entry) -> None:
            if entry["kind"] == "outcome":
                rated.append(at.bus.signal(signal(1, "rating", rating=5)))

        at.bus.observe(rate)
        at.bus.register("a", [CAPABILITY], lambda task: 1)
        at.bus.dispatch(task())
        assert [one.rule for one in rated] == ["accepted"]


def test_files_of_operators_are_used(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[[allow]]\ncapability = "*"\nkinds = ["user"]\n')
    with open_bus(authorization=tmp_path / "a.toml") as at:
        at.bus.register("a", [CAPABILITY], lambda task: 1)
        assert at.bus.dispatch(task()).rule == "unauthorized"


def test_a_bus_that_nobody_holds_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    bus = LocalBus(lambda: START_MS)
    bus.dispatch(task())
    assert list(tmp_path.iterdir())
    del bus
    gc.collect()
    assert not list(tmp_path.iterdir())
