"""Tests of the command `headrace mcp bridge`, before it needs a broker."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from streams.cli import main


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--summit", "docs"], "Give --url or --command."),
        (["--url", "http://a/", "--command", "b", "--summit", "docs"], "Give --url or --command."),
        (["--url", "http://a/"], "Give --summit, --asap or both."),
        (["--url", "http://a/", "--asap", "urn:a", "--register"], "--register is for --summit."),
        (["--url", "http://a/", "--summit", "docs", "--timeout-s", "0"], "--timeout-s"),
        (["--url", "http://a/", "--summit", "docs", "--env", "HOME"], "--env is for servers"),
        (["--command", "b", "--summit", "docs", "--env", "HEADRACE_TOKEN"], "HEADRACE_TOKEN"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: list[str], message: str) -> None:
    result = CliRunner().invoke(main, ["mcp", "bridge", *options])
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr


def test_options_of_the_relay_go_without_a_command() -> None:
    result = CliRunner().invoke(main, ["mcp", "--config", "bridge", "--url", "http://a/"])
    assert (result.exit_code, "go without a command" in result.stderr) == (2, True)


def test_a_server_that_is_not_there_ends_the_bridge_at_once() -> None:
    options = ["--command", "no-such-command", "--summit", "docs"]
    result = CliRunner().invoke(main, ["mcp", "bridge", *options])
    assert result.exit_code == 3
    assert "server_unreachable: the MCP server 'no-such-command' is not reached" in result.stderr
