"""Tests of the saved views of a team."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from streams.access import Role
from streams.cli import main
from streams.doors.console.views import ViewsFile, load_views
from streams.errors import ViewsInvalid
from tests.unit.doors.console.site import token_gateway
from tests.unit.gateway.bench import GatewayBench
from tests.unit.gateway.test_answers import DOCUMENT, validator

VIEWS = [
    {"name": "Refused today", "path": "/console/verdicts?window=24h"},
    {"name": "Live", "path": "/console/live"},
]


def write(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_views_are_listed_by_pages_and_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "views.json", VIEWS)
    with GatewayBench(tmp_path, console_views=path) as gateway:
        body = gateway.get("/v1/views")
        assert body == {"items": VIEWS, "next": None}
        content = DOCUMENT["paths"]["/v1/views"]["get"]["responses"]["200"]["content"]
        validator(content["application/json"]["schema"]).validate(body)
        first = gateway.get("/v1/views", limit="1")
        second = gateway.get("/v1/views", limit="1", cursor=first["next"])
        assert [*first["items"], *second["items"]] == VIEWS
        write(path, VIEWS[:1])
        assert gateway.get("/v1/views")["items"] == VIEWS[:1]
        assert gateway.ask("GET", "/v1/views?x=1").json()["rule"] == "query_value"


def test_without_a_file_there_are_none(tmp_path: Path) -> None:
    with token_gateway(tmp_path) as gateway:
        assert gateway.bench.ask("GET", "/v1/views").status_code == 401
        cookie = gateway.cookie(gateway.new_token(Role.READER))
        assert gateway.ask("GET", "/v1/views", cookie).json() == {"items": [], "next": None}


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", 1, "not a list of views"),
        ('{"name": "a"}', 1, "not a list of views"),
        ('[\n{"name": "a", "path": "/console/"},\n{"name": "b"}]', 3, "a view is"),
        ('[\n{"name": "a", "path": "/v1/x"}]', 2, "path does not begin with /console/"),
        ('[{"name": "a", "path": "/console/"}\n{}]', 2, "a comma or ] is missing"),
        ('[{"name": "a", "path": "/console/"},\n\n{"name":]', 3, "Expecting value"),
        ('[{"name": "", "path": "/console/"}]', 1, "name is a text of 1 to 200"),
        ('[{"name": "\\u0007", "path": "/console/"}]', 1, "name is a text of 1 to 200"),
        ('[{"name": "a", "path": "/console/ x"}]', 1, "path has characters"),
        ('[{"name": "a", "path": "/console/"},\n{"name": "a", "path": "/console/"}]', 2, "twice"),
        ("[] []", 1, "text after the list"),
    ],
)
def test_a_broken_file_is_refused_with_line_and_reason(
    tmp_path: Path, text: str, line: int, reason: str
) -> None:
    with pytest.raises(ViewsInvalid) as caught:
        load_views(write(tmp_path / "v", text))
    assert caught.value.exit_code == 2
    assert caught.value.code == "views_invalid"
    assert f"line {line}: " in caught.value.message
    assert reason in caught.value.message


def test_a_gateway_ends_at_the_start_with_the_code(tmp_path: Path) -> None:
    path = write(tmp_path / "v", "[{}]")
    result = CliRunner().invoke(main, ["gateway"], env={"HEADRACE_CONSOLE_VIEWS": str(path)})
    assert result.exit_code == 2
    assert result.stderr.startswith("headrace: views_invalid: HEADRACE_CONSOLE_VIEWS: ")
    assert f"{path}, line 1: a view is" in result.stderr


def test_a_number_of_thousands_of_digits_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ViewsInvalid, match="digits"):
        load_views(write(tmp_path / "v", f"[{'9' * 5000}]"))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ViewsInvalid):
        ViewsFile(tmp_path / "none")


def test_a_file_that_breaks_later_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "v", VIEWS)
    file = ViewsFile(path)
    write(path, "[")
    for _ in range(3):
        assert [view._asdict() for view in file.read_views()] == VIEWS
    assert caplog.text.count("the saved views are as they were") == 1
    write(path, VIEWS[1:])
    assert [view._asdict() for view in file.read_views()] == VIEWS[1:]
