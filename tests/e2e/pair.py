"""Traffic by several producers at once, for two workers of which one is killed now and then."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Self

from streams.engine.kafka import KafkaLog
from streams.engine.records import Output
from streams.engine.task import group_of
from tests.e2e.environment import Environment, Worker
from tests.processes import wait_for
from topology.declarations import Topic


class Writers:
    """Several producers that write at the same time."""

    def __init__(self, environment: Environment, count: int) -> None:
        self._stack = ExitStack()
        self._pool = self._stack.enter_context(ThreadPoolExecutor(count))
        settings = environment.settings
        self._logs: list[KafkaLog] = []
        for _ in range(count):
            log = KafkaLog(settings.bootstrap or "", {}, group_of(settings))
            self._stack.callback(log.close)
            self._logs.append(log)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def send(self, lines: Sequence[Sequence[Output]], dice: random.Random) -> int:
        """Each line by any of the writers.  How many records they were."""
        shares: list[list[Output]] = [[] for _ in self._logs]
        for line in lines:
            dice.choice(shares).extend(line)
        dealt = zip(self._logs, shares, strict=True)
        for sending in [self._pool.submit(log.append, share) for log, share in dealt]:
            sending.result()
        return sum(map(len, lines))


class Pair:
    """Two workers, one of which dies amid each batch.

    events: where their facts are.  sent: records so far, each of which is answered there.
    """

    def __init__(
        self,
        environment: Environment,
        dice: random.Random,
        events: Topic,
        settings: Mapping[str, str],
    ) -> None:
        self.environment, self.dice = environment, dice
        self._events, self._settings = events, settings
        self.sent = 0
        self._workers: dict[str, Worker] = {}

    def start(self) -> None:
        self._workers = {name: self._started(name) for name in ("first", "second")}
        self._workers["first"].wait_ready()

    def _started(self, name: str) -> Worker:
        arguments = ("--static",) if name == "first" else ()
        return self.environment.start(name, *arguments, **self._settings)

    def kill_amid(self) -> None:
        """Amid the facts to come; more often the one whose place is kept for it, and sometimes
        with all that it had on disk.
        """
        self.environment.tail(self._events).amid(self.dice, self.sent)
        time.sleep(self.dice.random() / 20)
        name = self.dice.choice(("first", "first", "second"))
        self._workers[name].kill()
        if self.dice.random() < 0.3:
            shutil.rmtree(self.environment.directory / name, ignore_errors=True)
        self._workers[name] = self._started(name)

    def end(self, answers: Sequence[Topic], inputs: Sequence[Topic]) -> None:
        """When all is answered and no timer is due soon."""
        tails = [self.environment.tail(topic) for topic in answers]
        wait_for(lambda: sum(tail.poll() for tail in tails) >= self.sent, "decided", 300, 0)
        self.environment.drain(60, inputs)
        for worker in self._workers.values():
            worker.wait_ready()
            worker.end()
