"""A worker and a gateway as real processes, under a prefix of their own."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import httpx

from streams.engine.kafka import KafkaLog
from streams.engine.task import group_of
from streams.ops.topics import create_topics
from streams.registry.binding import register_schemas
from streams.settings import Settings
from tests.processes import Process, named, wait_for

Json = dict[str, Any]


class Live:
    """One worker and one gateway on a broker.  before, python: see `tests.processes.Process`."""

    before: Sequence[str] = ()
    python = sys.executable

    def __init__(self, bootstrap: str, folder: Path, **environ: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.prefix = f"gw-{uuid.uuid4().hex[:8]}."
        self.environ = {"BOOTSTRAP": bootstrap, "PREFIX": self.prefix, **environ}
        self.settings = replace(
            Settings().assign(self.environ), state_dir=folder / "gateway", partitions=4
        )
        self.log = KafkaLog(bootstrap, {}, group_of(self.settings))
        create_topics(self.log, self.settings)
        register_schemas(self.settings, print)
        self._started: list[Process] = []
        self._agents: dict[str, Process] = {}
        try:
            self.worker = self._start("worker")
            self.gateway = self.start_gateway()
            self.worker.wait_text("ready: tasks")
        except BaseException:
            self._kill()
            raise

    def _start(self, name: str, *arguments: str) -> Process:
        return self.process(name, "streams.cli", name, *arguments)

    def process(self, name: str, module: str, *arguments: str, **environ: str) -> Process:
        state = {"STATE_DIR": str(self.folder / name)}
        settings = named({**self.environ, **state, **environ})
        log = self.folder / f"{name}.log"
        process = Process(
            name, log, settings, module, *arguments, before=self.before, python=self.python
        )
        self._started.append(process)
        return process

    def agent(self, agent_id: str, *arguments: str, anew: bool = False) -> Process:
        """The example agent of that id, at work; the one that is there already, or another."""
        if agent_id in self._agents and not anew:
            return self._agents[agent_id]
        agent_process = self.process(agent_id, "streams.agents", "--agent-id", agent_id, *arguments)
        self._agents[agent_id] = agent_process
        agent_process.wait_text(f"agent {agent_id}\n")
        return agent_process

    def restart_worker(self) -> None:
        """Another one in the state directory of the one that has ended; returns at once."""
        self.worker = self._start("worker")

    def start_gateway(self, *arguments: str) -> Process:
        """Returns when it answers queries."""
        listen = ("--listen", "127.0.0.1:0")
        before = len(self.urls())
        self.gateway = self._start("gateway", *listen, *arguments)
        wait_for(lambda: self._has_url(before), "the gateway is ready")
        return self.gateway

    def _has_url(self, before: int) -> bool:
        assert self.gateway.running, self.gateway.text()[-3000:]
        return len(self.urls()) > before

    def urls(self) -> list[str]:
        """Of all gateways that were ready."""
        path = self.folder / "gateway.log"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.split()[1] for line in lines if line.startswith("gateway http")]

    @property
    def url(self) -> str:
        return self.urls()[-1]

    @property
    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=30)

    def _kill(self) -> None:
        for process in self._started:
            process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        print(self.gateway.text()[-5000:])  # shown when the test fails
        self.log.delete([name for name in self.log.topics() if name.startswith(self.prefix)])
        self.log.close()


@contextmanager
def live(bootstrap: str, folder: Path, **environ: str) -> Iterator[Live]:
    with Live(bootstrap, folder, **environ) as system:
        yield system
