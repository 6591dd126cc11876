"""Logs and state directories that earlier versions have left, in the middle of their work."""

from __future__ import annotations

import json
import logging
import re
import shutil
import tarfile
from pathlib import Path

import pytest

from streams.verify.run import verify
from streams.view_store.source import FORMAT
from tests.unit.envelopes import idea
from tests.unit.protocols.apc.queries.facts import evaluation
from tests.upgrade.kept_history import KEPT, SETTINGS, History, Json, rest_of, whole

ARCHIVES = sorted(KEPT.rglob("*.tar.gz"))
WITH_PACKETS = [path for path in ARCHIVES if path.name == "acknowledgements.tar.gz"]
CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"


_PRIORS = ("apc.outcomes", "apc.priors")
KEPT_VIEW_FORMAT = 7
"""Of the views in the archives; a gateway of a later format builds its view anew."""


def test_every_release_has_left_its_logs_and_directories() -> None:
    """Written by its own code: see `write.py`."""
    released = set(re.findall(r"^## (\d+\.\d+\.\d+) ", CHANGELOG.read_text("utf-8"), re.MULTILINE))
    assert released
    assert released <= {path.parent.name for path in ARCHIVES}
    for archive in ARCHIVES:
        if archive.parent.name in released:
            with tarfile.open(archive) as archive_file:
                assert {"log.json", "state/1/0/CURRENT", "view-1/CURRENT"} <= set(
                    archive_file.getnames()
                )


@pytest.mark.parametrize("state", ["kept", "gone"])
@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_this_version_goes_on_as_if_it_had_been_there_from_the_beginning(
    archive: Path,
    state: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    history = History(archive, tmp_path / "kept")
    if state == "gone":
        shutil.rmtree(tmp_path / "kept/state")
        shutil.rmtree(tmp_path / "kept/view-1", ignore_errors=True)
    had_view = (tmp_path / "kept/view-1").exists()
    with caplog.at_level(logging.WARNING):
        scenario = history.upgraded(monkeypatch)
        (partition_task,) = scenario._host.tasks
        assert bool(partition_task.task.restored) == (state == "gone")
        assert (scenario._view.begun_anew is None) == (had_view and FORMAT == KEPT_VIEW_FORMAT)
        rows = rest_of(scenario, history)
        scenario.close()
    assert "is rebuilt from its changelog" not in caplog.text
    assert comparable(rows) == comparable(whole(history, tmp_path / "alone", monkeypatch))


def comparable(lines: list[list[Json]]) -> object:
    """Leave out what facts of earlier versions have otherwise.

    These have no events of escalations in `rtes.raw`, not what an agent said with a reply, and not
    which strategies a packet counts for, so that it counts for none.
    """
    rows = [[row for row in line if row.get("topic") not in _PRIORS] for line in lines]
    text = re.sub(r"rtes\.raw/\d+/\d+", "rtes.raw", json.dumps(rows))
    text = re.sub(r'("strategies": )\[[^\]]*\]', r"\1null", text)
    return json.loads(re.sub(r'("replyMessage": )"(?:[^"\\]|\\.)*"', r"\1null", text))


@pytest.mark.parametrize("archive", WITH_PACKETS, ids=lambda path: path.parent.name)
def test_packets_of_an_earlier_version_count_for_no_strategy_and_its_evaluations_do(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History(archive, tmp_path / "kept")
    scenario = history.upgraded(monkeypatch)
    rest_of(scenario, history)
    first = json.loads(history.lines[0])["value"]
    trace = first["trace"]
    at_task = {f"trace__{name}": trace[name] for name in ("session_id", "run_id", "task_id")}
    packets = [
        evaluation(900, 0.7, None, **at_task),
        idea(901, payload__method_id="m-new", routing__requires_ack=False, **at_task),
    ]
    lines = [json.dumps({"topic": "apc.packets", "value": packet}) for packet in packets]
    outputs = [output for n, line in enumerate(lines, 1000) for output in scenario.line(n, line)]
    rows = [output["value"] for output in outputs if output["topic"] == "apc.priors"]
    assert first["packet_type"] == "IDEA"
    assert [(row["strategy"], row["attempts"]) for row in rows] == [("m-new", 1)]
    (tmp_path / "verify").mkdir()
    assert verify(scenario.log, SETTINGS, tmp_path / "verify").clean
    scenario.close()
