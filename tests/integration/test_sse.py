"""The live tail over real Kafka, a real worker and a server that comes and goes."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bench.event_source import EventSource, follow_all
from streams.ingress.edges import ingress_topic_of
from streams.ops.broker import network
from streams.processing.encode import to_output
from streams.settings import Settings
from tests.e2e.environment import Environment
from tests.processes import ROOT, environ_of, named, wait_for
from tests.unit.envelopes import transition
from topology.saop import RTES_EVENTS

pytestmark = pytest.mark.slow

CLIENTS = 200
SESSIONS = 10
EVENTS = 1500
RATE = 150


class Server:
    """One process after the other, on one port."""

    def __init__(self, settings: Settings) -> None:
        (self.port,) = network.pick_ports([], 1)
        variables = {
            "BOOTSTRAP": settings.bootstrap or "",
            "PREFIX": settings.prefix,
            "STATE_DIR": str(settings.state_dir),
        }
        self._environ = environ_of(named(variables))
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.integration.sse_app", str(self.port)]
        self.process = subprocess.Popen(command, cwd=ROOT, env=self._environ)
        wait_for(self._answers, "the server answers")

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            assert self.process.poll() is None
            return False
        return True

    def end(self) -> None:
        """SIGTERM, and a clean end, although clients are connected."""
        self.process.terminate()
        assert self.process.wait(60) in (0, -signal.SIGTERM)  # uvicorn passes the signal on

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Readers:
    """200 clients: of one session, of several, of a type, of everything."""

    def __init__(self, port: int) -> None:
        self.got: list[list[Any]] = [[] for _ in range(CLIENTS)]
        self.sources = [EventSource(port, query(n), self._keep(n)) for n in range(CLIENTS)]

    def _keep(self, number: int) -> Callable[[bytes], None]:
        return lambda data: self.got[number].append(_brief(data))

    def wait_connected(self, times: int) -> None:
        """Every client, for that many times."""

        def connected() -> bool:
            return all(source.connections >= times for source in self.sources)

        wait_for(connected, f"all clients are connected for the {times}th time")

    @contextmanager
    def running(self) -> Iterator[None]:
        loop = asyncio.new_event_loop()
        task = loop.create_task(follow_all(self.sources))

        def run() -> None:
            try:
                loop.run_until_complete(task)
            except asyncio.CancelledError:
                loop.close()

        with ThreadPoolExecutor(1) as pool:
            running: Future[None] = pool.submit(run)
            try:
                yield
            finally:
                loop.call_soon_threadsafe(task.cancel)
                running.result(60)


def query(number: int) -> str:
    """Of a client; every one begins at the beginning."""
    session = f"session_id=s{number % SESSIONS}"
    return "?from=earliest&" + {
        0: session,
        1: "",
        2: f"{session}&session_id=s{(number + 1) % SESSIONS}",
        3: f"{session}&type=TASK_TRANSITION&task_id=t{number % 4}",
    }[number % 4].rstrip("&")


def wants(number: int, record: tuple[str, int, str]) -> bool:
    session, _, task = record
    of_own_session = session == f"s{number % SESSIONS}"
    return {
        0: of_own_session,
        1: True,
        2: of_own_session or session == f"s{(number + 1) % SESSIONS}",
        3: of_own_session and task == f"t{number % 4}",
    }[number % 4]


def _brief(data: bytes) -> tuple[str, int, str]:
    value = json.loads(data)
    return value["session_id"], value["sequence"], value["task_id"]


def events() -> Iterator[dict[str, Any]]:
    """Legal transitions: a task is begun, blocked, and begun again."""
    state: dict[tuple[int, int], str] = defaultdict(lambda: "PENDING")
    onward = {"PENDING": "IN_PROGRESS", "IN_PROGRESS": "BLOCKED", "BLOCKED": "IN_PROGRESS"}
    for number in range(EVENTS):
        place = number % SESSIONS, number // SESSIONS % 4
        before = state[place]
        state[place] = onward[before]
        event = transition(number, task_id=f"t{place[1]}", from_state=before, to_state=state[place])
        yield event | {"session_id": f"s{place[0]}"}


def send(environment: Environment, sent: list[int]) -> None:
    """At a steady rate; `sent` grows with it."""
    began = time.monotonic()
    for number, event in enumerate(events()):
        now_ms = time.time_ns() // 1_000_000
        environment.send(
            [to_output(ingress_topic_of("rtes.raw"), event, now_ms, environment.settings)]
        )
        sent.append(number)
        time.sleep(max(0.0, began + number / RATE - time.monotonic()))


def test_every_client_gets_every_event_once_over_restarts_and_kills(
    broker: str, tmp_path: Path
) -> None:
    with Environment(broker, tmp_path) as environment:
        worker = environment.start("first")
        worker.wait_ready()
        server, sent = Server(environment.settings), list[int]()
        readers = Readers(server.port)
        try:
            with readers.running():
                sender = threading.Thread(target=send, args=(environment, sent))
                sender.start()
                reached(sent, EVENTS // 5)
                readers.wait_connected(1)
                server.end()
                server.start()
                reached(sent, 2 * EVENTS // 5)
                worker.kill()
                environment.start("first").wait_ready()
                readers.wait_connected(2)
                server.kill()
                server.start()
                readers.wait_connected(3)
                sender.join()
                expected = recorded(environment)
                owed = [[r for r in expected if wants(n, r)] for n in range(CLIENTS)]
                wait_for(lambda: complete(readers, owed), "all clients have their events")
        finally:
            server.end()
    assert [source.refused for source in readers.sources if source.refused] == []
    for number, got in enumerate(readers.got):
        assert sorted(got) == sorted(owed[number]), number
        assert in_order(got), number


def reached(sent: list[int], count: int) -> None:
    wait_for(lambda: len(sent) >= count, f"{count} events sent")


def recorded(environment: Environment) -> list[tuple[str, int, str]]:
    """What the worker has recorded of all events, in the end."""
    wait_for(lambda: len(environment.records(RTES_EVENTS)) >= EVENTS, "all events recorded")
    values = environment.values(RTES_EVENTS)
    assert len(values) == EVENTS
    return [(value["session_id"], value["sequence"], value["task_id"]) for value in values]


def complete(readers: Readers, owed: list[list[Any]]) -> bool:
    return all(len(got) >= len(mine) for got, mine in zip(readers.got, owed, strict=True))


def in_order(got: list[tuple[str, int, str]]) -> bool:
    by_session: dict[str, list[int]] = defaultdict(list)
    for session, sequence, _ in got:
        by_session[session].append(sequence)
    return all(sequences == sorted(sequences) for sequences in by_session.values())
