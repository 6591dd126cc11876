"""Tests of `headrace summit register --from-mcp` over a view and a log in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.cli.summit import versions
from streams.doors.mcp import foreign_server
from streams.doors.mcp.foreign_server import ServerDescription
from tests.unit.cli.office import Office
from tests.unit.views.bench import Bench

REGISTER = ("summit-register", "--from-mcp", "files")


class ChangingServer:
    """A server whose only tool requires a member; its version is always the same."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.required = "path"
        monkeypatch.setattr(foreign_server, "describe", self.describe)

    def describe(self, *_: object) -> ServerDescription:
        schema = {"type": "object", "required": [self.required]}
        tools: list[dict[str, Any]] = [{"name": "read", "inputSchema": schema}]
        return ServerDescription("Files", "1.0.9", None, None, "2025-11-25", tools)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> ChangingServer:
    return ChangingServer(monkeypatch)


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    bench = Bench(tmp_path)
    yield Office(bench, monkeypatch)
    bench.close()


def test_a_server_of_mcp_is_registered(office: Office, server: ChangingServer) -> None:
    (row,) = office.cells(*REGISTER)
    assert (row[:2], row[3:]) == (["files", "1.0.9"], ["accepted", "manifest.accepted"])
    (tool,) = office.json("summit-tools", "files")["tools"]
    assert tool["name"] == "read"


def test_a_server_that_changed_is_rejected_and_told_of_bump(
    office: Office, server: ChangingServer
) -> None:
    assert "--bump" not in office.run(*REGISTER).stderr
    server.required = "name"
    result = office.run(*REGISTER)
    assert (result.exit_code, "manifest.version_conflict" in result.stdout) == (1, True)
    assert "--bump" in result.stderr


def test_bump_takes_the_next_version_where_its_own_has_other_content(
    office: Office, server: ChangingServer
) -> None:
    def bumped() -> list[str]:
        (row,) = office.cells(*REGISTER, "--bump")
        return [row[1], row[3]]

    assert bumped() == ["1.0.9", "accepted"]
    assert bumped() == ["1.0.9", "duplicate"]
    server.required = "name"
    printed = office.json(*REGISTER, "--bump", "--print")
    assert printed["metadata"]["version"] == "1.0.10"
    assert bumped() == ["1.0.10", "accepted"]
    assert bumped() == ["1.0.10", "duplicate"]
    server.required = "id"
    assert bumped() == ["1.0.11", "accepted"]
    server.required = "path"
    assert bumped() == ["1.0.9", "accepted"]
    server.required = "size"
    assert bumped() == ["1.0.12", "accepted"]


def test_bump_finds_the_highest_version_on_every_page(
    office: Office, server: ChangingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "PAGE", 1)
    for number in ("1.0.9", "2.0.0", "1.1.0"):
        office.cells(*REGISTER, "--version", number)
    server.required = "name"
    (row,) = office.cells(*REGISTER, "--bump")
    assert [row[1], row[3]] == ["2.0.1", "accepted"]
