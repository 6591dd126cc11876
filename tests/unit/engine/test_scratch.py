"""Where tables of a log in memory lie."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from streams.engine import scratch


def temporary_folder(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(tempfile, "tempdir", name)


def test_they_lie_in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    temporary_folder(monkeypatch, "/tmp")
    monkeypatch.setattr(scratch, "_MEMORY", tmp_path)
    monkeypatch.setattr(scratch, "_ROOM_BYTES", 0)
    assert scratch.scratch_parent() == str(tmp_path)


def test_they_lie_with_temporary_files_where_memory_is_short(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    temporary_folder(monkeypatch, "/tmp")
    monkeypatch.setattr(scratch, "_MEMORY", tmp_path)
    monkeypatch.setattr(scratch, "_ROOM_BYTES", 1 << 60)
    assert scratch.scratch_parent() is None
    monkeypatch.setattr(scratch, "_MEMORY", tmp_path / "nowhere")
    monkeypatch.setattr(scratch, "_ROOM_BYTES", 0)
    assert scratch.scratch_parent() is None


def test_they_lie_where_the_user_puts_temporary_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    temporary_folder(monkeypatch, str(tmp_path))
    monkeypatch.setattr(scratch, "_ROOM_BYTES", 0)
    assert scratch.scratch_parent() is None
