"""A person at the shell of a system in memory, for commands that wait."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.cli import common, main
from streams.engine.records import Output, Record
from tests.unit.cli.looking import look_at
from tests.unit.protocols.summit.queries.stage import Json, SummitInboxAgent, words
from tests.unit.views.bench import Bench


class Office:
    """A system in memory whose processors, and agents, work whenever a command sends."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bench = bench
        self.work: Callable[[], object] = lambda: None
        append = bench.log.append

        def append_and_run(outputs: Sequence[Output]) -> list[Record]:
            written = append(outputs)
            bench.host.run()
            return written

        def stepped(view: Any, there: Callable[[], bool], most_s: float) -> bool:
            self.work()
            bench.host.run()
            view.catch_up(0)
            return there()

        look_at(bench, monkeypatch)
        monkeypatch.setattr(bench.log, "append", append_and_run)
        monkeypatch.setattr(common, "step_until", stepped)

    def agent(self, answer: Callable[[Json], list[Json]] = words) -> None:
        self.work = SummitInboxAgent(self.bench, answer).work

    def run(self, *words: str) -> Result:
        result = CliRunner().invoke(main, list(words))
        assert result.exception is None or isinstance(result.exception, SystemExit), result.output
        return result

    def json(self, *words: str, code: int = 0) -> Any:
        result = self.run(*words)
        assert result.exit_code == code, result.output
        return json.loads(result.stdout)

    def cells(self, *words: str, code: int = 0) -> list[list[str]]:
        """Of a table, without its titles."""
        result = self.run(*words)
        assert result.exit_code == code, result.output
        return [line.split() for line in result.stdout.splitlines()[1:]]

    def refused(self, code: int, rule: str, *words: str) -> None:
        result = self.run(*words)
        assert (result.exit_code, rule in result.stderr) == (code, True), result.output
