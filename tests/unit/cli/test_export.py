"""Test what `headrace export parquet` says without its extra."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main


def test_without_pyarrow_it_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for name in ("export", "columns"):
        monkeypatch.delitem(sys.modules, f"streams.analytics.{name}", raising=False)
    result = CliRunner().invoke(main, ["export", "parquet", "--into", str(tmp_path / "lake")])
    assert result.exit_code == 2
    assert result.stderr.startswith("headrace: extra_missing: headrace export parquet needs")
    assert "pip install 'headrace[analytics]'" in result.stderr
    assert not (tmp_path / "lake").exists()
