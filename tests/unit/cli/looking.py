"""Commands that look at a system in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from streams.cli import common
from streams.settings import Settings
from streams.view_store.view import View
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
    monkeypatch.setattr(common, "now_ms", lambda: system.now)
