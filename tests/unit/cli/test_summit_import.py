"""Tests of `headrace summit register --from-mcp` over a view and a log in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams.doors.mcp import foreign_server
from streams.doors.mcp.foreign_server import Described
from tests.unit.cli.office import Office
from tests.unit.views.bench import Bench


def test_a_server_of_mcp_is_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema: dict[str, Any] = {"type": "object"}
    described = Described("Files", "1.0.0", None, None, "2025-11-25", [])

    def describe(*_: object) -> Described:
        return described._replace(tools=[{"name": "read", "inputSchema": dict(schema)}])

    monkeypatch.setattr(foreign_server, "describe", describe)
    bench = Bench(tmp_path)
    office = Office(bench, monkeypatch)
    (row,) = office.cells("summit-register", "--from-mcp", "files")
    assert (row[:2], row[3:]) == (["files", "1.0.0"], ["accepted", "manifest.accepted"])
    (tool,) = office.json("summit-tools", "files")["tools"]
    assert tool["name"] == "read"
    schema["required"] = ["path"]
    (row,) = office.cells("summit-register", "--from-mcp", "files", code=1)
    assert row[3:] == ["rejected", "manifest.version_conflict"]
    bench.close()
