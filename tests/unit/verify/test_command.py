"""`headrace verify` as it is typed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.cli import common, main
from streams.settings import Settings
from tests.unit.verify.played import Played
from topology.apc import APC_EVENTS
from topology.asap import ASAP_TASKS


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    with closing(Played("asap-run", tmp_path)) as scenario:

        @contextmanager
        def connect(settings: Settings) -> Iterator[Any]:
            yield scenario.log

        monkeypatch.setattr(common, "connect", connect)
        yield scenario


def verify(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["verify", *arguments])


def test_a_clean_log(played: Played) -> None:
    answer = verify()
    assert answer.exit_code == 0, answer.output
    lines = answer.stdout.splitlines()
    assert lines[0].split() == ["verified", "count"]
    assert [line.split()[0] for line in lines[1:4]] == ["commands", "facts", "rows"]
    assert lines[-1] == "clean"


def test_a_spoiled_log(played: Played) -> None:
    key = list(played.places(ASAP_TASKS))[-1][2].key
    for tp, offset, record in list(played.places(ASAP_TASKS)):
        if record.key == key:
            played.put(tp, offset, None)
    answer = verify()
    assert answer.exit_code == 1
    assert answer.stdout.startswith(f"row_missing  asap.tasks {(key or b'').decode()}  ")
    assert answer.stdout.splitlines()[-1] == "found: 1 row_missing"


def test_for_people(played: Played) -> None:
    lines = verify("--text").stdout.splitlines()
    assert lines[0].split() == ["verified", "count"]
    assert lines[-1] == "✔ clean"
    key = list(played.places(ASAP_TASKS))[-1][2].key
    for tp, offset, record in list(played.places(ASAP_TASKS)):
        if record.key == key:
            played.put(tp, offset, None)
    lines = verify("--text").stdout.splitlines()
    assert [line.split()[:2] for line in lines if "row_missing" in line] == [["✖", "row_missing"]]
    assert lines[-1] == "What each violation means: docs/verify.md"


def test_for_machines(played: Played, tmp_path: Path) -> None:
    answer = verify("--json", "--scratch", str(tmp_path))
    report = json.loads(answer.stdout)
    assert answer.exit_code == 0
    assert (report["clean"], report["findings"], report["counts"]) == (True, [], {})
    assert report["commands"]["asap.envelopes"] > 0
    assert report["decided"]["asap.envelopes/0"] > 0
    assert APC_EVENTS.name not in report["facts"]
    assert [path.name for path in tmp_path.glob("headrace-verify-*")] == []
