"""A gateway whose processors work by themselves, and who speaks JSON-RPC to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.unit.protocols.asap.routes.asap_bench import AsapBench
from tests.unit.protocols.summit.queries.stage import Json, SummitInboxAgent, words

AGENTS, MANIFESTS = "/v1/summit/agents", "/v1/summit/manifests"
CALLS, REPLIES, RUNS = "/v1/summit/calls", "/v1/summit/replies", "/v1/summit/runs"


class SummitBench(AsapBench):
    """work: what is done whenever the processors are at rest."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        super().__init__(folder, **settings)
        self.work: Callable[[], None] = lambda: None

    def run_until_idle(self) -> None:
        super().run_until_idle()
        self.work()

    def agent(self, answer: Callable[[Json], list[Json]] = words) -> None:
        """From now on somebody answers what is in the inbox."""
        self.work = SummitInboxAgent(self.bench, answer).work

    def post(self, body: Any, prefer: int | None = None, query: str = "") -> httpx.Response:
        headers = {} if prefer is None else {"Prefer": f"wait={prefer}"}
        return self.ask("POST", f"/summit{query}", json=body, headers=headers)

    def call(self, body: Any, prefer: int | None = None) -> Any:
        """The body of a 200."""
        answer = self.post(body, prefer)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def result(self, body: Json, prefer: int | None = None) -> Json:
        response = self.call(body, prefer)
        assert "result" in response, response
        result: Json = response["result"]
        return result

    def error(self, body: Json, prefer: int | None = None) -> Json:
        response = self.call(body, prefer)
        assert "error" in response, response
        error: Json = response["error"]
        return error

    def send_and_await(self, path: str, *values: Any, seconds: int = 20) -> list[Json]:
        """The verdicts on what is sent over REST."""
        headers = {"Prefer": f"wait={seconds}"}
        answer = self.ask("POST", path, json=list(values), headers=headers)
        assert answer.status_code == 200, answer.text
        verdicts: list[Json] = answer.json()["verdicts"]
        return verdicts


@contextmanager
def summit_bench(folder: Path, **settings: Any) -> Iterator[SummitBench]:
    with SummitBench(folder, **settings) as bench, bench.at_work():
        yield bench
