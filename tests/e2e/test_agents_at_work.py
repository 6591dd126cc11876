"""Agents at work while every process is killed: nothing is lost, repeated or told.

A worker, a gateway and a sink are killed in turn while one client follows the live tail; in the
end the topics, the SQLite file and what the client saw agree, and no secret is anywhere.
"""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import httpx
import pytest

from streams.client import Client, TailStream
from streams.engine.records import Output
from tests.e2e import checker_agents
from tests.e2e.agents import Agents, outputs
from tests.e2e.environment import Environment
from tests.e2e.history import values_of
from tests.e2e.outputs import Json
from tests.processes import Process, named, wait_for
from topology.core import RTES_RAW
from topology.saop import RTES_EVENTS, SAOP_LOG

pytestmark = pytest.mark.slow

SAID = 24_000
BURSTS = 9


class Site:
    """The processes of one run."""

    def __init__(self, environment: Environment, port: int) -> None:
        self._environment = environment
        self.url = f"http://127.0.0.1:{port}"
        self.file = environment.directory / "agents.db"
        self.logs: list[Path] = []
        self._started: list[Process] = []

    def start(self) -> None:
        self.worker = self.start_worker()
        self.gateway = self.start_gateway()
        self.sink = self.start_sink()

    def start_worker(self) -> Process:
        return self._start("worker", "worker", "--static", SAOP_HOLD_S="2", BATCH="100")

    def start_gateway(self) -> Process:
        process = self._start("gateway", "gateway", "--listen", self.url.removeprefix("http://"))
        wait_for(lambda: self._healthy(process), "the gateway answers")
        return process

    def start_sink(self) -> Process:
        return self._start("sink", "sink", "sqlite", "--db", str(self.file))

    def _start(self, name: str, *command: str, **settings: str) -> Process:
        folder = self._environment.directory
        log = folder / f"{name}-{len(self.logs)}.log"
        self.logs.append(log)
        environ = {
            "BOOTSTRAP": self._environment.settings.bootstrap or "",
            "PREFIX": self._environment.prefix,
            "STATE_DIR": str(folder / name),
            **settings,
        }
        self._started.append(Process(name, log, named(environ), "streams.cli", *command))
        return self._started[-1]

    def _healthy(self, process: Process) -> bool:
        assert process.running, process.text()[-3000:]
        try:
            return httpx.get(f"{self.url}/healthz").status_code == 200
        except httpx.TransportError:
            return False

    def kill(self, name: str) -> None:
        """SIGKILL, and a new one."""
        getattr(self, name).kill()
        setattr(self, name, getattr(self, f"start_{name}")())

    def send(self, records: Sequence[Output], events: int) -> None:
        """Until so many more events are recorded, and the sink has more than it had."""
        tail, row_count = self._environment.tail(RTES_EVENTS), rows(self.file)
        aim = tail.poll() + events
        self._environment.send(records)
        tail.until(aim)
        wait_for(lambda: rows(self.file) > row_count, "the sink goes on")

    def end(self) -> None:
        """All of them cleanly."""
        for process in (self.sink, self.gateway, self.worker):
            process.signal(signal.SIGTERM)
            code = process.exit_code()
            assert code in (0, 130), f"{code}: {process.text()[-3000:]}"

    def abandon(self) -> None:
        for process in self._started:
            process.kill()


