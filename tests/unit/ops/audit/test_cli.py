"""`headrace audit` over a log in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.cli import common, main
from streams.engine.memory import MemoryLog
from streams.engine.records import TopicPartition
from streams.ops.audit.verify import UNCOVERED_MS
from streams.settings import Settings
from tests.unit.envelopes import idea
from tests.unit.views.bench import Bench
from topology.core import AUDIT_CHECKPOINTS


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    system = Bench(tmp_path)

    @contextmanager
    def connect(settings: Settings) -> Iterator[MemoryLog]:
        yield system.log

    monkeypatch.setattr(common, "connect", connect)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_AUDIT_KEY", "k.pem")
    monkeypatch.setenv("HEADRACE_AUDIT_PUBLIC_KEY", "k.pem.pub")
    yield system
    system.close()


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["audit", *arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def verify(*arguments: str, code: int = 0) -> Any:
    return json.loads(run("verify", "--json", *arguments, code=code).stdout)


def test_facts_are_sealed_exported_and_verified(bench: Bench) -> None:
    run("key", "k.pem")
    bench.send("apc.packets", idea(1), idea(2))
    lines = run("write", "--once", "--json").stdout.splitlines()
    assert {json.loads(line)["sequence"] for line in lines} == {1}
    assert verify()["holds"] is True
    assert "records are as they were sealed" in run("verify").stdout
    run("export", "all.jsonl.gz")
    assert verify("--segment", "all.jsonl.gz")["holds"] is True
    run("export", "some.jsonl", "--topic", "apc.events")
    places = [each["place"] for each in verify("--segment", "some.jsonl")["partitions"]]
    assert places == ["apc.events/1"]


def test_one_changed_byte_is_a_negative_answer(bench: Bench) -> None:
    run("key", "k.pem")
    bench.send("apc.packets", idea(1), idea(2))
    run("write", "--once")
    run("export", "all.jsonl", "--topic", "apc.events")
    lines = Path("all.jsonl").read_text().splitlines()
    record = json.loads(lines[-1])
    record["record"]["timestamp"] += 1
    Path("all.jsonl").write_text("\n".join([*lines[:-1], json.dumps(record)]) + "\n")
    (finding,) = verify("--segment", "all.jsonl", code=1)["findings"]
    assert (finding["place"], finding["code"]) == ("apc.events/1", "records_differ")
    assert finding["first"] <= record["record"]["offset"] <= finding["last"]


def test_nothing_sealed_is_a_negative_answer(bench: Bench) -> None:
    run("key", "k.pem")
    bench.send("apc.packets", idea(1))
    assert verify(code=1)["findings"] == []


def test_another_key_does_not_vouch(bench: Bench) -> None:
    run("key", "k.pem")
    run("key", "other.pem")
    bench.send("apc.packets", idea(1))
    run("write", "--once")
    report = verify("--public-key", "other.pem.pub", code=1)
    assert {finding["code"] for finding in report["findings"]} == {"checkpoint_invalid"}
    assert verify("--public-key", "other.pem.pub", "--public-key", "k.pem.pub")["holds"] is True


def test_a_key_is_asked_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_AUDIT_KEY")
    monkeypatch.delenv("HEADRACE_AUDIT_PUBLIC_KEY")
    assert "headrace audit key" in run("write", "--once", code=2).stderr
    assert "--public-key" in run("verify", code=2).stderr


def test_a_topic_that_is_not_covered_is_refused(bench: Bench) -> None:
    run("key", "k.pem")
    assert "is not covered" in run("verify", "--topic", "apc.packets", code=2).stderr


@pytest.mark.parametrize("left", [0, 1])
def test_facts_behind_checkpoints_that_were_dropped_are_not_vouched_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    """Drop the last checkpoints, or all, and change the facts behind them."""
    run("key", "k.pem")
    for number in (1, 2):
        bench.send("apc.packets", idea(number))
        run("write", "--once")
    now_ms = bench.now
    for partition in range(bench.log.topics()[AUDIT_CHECKPOINTS.name].partitions):
        checkpoints = bench.log.slots(TopicPartition(AUDIT_CHECKPOINTS.name, partition))
        signed = [slot for slot in checkpoints if slot and slot.key == b"apc.events/1"]
        checkpoints[:] = signed[:left]
    events = bench.log.slots(TopicPartition("apc.events", 1))
    last = max(n for n, slot in enumerate(events) if slot is not None)
    record = events[last]
    assert record is not None
    events[last] = record._replace(value=b"forged")
    monkeypatch.setattr(common, "now_ms", lambda: now_ms + UNCOVERED_MS + 1000)
    report = verify("--topic", "apc.events", code=1)
    assert report["covered"] is False
    text = run("verify", "--topic", "apc.events", code=1).stdout
    assert "apc.events/1: not_covered: no checkpoint covers the last" in text
    assert "are not covered, and were not checked" in text


def test_facts_that_a_writer_has_not_sealed_yet_are_listed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("key", "k.pem")
    bench.send("apc.packets", idea(1))
    run("write", "--once")
    bench.send("apc.packets", idea(2))
    monkeypatch.setattr(common, "now_ms", lambda: bench.now)
    assert verify()["covered"] is False
    assert "not_covered" in run("verify").stdout
