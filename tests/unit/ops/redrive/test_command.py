"""`headrace dlq redrive` as it is typed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.cli import common, main
from streams.settings import Settings
from tests.unit.envelopes import idea
from tests.unit.ops.redrive.conftest import FailingSender
from tests.unit.views.bench import Bench


@pytest.fixture(autouse=True)
def in_memory(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def connect(settings: Settings) -> Iterator[Any]:
        yield bench.log

    monkeypatch.setenv("HEADRACE_PREFIX", "acme.")
    monkeypatch.setenv("HEADRACE_PARTITIONS", "2")
    monkeypatch.setattr(common, "connect", connect)
    monkeypatch.setattr(common, "now_ms", lambda: bench.now)


def redrive(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["dlq", "redrive", *arguments])


def test_a_dry_run_and_then_the_redrive(bench: Bench, send_failing: FailingSender) -> None:
    (source,) = send_failing(idea(1))
    dry = redrive("--dry-run", "--json")
    assert dry.exit_code == 0, dry.output
    row = json.loads(dry.stdout)
    assert (row["source"], row["outcome"], row["rule"]) == (source, "accepted", "accepted")
    assert len(bench.records("apc.packets")) == 1
    sent = redrive("--topic", "acme.apc.packets", "--code", "decide_failed", "--operator", "ann")
    assert sent.exit_code == 0, sent.output
    assert sent.stdout.splitlines()[-1] == "1 sent"
    assert len(bench.records("apc.packets")) == 2
    assert redrive().stdout.splitlines()[-1] == "1 done"


def test_what_cannot_be_sent_is_a_negative_answer(
    bench: Bench, send_failing: FailingSender
) -> None:
    bench.send_bytes("apc.packets", b"else")
    answer = redrive()
    assert answer.exit_code == 1
    assert answer.stdout.splitlines() == [
        "acme.apc.packets.dlq/0/0  frame_unknown  undecodable",
        "1 undecodable",
    ]


def test_nothing_to_send(bench: Bench) -> None:
    answer = redrive()
    assert (answer.exit_code, answer.stdout) == (0, "no dead letters\n")


@pytest.mark.parametrize("arguments", [("17",), ("--topic", "apc.nonsense"), ("--rate", "0")])
def test_wrong_usage(bench: Bench, arguments: tuple[str, ...]) -> None:
    assert redrive(*arguments).exit_code == 2