class Follower:
    """A client of the live tail in a thread of its own, from before the first event."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.seen: list[Json] = []
        self._loop = asyncio.new_event_loop()
        self._stopped: asyncio.Event | None = None
        self._begun = threading.Event()
        self.failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._follow())
        except BaseException as exc:
            self.failed = exc
            self._begun.set()
        finally:
            self._loop.close()

    async def _follow(self) -> None:
        self._stopped = asyncio.Event()
        async with (
            Client(self._url) as hr,
            hr.tail("rtes.events", start="earliest") as tail,
        ):
            self._begun.set()
            reading = asyncio.create_task(self._read(tail))
            stopping = asyncio.create_task(self._stopped.wait())
            await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
            for task in (reading, stopping):
                task.cancel()
            for result in await asyncio.gather(reading, stopping, return_exceptions=True):
                if isinstance(result, Exception):
                    raise result

    async def _read(self, tail: TailStream) -> None:
        async for record in tail:
            self.seen.append(record.value)

    def __enter__(self) -> Follower:
        self._thread.start()
        assert self._begun.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        if self._stopped is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(60)
        assert not self._thread.is_alive()
        assert self.failed is None, self.failed


@contextmanager
def site(environment: Environment, port: int) -> Iterator[Site]:
    running_site = Site(environment, port)
    try:
        running_site.start()
        yield running_site
    finally:
        running_site.abandon()
        for log in running_site.logs:
            print(f"--- {log.name}\n{log.read_text(errors='replace')[-3000:]}")


def test_events_are_kept_once_and_in_order_though_every_process_is_killed(
    environment: Environment, dice: random.Random, unused_tcp_port: int
) -> None:
    agents = Agents(dice)
    records = list(outputs(environment, list(islice(agents.messages(), SAID))))
    size = len(records) // BURSTS + 1
    with site(environment, unused_tcp_port) as at_work:
        with Follower(at_work.url) as follower:
            for burst in range(BURSTS):
                part = records[burst * size : (burst + 1) * size]
                at_work.send(part, dice.randrange(1, size // 2))
                at_work.kill(("worker", "gateway", "sink")[burst % 3])
            environment.drain(150)
            events = values_of(environment, RTES_EVENTS)
            wait_for(lambda: len(follower.seen) >= len(events), "the tail has seen all", 25)
            metrics = httpx.get(f"{at_work.url}/metrics").text
            wait_for(lambda: rows(at_work.file) >= total(environment), "the sink has all")
        at_work.end()
        assert checker_agents.check(environment, agents.turns) == []
        check_follower(follower.seen, events)
        check_file(at_work.file, environment)
        logs = metrics + "".join(log.read_text(errors="replace") for log in at_work.logs)
        assert [secret for secret in agents.secrets if secret in logs] == []
        assert checker_agents.secrets_kept(environment, agents.secrets) == []
        check_variety(environment, agents, events)


def total(environment: Environment) -> int:
    return len(environment.records(RTES_EVENTS)) + len(environment.records(SAOP_LOG))


def rows(file: Path) -> int:
    """How many records the sink has written; none before it has made its tables."""
    if not file.exists():
        return 0
    with closing(sqlite3.connect(file)) as database:
        try:
            (count,) = database.execute("SELECT count(*) FROM agent_logs").fetchone()
        except sqlite3.OperationalError:
            return 0
    return int(count)


def check_follower(seen: Sequence[Json], events: Sequence[Json]) -> None:
    """Every event once, those of a session in order."""

    def by_session(records: Sequence[Json]) -> dict[str, list[tuple[int, str]]]:
        numbers: dict[str, list[tuple[int, str]]] = {}
        for one in records:
            numbers.setdefault(one["session_id"], []).append((one["sequence"], one["event_id"]))
        return numbers

    assert by_session(seen) == by_session(events)


def check_file(file: Path, environment: Environment) -> None:
    """Every record once, and the turns of each task in order."""
    with closing(sqlite3.connect(file)) as database:
        places = database.execute('SELECT topic, "partition", "offset" FROM agent_logs').fetchall()
        turns = database.execute("SELECT task_id, turn_index FROM turns_in_order").fetchall()
        tasks = dict(database.execute("SELECT id, state FROM tasks WHERE session_id IS NOT NULL"))
    expected = [
        (record.topic, record.partition, record.offset)
        for topic in (RTES_EVENTS, SAOP_LOG)
        for record in environment.records(topic)
    ]
    assert sorted(places) == sorted(expected)
    assert turns == sorted(turns)
    states = {
        one["payload"]["task_id"]: one["payload"]["to_state"]
        for one in values_of(environment, RTES_EVENTS)
        if one["payload"]["type"] == "TASK_TRANSITION"
    }
    assert tasks == states


def check_variety(environment: Environment, agents: Agents, events: Sequence[Json]) -> None:
    """The traffic was what the test is about."""
    assert len(events) >= 20_000 * 0.8
    assert {one["payload"]["type"] for one in events} - {"ESCALATION_RAISED"} == {
        "THOUGHT_STREAM",
        "TOOL_LIFECYCLE_INVOKED",
        "TOOL_LIFECYCLE_COMPLETED",
        "TASK_TRANSITION",
        "SANDBOX_PULSE",
    }
    raw = b"".join(record.value or b"" for record in environment.records(RTES_RAW))
    assert all(secret.encode() in raw for secret in agents.secrets)
    assert len(agents.secrets) > 500
