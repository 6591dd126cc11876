"""The demo's door to a system in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from streams.agents import Clerk
from streams.demo.door import PATHS
from streams.problems import Response
from streams.settings import Settings
from tests.unit.views.bench import Bench
from tests.unit.views.sap.stage import Desk


class BenchDoor:
    """Everything is at rest after each call; time passes only in `pause`."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.work: Callable[[], object] = bench.host.run

    @contextmanager
    def agent(self, settings: Settings, agent_id: str) -> Iterator[None]:
        """The example agent, at work whenever somebody waits."""
        self.work = Desk(self._bench, Clerk(agent_id)).work
        yield
        self.work = self._bench.host.run

    def send(self, topic: str, values: Sequence[Any]) -> list[str]:
        answer = self._bench.routes.handle("POST", PATHS[topic], body=list(values))
        assert answer.status == 202, answer.body
        self.see(())
        positions: list[str] = answer.body["positions"]
        return positions

    def see(self, positions: Iterable[str]) -> None:
        self._bench.host.run()
        self._bench.view.catch_up(0)

    def wait(self, topic: str, value: Any, seconds: int) -> Response:
        routes = replace(self._bench.routes, rest=self.work)
        headers = {"Prefer": f"wait={seconds}"}
        answer = routes.handle("POST", PATHS[topic], "", headers, value)
        self.see(())
        return answer

    def get(self, path: str, query: str) -> Response:
        return self._bench.get(path, query)

    def pause(self) -> None:
        self.see(())
