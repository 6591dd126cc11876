"""Logs and state directories that earlier versions have left, in the middle of their work."""

from __future__ import annotations

import json
import logging
import re
import shutil
import tarfile
from pathlib import Path

import pytest

from streams.view_store.source import FORMAT
from tests.upgrade.kept_history import KEPT, History, rest_of, whole

ARCHIVES = sorted(KEPT.rglob("*.tar.gz"))
CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"


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


def comparable(rows: object) -> object:
    """Leave out what facts of earlier versions have otherwise.

    These have no events of escalations in `rtes.raw`, and not what an agent said with a reply.
    """
    text = re.sub(r"rtes\.raw/\d+/\d+", "rtes.raw", json.dumps(rows))
    return json.loads(re.sub(r'("replyMessage": )"(?:[^"\\]|\\.)*"', r"\1null", text))
