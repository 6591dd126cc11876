"""Test what `headrace watch` needs before it starts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from streams.cli import main, watch
from tests.processes import ROOT, environ_of
from tests.unit.cli.watch.stub import WatchedStub

TEXTUAL = (
    *("app", "binding", "containers", "geometry", "notifications", "screen", "scroll_view"),
    *("strip", "widgets"),
)
CODE = """
import sys
from streams.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    print("textual" in sys.modules, file=sys.stderr)
"""


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "has_terminal", lambda: True)


@pytest.fixture
def without_extra(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        for name in ("textual", *(f"textual.{part}" for part in TEXTUAL)):
            patched.setitem(sys.modules, name, None)
        for name in ("app", "widgets"):
            patched.delitem(sys.modules, f"streams.cli.watch.{name}", raising=False)
            patched.delattr(watch, name, raising=False)
        yield


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["watch", *words])


def test_without_a_terminal_it_names_the_other_command() -> None:
    result = run()
    assert result.exit_code == 2
    assert result.stderr == "headrace: watch needs a terminal; use headrace overview --json\n"


@pytest.mark.usefixtures("terminal", "without_extra")
def test_without_textual_it_names_the_extra(stub: WatchedStub) -> None:
    result = run("--gateway", stub.url)
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "headrace: extra_missing: headrace watch needs the extra `watch` of headrace."
    )
    assert "pip install 'headrace[watch]'" in result.stderr
    assert stub.requests == []


@pytest.mark.usefixtures("terminal")
def test_without_a_gateway_it_ends_with_3() -> None:
    result = run("--gateway", "http://127.0.0.1:9")
    assert result.exit_code == 3
    assert "headrace: gateway_unavailable: no gateway answers at http://127.0.0.1:9" in (
        result.stderr
    )


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    "words",
    [("--interval", "0"), ("--window", "2h"), ("--no-gateway",), ("--gateway", "ftp://x")],
)
def test_wrong_options_are_refused(words: tuple[str, ...]) -> None:
    assert run(*words).exit_code == 2


@pytest.mark.parametrize("words", [("--help",), ("watch", "--help"), ("watch",)])
def test_only_a_watch_that_starts_imports_textual(words: tuple[str, ...]) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", CODE, *words],
        cwd=ROOT,
        env=environ_of({}),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert ran.stderr.splitlines()[-1] == "False", ran.stderr
