"""Commands that look at a system in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.cli import common, main
from streams.settings import Settings
from streams.view_store.view import View
from tests.unit.routes.stories import Story
from tests.unit.views.bench import Bench


def look_at(system: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """What commands ask is answered from there."""

    @contextmanager
    def looking(settings: Settings, after: str | None = None) -> Iterator[tuple[Any, View]]:
        system.view.catch_up(0)
        yield system.log, system.view

    def ask(path: str, query: str, settings: Settings) -> Any:
        system.view.catch_up(0)
        answer = system.get(path, query)
        if answer.status != 200:
            raise common.error_of_problem(answer.status, answer.body)
        return answer.body

    monkeypatch.setattr(common, "open_log_and_view", looking)
    monkeypatch.setattr(common, "ask", ask)
    monkeypatch.setattr(common, "ask_gateway", ask)
    monkeypatch.setattr(common, "now_ms", lambda: system.now)


def look_at_story(story: Story, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Answer what commands ask from a story; return the paths that are asked for."""
    paths: list[str] = []

    def ask(path: str, query: str, settings: Settings) -> Any:
        paths.append(f"{path}?{query}" if query else path)
        status, body = story.ask(paths[-1])
        if status != 200:
            raise common.error_of_problem(status, body)
        return body

    monkeypatch.setattr(common, "ask", ask)
    return paths


def run_at(*words: str, columns: int = 120) -> Result:
    """Run a command on a terminal of that width."""
    return CliRunner().invoke(main, words, env={"COLUMNS": str(columns)})
