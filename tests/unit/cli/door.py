"""The demo's door to a system in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from schemas.asap import generate_id
from streams.agents import EchoAgent
from streams.agents.summit.__main__ import manifest_of
from streams.api.problems import Response
from streams.api.query_side import PlayContext
from streams.demo.system_client import PATHS
from streams.engine.records import Output, Record
from streams.protocols.asap.scenario import answer
from streams.protocols.summit import scenario as summit
from streams.settings import Settings
from tests.unit.protocols.sap.queries.stage import SapInboxAgent
from tests.unit.protocols.summit.queries.stage import MANIFESTS, words
from tests.unit.protocols.summit.queries.stage import SummitInboxAgent as Agent
from tests.unit.views.bench import Bench


class BenchDoor:
    """Everything is at rest after each call; time passes only in `pause`."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.work: Callable[[], object] = bench.host.run

    @contextmanager
    def agent(self, settings: Settings, agent_id: str) -> Iterator[None]:
        """The example agent, at work whenever somebody waits."""
        self.work = SapInboxAgent(self._bench, EchoAgent(agent_id)).work
        yield
        self.work = self._bench.host.run

    def send(self, topic: str, values: Sequence[Any], trace: str = "") -> list[str]:
        headers = {"traceparent": trace}
        sent = self._bench.routes.handle("POST", PATHS[topic], "", headers, list(values))
        assert sent.status == 202, sent.body
        self.see(())
        positions: list[str] = sent.body["positions"]
        return positions

    def see(self, positions: Iterable[str]) -> None:
        self._bench.host.run()
        self._bench.view.catch_up(0)

    def wait(self, topic: str, value: Any, seconds: int) -> Response:
        routes = replace(self._bench.routes, run_until_idle=self.work)
        headers = {"Prefer": f"wait={seconds}"}
        done = routes.handle("POST", PATHS[topic], "", headers, value)
        self.see(())
        return done

    def call(self, envelope: Any) -> Any:
        bench = self._bench
        context = PlayContext(
            bench.settings, bench.view, bench.tick, self._append, generate_id, self._partitions
        )
        params = {"envelope": envelope}
        body = {"jsonrpc": "2.0", "method": "asap.send", "params": params, "id": "1"}
        response = answer(context, "POST", "/asap", "", {}, body)
        assert response is not None
        return response.body

    def rpc(self, request: Any) -> Any:
        bench = self._bench
        context = PlayContext(
            bench.settings, bench.view, bench.tick, self._append, generate_id, self._partitions
        )
        response = summit.answer(context, "POST", "/summit", "", {}, request)
        assert response is not None
        return response.body

    def _partitions(self) -> dict[str, int]:
        return {topic.name: topic.partitions for topic in self._bench.log.topics().values()}

    @contextmanager
    def example(self, settings: Settings, agent: str) -> Iterator[None]:
        """The example agent of Summit, at work whenever something was sent."""
        self._bench.send(MANIFESTS, manifest_of(agent).to_json())
        desk = Agent(self._bench, words)

        def work() -> None:
            self._bench.host.run()
            desk.work()
            self._bench.host.run()

        self.work = work
        yield
        self.work = self._bench.host.run

    def _append(self, outputs: Sequence[Output]) -> Sequence[Record]:
        written = self._bench.log.append(outputs)
        self.work()
        return written

    def get(self, path: str, query: str) -> Response:
        return self._bench.get(path, query)

    def pause(self) -> None:
        self.see(())
